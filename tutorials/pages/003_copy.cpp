// Tutorial 003, sections 8.5 and 8.5.1: the three tasks, and the copy task.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/seq2seq/task.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/attention/decoding.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/pages/runs.h>
#include <tapegrad/tutorials/show/show.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace tapegrad::tasks::tutorial {
namespace {

// The tutorial's model of each task, and the tokens of an answer.
struct TaskSize {
  std::string_view name;
  nn::TransformerConfig config;
  int64_t answer;
};

std::vector<TaskSize> sizes_of_tasks() {
  return {{"copy", sizes_of_model(20, 64, 2, 2, 128, 20, 0.1), 20},
          {"addition", sizes_of_model(11, 256, 3, 4, 512, 10, 0.1), 3},
          {"parser", sizes_of_model(25, 128, 3, 4, 512, 10, 0.1), 5}};
}

std::vector<Number> numbers_of_tasks() {
  std::string rows = "task      parameters  tokens  answer  loss of a guess\n";
  for (const TaskSize& task : sizes_of_tasks())
    rows += fmt::format("{:<9} {:>10} {:>7} {:>7} {:>16.2f}\n", task.name, task.config.parameter_count(),
                        task.config.vocab_size, task.answer,
                        static_cast<double>(task.answer) * fixed::log(static_cast<double>(task.config.vocab_size)));
  return {own(rows)};
}

std::vector<Figure> figures_of_tasks() {
  drawing::Series parameters{said("thousands of parameters")};
  for (const TaskSize& task : sizes_of_tasks())
    parameters.y.push_back(static_cast<double>(task.config.parameter_count()) / 1000);
  return {{draw(drawing::BarChart{.title = said("Sizes of the three models"),
                                  .labels = {"copy", "addition", "parser"},
                                  .series = {parameters},
                                  .width = 420})}};
}

// What may follow "나는", and what may follow that, as logits: the logarithms of made-up probabilities.
std::string choice_after_i() {
  const auto logits = [](std::initializer_list<double> p) {
    std::string out;
    for (const double one : p) out += fmt::format("{}{:.4f}", out.empty() ? "" : ",", fixed::log(one));
    return "[" + out + "]";
  };
  return fmt::format(
      "{{\"start\":\"나는\",\"words\":[\"학교에\",\"집에\",\"공원에\",\"밥을\"],\"logits\":{},\"next\":["
      "{{\"words\":[\"간다\",\"있다\"],\"logits\":{}}},{{\"words\":[\"간다\",\"있다\"],\"logits\":{}}},"
      "{{\"words\":[\"간다\",\"있다\"],\"logits\":{}}},{{\"words\":[\"먹는다\",\"짓는다\"],\"logits\":{}}}]}}",
      logits({0.45, 0.30, 0.15, 0.10}), logits({0.55, 0.45}), logits({0.9, 0.1}), logits({0.7, 0.3}),
      logits({0.95, 0.05}));
}

Tensor shifted_right(const Tensor& target) {
  return cat({zeros({target.size(0), 1}, kInt64), narrow(target, 1, 0, target.size(1) - 1)}, 1);
}

// Trains on sequences of 20 tokens, and records the losses.
drawing::Series train_copy(nn::Transformer& model, std::string name, int steps, int64_t batch, double rate) {
  drawing::Series losses{std::move(name)};
  optim::Adam adam(nn::parameters(model), {.lr = rate, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9});
  for (int step = 1; step <= steps; ++step) {
    const Tensor src = randint(1, 20, {batch, 20});
    Tape tape;
    const Tensor outputs = model(src, shifted_right(src), nn::padding_mask(src), nn::causal_mask(20));
    const Tensor loss = nn::sequence_loss(outputs, src);
    adam.step(tape.backward(loss));
    losses.add(step, loss.item());
  }
  return losses;
}

// The tutorial's model after 150 steps without dropout, at a larger rate and with small batches: it copies.
struct TrainedCopy {
  nn::Transformer model;
  drawing::Series losses;
};

const TrainedCopy& trained_copy() {
  static const TrainedCopy kTrained = [] {
    manual_seed(0);
    TrainedCopy made{nn::Transformer(sizes_of_model(20, 64, 2, 2, 128, 20)), {}};
    made.losses = train_copy(made.model, "", 150, 16, 2e-3);
    nn::eval(made.model);
    return made;
  }();
  return kTrained;
}

// The tutorial's twenty tokens of its test.
Tensor tokens_of_test() { return tensor({{10, 10, 2, 12, 1, 5, 3, 1, 8, 18, 2, 19, 2, 2, 8, 14, 7, 19, 5, 4}}); }

// Every seventh epoch, as the command prints it.
std::string epochs_of(const StoredRun& run) {
  std::string rows = "epoch  loss     accuracy\n";
  for (std::size_t epoch = 0; epoch < run.loss.size(); epoch += 7)
    rows += fmt::format("{:>5}  {:<7.4f}  {:.4f}\n", epoch, run.loss[epoch], run.accuracy[epoch]);
  return rows;
}

std::vector<Number> numbers_of_copy() {
  const Tensor example = tensor({{7, 15, 2, 3, 12}}), probabilities = given::copied(), test = tokens_of_test();
  const Tensor written = nn::greedy_decode(trained_copy().model, test, nn::padding_mask(test), test.size(1), 0);
  return {same("Sequence Length", std::to_string(example.size(1))),
          same("Original Tensor Shape", plain_shape(example)),
          same("Input Sequence", rows_of(example, 0)),
          drawn("Output of the test", rows_of(written, 0)),
          same("Model Output of the loss, second sequence", rows_of(probabilities[1], 1)),
          own(epochs_of(stored_run("copy"))),
          own(origin_of(stored_run("copy")))};
}

// The weights of all heads while the model copies, and what the tutorial draws.
struct MapsOfCopy {
  nn::AttentionMaps maps;
  Tensor picture;
  MapsOfCopy() {
    const nn::Transformer& model = trained_copy().model;
    const Tensor src = tokens_of_test(), mask = nn::padding_mask(src);
    static_cast<void>(model(src, shifted_right(src), mask, nn::causal_mask(20), &maps));
    const Tensor memory = model.encode(src, mask)[0];
    picture = softmax(matmul(memory, memory.t()) / std::sqrt(64.0));
  }
};

std::vector<Figure> figures_of_copy() {
  const MapsOfCopy of;
  const auto map_of = [&](std::string_view name, int64_t head) {
    return std::find_if(of.maps.begin(), of.maps.end(), [&](const auto& map) { return map.name == name; })
        ->tensor[0][head];
  };
  std::vector<std::string> tokens, read{"0"};
  for (const int64_t token : tokens_of_test().to_vector<int64_t>()) tokens.push_back(std::to_string(token));
  read.insert(read.end(), tokens.begin(), tokens.end() - 1);
  manual_seed(0);
  nn::Transformer slow(sizes_of_model(20, 64, 2, 2, 128, 20, 0.1));
  const drawing::Series first = train_copy(slow, said("the tutorial's first 20 steps (seed 0)"), 20, 40, 1e-4);
  drawing::Series trained = trained_copy().losses;
  trained.name = said("150 steps, lr 2e-3, batch 16, no dropout");
  const auto map = [&](std::string_view title, const Tensor& x, const std::vector<std::string>& rows) {
    return draw_matrix(title, x, rows, tokens, 0, amax(x).item());
  };
  return {{map("softmax(memory memoryᵀ / √64)", of.picture, tokens)},
          {.panels = {map(said("cross layer {}, head {}", 0, 0), map_of("decoder.layers.0.cross_attn", 0), read),
                      map(said("cross layer {}, head {}", 0, 1), map_of("decoder.layers.0.cross_attn", 1), read),
                      map(said("cross layer {}, head {}", 1, 0), map_of("decoder.layers.1.cross_attn", 0), read),
                      map(said("cross layer {}, head {}", 1, 1), map_of("decoder.layers.1.cross_attn", 1), read)}},
          {draw(drawing::LineChart{.title = said("Loss of the copy task"),
                                   .x_label = said("step"),
                                   .y_label = said("loss"),
                                   .series = {first, trained},
                                   .log_y = true,
                                   .width = 560})},
          {curve_of(stored_run("copy"))}};
}

// The model above while it copies the tutorial's twenty tokens.
std::string copying_as_player() {
  const std::unique_ptr<Task> task = task_named("copy").make(task_named("copy").defaults());
  const AttentionSample sample = attend(*task, trained_copy().model, {tokens_of_test(), tokens_of_test()});
  return json::text_of(player_json(sample.heads, decoding_of(*task, sample)));
}

std::string loss_of_probabilities() {
  const Tensor p = given::copied(), target = tensor({{0, 1, 2}, {0, 1, 2}});
  return said("CopyLoss of the numbers as logits:    {:.4f}\nCopyLoss of their logarithms:         {:.4f}\n",
              nn::sequence_loss(p, target).item(), nn::sequence_loss(log(p), target).item());
}

// How far the tutorial's picture is from each of the encoder's maps.
std::string picture_and_heads() {
  const MapsOfCopy of;
  std::string out = said("largest difference of a weight to the figure\n");
  for (const auto& map : of.maps) {
    if (map.name.find("encoder.layers") == std::string::npos) continue;
    for (int64_t head = 0; head < 2; ++head)
      out += said("  {}, head {}: {:.2f}\n", map.name, head, amax(abs(map.tensor[0][head] - of.picture)).item());
  }
  return out;
}

}  // namespace

const Computation k003_8_5{"003-8.5", numbers_of_tasks, figures_of_tasks, {choice_after_i}};
const Computation k003_8_5_1{
    "003-8.5.1", numbers_of_copy, figures_of_copy, {copying_as_player}, {loss_of_probabilities, picture_and_heads}};

}  // namespace tapegrad::tasks::tutorial
