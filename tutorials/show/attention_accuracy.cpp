// The topic attention-accuracy: the accuracy of the forms of attention on two tasks after equal training time.
#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/train/loop.h>
#include <tapegrad/tutorials/processor_time.h>
#include <tapegrad/tutorials/show/show.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace attention_accuracy {
namespace {

constexpr int64_t kWidth = 64, kHeads = 2, kBatch = 4;
constexpr int64_t kClasses = 16, kNoise = 32;  // tokens 0 .. 15 are answers, 16 .. 47 are noise
constexpr int64_t kBlank = kClasses + kNoise, kVocabulary = kBlank + 1;

// One batch: the model predicts the targets [B, K] at the positions 0 .. K - 1. A target and the position that asks for
// it have the same address, and no other position has it.
struct Batch {
  Tensor ids, targets;
  Tensor addresses;  // [T] or [B, T], int64
};

// The first half of the input is blank; there the model outputs the tokens of the second half.
Batch draw_copy(int64_t length, Generator& generator) {
  const Tensor tokens = randint(0, kClasses, {kBatch, length / 2}, &generator), half = arange(length / 2);
  return {cat({full({kBatch, length / 2}, kBlank, kInt64), tokens}, 1), tokens, cat({half, half})};
}

// The first sixteenth of the positions is blank; each of them asks for a token that is somewhere in the noise.
Batch draw_needle(int64_t length, Generator& generator) {
  const int64_t count = length / 16;
  Batch batch{randint(kClasses, kBlank, {kBatch, length}, &generator),
              randint(0, kClasses, {kBatch, count}, &generator), arange(length).expand({kBatch, length}).clone()};
  for (int64_t i = 0; i < kBatch; ++i) {
    const Tensor places = randperm(length - count, &generator);
    int64_t* const ids = batch.ids.mutable_data<int64_t>() + i * length;
    int64_t* const addresses = batch.addresses.mutable_data<int64_t>() + i * length;
    for (int64_t k = 0; k < count; ++k) {
      const int64_t place = count + places.data<int64_t>()[k];
      ids[k] = kBlank;
      ids[place] = batch.targets.data<int64_t>()[i * count + k];
      addresses[place] = k;
    }
  }
  return batch;
}

struct Task {
  std::string_view name, title;
  Batch (*draw)(int64_t length, Generator& generator);
  int64_t evaluated;  // batches
};
constexpr Task kTasks[] = {
    {translatable("copy"), translatable("Copy: accuracy by seconds of processor time"), draw_copy, 4},
    {translatable("needle"), translatable("Needle: accuracy by seconds of processor time"), draw_needle, 16}};

struct Layer {
  Tensor operator()(const Tensor& x) const {
    const Tensor attended = x + attention(norm1(x));
    return attended + feed_forward(norm2(attended));
  }
  nn::LayerNorm norm1{kWidth}, norm2{kWidth};
  nn::MultiHeadSelfAttention attention;
  nn::FeedForward feed_forward{kWidth, 4 * kWidth};
};

struct Reader {
  Reader(int64_t length, const nn::AttentionChoice& choice)
      : tokens(kVocabulary, kWidth),
        layer{.attention = nn::MultiHeadSelfAttention({.d_in = kWidth,
                                                       .d_out = kWidth,
                                                       .num_heads = kHeads,
                                                       .context_length = length,
                                                       .causal = false,
                                                       .attention = choice})},
        norm(kWidth),
        out(kWidth, kClasses),
        table(nn::sinusoidal_table(length, kWidth)) {}
  // Logits [B, K, classes].
  Tensor operator()(const Batch& batch) const {
    const Tensor x = layer(tokens(batch.ids) + embedding(table, batch.addresses));
    return out(norm(narrow(x, 1, 0, batch.targets.size(1))));
  }
  void visit(auto&& field) {
    field("tokens", tokens);
    field("layer", layer);
    field("norm", norm);
    field("out", out);
  }
  nn::Embedding tokens;
  Layer layer;
  nn::LayerNorm norm;
  nn::Linear out;
  Tensor table;  // [T, C], of the addresses
};

struct Form {
  std::string_view name;
  nn::AttentionChoice choice;
};

// Sizes in proportion to the length, which at 1,024 tokens are about the papers'.
std::vector<Form> forms_for(int64_t length) {
  const int64_t side = length / 8;
  return {{"full", {}},
          {"window", nn::WindowAttention{.window = side}},
          {"+ global", nn::WindowAttention{.window = side, .global_tokens = length / 16}},
          {"linformer", nn::LinformerAttention{.rank = length / 4}},
          {"performer", nn::PerformerAttention{.features = 128}},
          {"reformer", nn::ReformerAttention{.bucket_size = std::max<int64_t>(4, length / 16)}}};
}

// One run: accuracy at some times.
struct Run {
  int64_t steps = 0;
  std::vector<double> seconds = {0}, accuracies = {};
};

double accuracy_of(Reader& model, const Task& task, int64_t length, uint64_t seed) {
  const PauseRecording pause;
  Generator generator(seed);
  const nn::EvalMode eval(model);
  double right = 0;
  for (int64_t i = 0; i < task.evaluated; ++i) {
    const Batch batch = task.draw(length, generator);
    const Tensor told = argmax(model(batch), -1);
    right += mean(eq(told, batch.targets).to(kFloat64)).item();
  }
  return right / static_cast<double>(task.evaluated);
}

Run train_for(double seconds, const Task& task, int64_t length, const nn::AttentionChoice& choice, uint64_t seed) {
  constexpr int kEvaluations = 12;
  manual_seed(seed);
  Reader model(length, choice);
  optim::Adam adam(nn::parameters(model), {.lr = 3e-3});
  Generator generator(seed + 1);
  train::StepCount source(1'000'000'000);  // the time ends it
  const auto loss = [&](int64_t) {
    const Batch batch = task.draw(length, generator);
    return train::BatchLoss{.loss = cross_entropy(model(batch), batch.targets)};
  };
  train::Loop loop(model, adam, source, loss, {.clip_grad_norm = 1});
  Run run;
  run.accuracies.push_back(accuracy_of(model, task, length, seed + 2));
  for (double used = 0; used < seconds; ++run.steps) {
    const double start = processor_seconds();
    loop.step();
    used += processor_seconds() - start;
    if (used < seconds && used < seconds * static_cast<double>(run.seconds.size()) / kEvaluations) continue;
    run.seconds.push_back(used);
    run.accuracies.push_back(accuracy_of(model, task, length, seed + 2));
  }
  return run;
}

}  // namespace
}  // namespace attention_accuracy

Exhibit show_attention_accuracy(const ShowRequest& request) {
  using namespace attention_accuracy;
  const int64_t length = request.length.value_or(1024);
  const double seconds = request.seconds.value_or(60);
  require(length % 32 == 0, "--length", fmt::format("expected a multiple of 32, got {}", length));
  const uint64_t seed = request.seed.value_or(0);
  std::vector<Form> forms = forms_for(length);
  Exhibit exhibit;
  exhibit.title = said("Accuracy of the forms of attention");
  exhibit.columns = 1;
  std::vector<std::vector<Run>> runs;  // [tasks][forms]
  for (const attention_accuracy::Task& task : kTasks) {
    drawing::LineChart chart{
        .title = said(task.title), .x_label = said("seconds"), .y_label = said("accuracy"), .y_low = 0, .y_high = 1};
    runs.emplace_back();
    for (const Form& form : forms) {
      const Run run = train_for(seconds, task, length, form.choice, seed);
      chart.series.push_back({.name = std::string(form.name), .x = run.seconds, .y = run.accuracies});
      runs.back().push_back(run);
    }
    exhibit.drawings.push_back(draw(chart));
  }
  exhibit.text = told("attention-accuracy-1", length, seconds, length / 2, length / 16, kWidth, kHeads, kBatch);
  Table table({10, 12, 9, 12, 12, 9, 12});
  table.row("");
  for (const attention_accuracy::Task& task : kTasks) table.add(said(task.name), said("steps"), said("ms/step"));
  for (std::size_t i = 0; i < forms.size(); ++i) {
    table.row(forms[i].name);
    for (const std::vector<Run>& of_task : runs) {
      const Run& run = of_task[i];
      table.add(drawing::fixed(run.accuracies.back(), 3), run.steps,
                drawing::fixed(1e3 * run.seconds.back() / static_cast<double>(std::max<int64_t>(1, run.steps)), 1));
    }
  }
  exhibit.text += table;
  exhibit.text += said("\nAccuracy on new inputs; guessing gives {:.3f}. Options of the forms:\n", 1.0 / kClasses);
  for (Form& form : forms) {
    std::string options;
    for (const nn::Field& field : nn::fields_of(form.choice))
      options += fmt::format("{}{} {}", options.empty() ? "" : ", ", field.setting.key(), field.text());
    if (!options.empty()) exhibit.text += fmt::format("{:>10}  {}\n", form.name, options);
  }
  return exhibit;
}

}  // namespace tapegrad::tasks
