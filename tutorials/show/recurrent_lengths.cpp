// The topic recurrent-lengths: a recurrent encoder-decoder, the same with additive attention, and a Transformer write a
// sequence down again, or backwards; accuracy by length after equally many steps.
#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/loop.h>
#include <tapegrad/tutorials/processor_time.h>
#include <tapegrad/tutorials/show/show.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace tapegrad::tasks {
namespace recurrent_lengths {
namespace {

constexpr int64_t kSymbols = 8, kStart = kSymbols, kVocabulary = kSymbols + 1;
constexpr int64_t kWidth = 64, kBatch = 16, kTested = 32;  // sequences of a test
constexpr int64_t kLengths[] = {10, 20, 30, 50, 100, 150, 200};

// A bidirectional GRU reads the source; a GRU writes the target. Without attention, it gets the source only as its
// first state, as in Cho et al. 2014; with attention also as a mean of the encoder's outputs that it chooses again at
// each step from its state before the step, as in Bahdanau et al. 2015.
struct Recurrent {
  explicit Recurrent(bool attends)
      : tokens(kVocabulary, kWidth),
        encoder(kWidth, kWidth, {.batch_first = true, .bidirectional = true}),
        bridge(2 * kWidth, kWidth),
        decoder(attends ? 3 * kWidth : kWidth, kWidth),
        out(kWidth, kSymbols) {
    if (attends) attention.emplace(kWidth, 2 * kWidth, kWidth);
  }

  struct State {
    Tensor hidden;          // [B, C]
    nn::AdditiveKeys keys;  // of the source, if there is attention
  };
  State begin(const Tensor& source) const {
    const RecurrentResult read = encoder(tokens(source));
    const Tensor ends = cat({read.hidden.select(0, 0), read.hidden.select(0, 1)}, -1);
    return {tanh(bridge(ends)), attention ? attention->project(read.output) : nn::AdditiveKeys()};
  }
  // vectors [B, C] of one target token -> the hidden state after it, [B, C].
  Tensor step(const Tensor& vectors, State& state) const {
    Tensor input = vectors;
    if (attention) input = cat({vectors, attention->attend(state.hidden.unsqueeze(1), state.keys).squeeze(1)}, -1);
    return state.hidden = decoder(input, state.hidden);
  }
  // Logits [B, T, V] of the tokens that follow those of `target` [B, T].
  Tensor operator()(const Tensor& source, const Tensor& target) const {
    State state = begin(source);
    const Tensor vectors = tokens(target);
    std::vector<Tensor> hidden;
    for (int64_t t = 0; t < target.size(1); ++t) hidden.push_back(step(vectors.select(1, t), state));
    return out(stack(hidden, 1));
  }
  Tensor write(const Tensor& source) const {
    State state = begin(source);
    Tensor token = full({source.size(0)}, kStart, kInt64);
    std::vector<Tensor> written;
    for (int64_t t = 0; t < source.size(1); ++t) {
      token = argmax(out(step(tokens(token), state)), -1);
      written.push_back(token);
    }
    return stack(written, 1);
  }
  void visit(auto&& field) {
    field("tokens", tokens);
    field("encoder", encoder);
    field("bridge", bridge);
    field("decoder", decoder);
    field("attention", attention);
    field("out", out);
  }

  nn::Embedding tokens;
  nn::GRU encoder;
  nn::Linear bridge;
  nn::GRUCell decoder;
  nn::Optional<nn::AdditiveAttention> attention;
  nn::Linear out;
};

struct Parallel {
  nn::Transformer transformer;

  Tensor operator()(const Tensor& source, const Tensor& target) const {
    return transformer(source, target, {}, nn::causal_mask(target.size(1)));
  }
  Tensor write(const Tensor& source) const {
    return nn::greedy_decode(transformer, source, {}, source.size(1), kStart);
  }
};

struct Run {
  std::string name;
  int64_t parameters = 0;
  double seconds = 0;                   // of processor time, of all steps
  std::vector<double> accuracies = {};  // by length
};

struct Plan {
  bool backwards;
  int64_t steps;
  std::vector<int64_t> lengths;
  uint64_t seed;
};

Tensor target_of(const Tensor& source, bool backwards) { return backwards ? flip(source, {1}) : source; }

template <class Model>
Run train(std::string name, const Plan& plan, Model model) {
  optim::Adam adam(nn::parameters(model), {.lr = 2e-3});
  Generator generator(plan.seed + 1);
  const Tensor start = full({kBatch, 1}, kStart, kInt64);
  train::StepCount source(plan.steps);
  const auto loss = [&](int64_t step) {
    const int64_t length = plan.lengths[static_cast<std::size_t>(step) % plan.lengths.size()];
    const Tensor x = randint(0, kSymbols, {kBatch, length}, &generator), y = target_of(x, plan.backwards);
    return train::BatchLoss{.loss = cross_entropy(model(x, cat({start, narrow(y, 1, 0, length - 1)}, 1)), y)};
  };
  train::Loop loop(model, adam, source, loss, {.clip_grad_norm = 1});
  const double before = processor_seconds();
  while (!loop.finished()) loop.step();
  Run run{.name = std::move(name), .parameters = nn::count_parameters(model)};
  run.seconds = processor_seconds() - before;

  nn::eval(model);
  Generator tests(plan.seed + 2);
  for (const int64_t length : plan.lengths) {
    const Tensor x = randint(0, kSymbols, {kTested, length}, &tests);
    run.accuracies.push_back(mean(eq(model.write(x), target_of(x, plan.backwards)).to(kFloat64)).item());
  }
  return run;
}

std::vector<Run> runs_of(const Plan& plan) {
  const int64_t longest = plan.lengths.back();
  std::vector<Run> runs;
  manual_seed(plan.seed);
  runs.push_back(train("GRU", plan, Recurrent(false)));
  manual_seed(plan.seed);
  runs.push_back(train(said("GRU, attention"), plan, Recurrent(true)));
  manual_seed(plan.seed);
  runs.push_back(train("Transformer", plan,
                       Parallel{nn::Transformer({.vocab_size = kVocabulary,
                                                 .hidden_size = kWidth,
                                                 .num_hidden_layers = 2,
                                                 .num_attention_heads = 4,
                                                 .intermediate_size = 2 * kWidth,
                                                 .dropout_prob = 0,
                                                 .hidden_dropout_prob = 0,
                                                 .attention_probs_dropout_prob = 0,
                                                 .max_position_embeddings = longest + 1,
                                                 .positions = nn::Positions::sinusoidal})}));
  return runs;
}

// The longest length up to which all accuracies are at least `least`; 0: none.
int64_t reach_of(const Run& run, const std::vector<int64_t>& lengths, double least) {
  int64_t reach = 0;
  for (std::size_t i = 0; i < lengths.size() && run.accuracies[i] >= least; ++i) reach = lengths[i];
  return reach;
}

void tell(Exhibit& exhibit, std::string_view task, const std::vector<Run>& runs, const std::vector<int64_t>& lengths) {
  constexpr double kReached = 0.9;
  exhibit.text += fmt::format("\n{}\n", task);
  std::vector<int> widths(lengths.size() + 2, 7);
  widths.front() = -16, widths.back() = 8;
  Table table(widths);
  table.row(said("length"));
  for (const int64_t length : lengths) table.add(length);
  table.add(said("seconds"));
  drawing::LineChart chart{.title = said("{}: accuracy by length", task),
                           .x_label = said("length"),
                           .y_label = said("accuracy"),
                           .y_low = 0,
                           .y_high = 1};
  std::string reached;
  const std::vector<double> x(lengths.begin(), lengths.end());
  for (const Run& run : runs) {
    table.row(run.name);
    for (const double accuracy : run.accuracies) table.add(drawing::fixed(accuracy, 3));
    table.add(drawing::fixed(run.seconds, 1));
    chart.series.push_back({.name = run.name, .x = x, .y = run.accuracies});
    const int64_t reach = reach_of(run, lengths, kReached);
    reached += reach == 0 ? said("{}: below {} at every length.\n", run.name, kReached)
               : reach == lengths.back()
                   ? said("{}: at least {} up to length {}, the longest.\n", run.name, kReached, reach)
                   : said("{}: at least {} up to length {}.\n", run.name, kReached, reach);
  }
  exhibit.text += table;
  exhibit.text += reached;
  exhibit.drawings.push_back(draw(chart));
}

}  // namespace
}  // namespace recurrent_lengths

Exhibit show_recurrent_lengths(const ShowRequest& request) {
  using namespace recurrent_lengths;
  const int64_t longest = request.length.value_or(200), steps = request.steps.value_or(600);
  std::vector<int64_t> lengths;
  std::copy_if(std::begin(kLengths), std::end(kLengths), std::back_inserter(lengths),
               [longest](int64_t length) { return length < longest; });
  lengths.push_back(longest);
  Exhibit exhibit;
  exhibit.title = said("Recurrent networks, attention and length (8.1, 8.2.1)");
  exhibit.columns = 1;
  std::vector<Run> runs;
  for (const bool backwards : {false, true}) {
    runs = runs_of({backwards, steps, lengths, request.seed.value_or(0)});
    tell(exhibit, backwards ? said("Write it backwards") : said("Write it down again"), runs, lengths);
  }
  Notes first(told("recurrent-lengths-1", kSymbols, steps, kBatch, kTested, 1.0 / kSymbols));
  Table models({-18, 6});
  models.row("", said("parameters"));
  for (const Run& run : runs) models.row("  " + run.name, run.parameters);
  first += models;
  exhibit.text = first += exhibit.text;
  return exhibit;
}

}  // namespace tapegrad::tasks
