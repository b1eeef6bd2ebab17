// One training run with one positional encoding.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/pool.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/optim/adam.h>
#include <tapegrad/tasks/compare/positions.h>
#include <tapegrad/tasks/seq2seq/addition/addition.h>
#include <tapegrad/tasks/seq2seq/parser/parser.h>
#include <tapegrad/tasks/seq2seq/sample.h>
#include <tapegrad/tasks/seq2seq/tasks.h>
#include <tapegrad/tasks/settings/processor_time.h>
#include <tapegrad/tasks/train/loop.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace tapegrad::tasks {
namespace {

// The settings of a task with examples of this size: digits, or levels of nesting.
RunOptions options_of(const ComparePositionsRequest& r, const std::string& task, int64_t size, int64_t seed) {
  RunOptions o = task_named(task).defaults();
  if (task == AdditionTask::kName) o.of<AdditionTask>().max_digits = size;
  if (task == ParserTask::kName) {
    o.of<ParserTask>().depth = size;
    o.config.vocab_size = ExpressionTokens::kCount;
  }
  static_cast<PositionSettings&>(o) = r;
  o.config.hidden_size = r.hidden_size;
  o.config.num_hidden_layers = r.num_hidden_layers;
  o.config.num_attention_heads = r.num_attention_heads;
  o.config.intermediate_size = r.intermediate_size;
  o.config.dropout_prob = r.dropout;
  o.num_epochs = 1;
  o.steps_per_epoch = r.steps;
  o.batch_size = r.batch_size;
  o.seed = static_cast<uint64_t>(seed);
  return o;
}

// Training and test data. Addition draws the width of each batch, so that a model sees several lengths; expressions
// vary in length anyway.
class Examples {
 public:
  Examples(const ComparePositionsRequest& r, const std::string& task, int64_t seed)
      : addition_(task == AdditionTask::kName),
        most_(addition_ ? r.max_digits : r.depth),
        beyond_(most_ + r.longer),
        options_(options_of(r, task, beyond_, seed)) {
    options_.config.max_position_embeddings =
        std::max(options_.info->longest(options_), options_.info->least_positions);
    for (int64_t size = addition_ ? 1 : most_; size <= most_; ++size)
      shorter_.push_back(options_.info->make(options_of(r, task, size, seed)));
    longer_ = options_.info->make(options_);
  }

  const RunOptions& options() const { return options_; }  // of a model that can read the longer examples
  Task& trained() const { return *shorter_.back(); }
  Task& longer() const { return *longer_; }

  // A batch for training, and the task that it belongs to.
  std::pair<Task*, Batch> draw(int64_t count) const {
    Generator& generator = default_generator();
    Task& task = *shorter_[generator.random64() % shorter_.size()];
    return {&task, task.draw_training(count, generator)};
  }
  Batch test(int64_t count, Generator& generator) const { return trained().test_set(count, generator).examples; }
  // Numbers of more digits; expressions of exactly the larger depth.
  Batch test_longer(int64_t count, Generator& generator) const {
    if (addition_) return longer_->draw(count, generator);
    const int depth = static_cast<int>(beyond_);
    NumpyRandom stream(generator.random32());
    std::vector<Tree> trees;
    while (static_cast<int64_t>(trees.size()) < count) {
      Tree tree = draw_expression(stream, depth);
      if (operator_depth(tree) == depth) trees.push_back(std::move(tree));
    }
    std::stable_sort(trees.begin(), trees.end(),
                     [](const Tree& a, const Tree& b) { return count_nodes(a) < count_nodes(b); });
    return static_cast<const ParserTask&>(*longer_).batch_of(trees, 0, longest_tree(depth, TreeForm::brackets));
  }

 private:
  bool addition_;
  int64_t most_, beyond_;
  RunOptions options_;
  std::vector<std::unique_ptr<Task>> shorter_;  // addition: one per number of digits
  std::unique_ptr<Task> longer_;
};

struct Rates {
  double exact, tokens;
};

Rates rates_of(const Task& task, const nn::Transformer& model, const Batch& batch) {
  const Tensor predicted = decode(task, model, batch.source, batch.target.size(1));
  const Tensor right = task.right_tokens(predicted, batch.target);
  const Tensor counted =
      task.padding() ? batch.target != static_cast<double>(*task.padding()) : batch.target == batch.target;
  return {accuracy(task, predicted, batch.target),
          share(sum(logical_and(right, counted)).item<int64_t>(), sum(counted).item<int64_t>())};
}

// The loop's source of batches. The time that they take does not count.
struct Draws {
  const Examples& examples;
  int64_t batch_size, steps;
  double seconds = 0;  // of all draws
  std::pair<Task*, Batch> next() {
    const double start = processor_seconds();
    auto drawn = examples.draw(batch_size);
    seconds += processor_seconds() - start;
    return drawn;
  }
  int64_t size() const { return steps; }
  void save(train::Checkpoint&) const {}
  void load(const train::Checkpoint&) {}
};

// The median time of a step in milliseconds.
double train_model(const ComparePositionsRequest& r, const Examples& examples, nn::Transformer& model) {
  optim::AdamW adam(nn::parameters(model), {.lr = r.lr, .beta2 = 0.98, .eps = 1e-9});
  Draws draws{examples, r.batch_size, r.steps};
  int64_t step = 0;
  const auto loss_of = [&](const std::pair<Task*, Batch>& drawn) {
    const auto& [task, batch] = drawn;
    const Tensor outputs = model(batch.source, shifted(*task, batch.target), task->source_mask(batch.source),
                                 nn::causal_mask(batch.target.size(1)));
    const Tensor loss = task->loss(outputs, batch.target) / static_cast<double>(batch.target.size(1));
    if (!std::isfinite(loss.item())) {
      fail("compare", fmt::format("{} with {}, seed {}: the loss of step {} is not finite (a smaller --lr may help)",
                                  examples.options().info->name, r.positions, examples.options().seed, step));
    }
    return train::BatchLoss{.loss = loss};
  };
  train::Loop loop(
      model, adam, draws, loss_of,
      {.clip_grad_norm = 1,
       .schedule = optim::WarmupCosine{.lr = r.lr, .warmup = std::min(r.warmup, r.steps - 1), .total = r.steps}});
  std::vector<double> times;
  while (!loop.finished()) {
    const double start = processor_seconds() - draws.seconds;
    ++step;
    loop.step();
    times.push_back(1e3 * (processor_seconds() - draws.seconds - start));
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace

PositionRun run_positions(const ComparePositionsRequest& request, const std::string& task, const std::string& kind,
                          int64_t seed) {
  ComparePositionsRequest r = request;
  r.positions = kind;
  manual_seed(static_cast<uint64_t>(seed));
  const Examples examples(r, task, seed);
  const int64_t held = pool::stats().reserved;
  nn::Transformer model(examples.options().model());
  PositionRun run{.task = task, .kind = kind, .seed = seed};
  run.step_ms = train_model(r, examples, model);
  run.memory_mb = static_cast<double>(pool::stats().reserved - held) / (1 << 20);

  nn::eval(model);
  Generator generator(static_cast<uint64_t>(seed) + 1);
  const Rates trained = rates_of(examples.trained(), model, examples.test(r.count, generator));
  const Batch batch = examples.test_longer(r.count, generator);
  const double start = processor_seconds();
  const Rates longer = rates_of(examples.longer(), model, batch);
  run.answer_ms = 1e3 * (processor_seconds() - start) / static_cast<double>(batch.source.size(0));
  run.trained = trained.exact;
  run.trained_tokens = trained.tokens;
  run.longer = longer.exact;
  run.longer_tokens = longer.tokens;
  return run;
}

}  // namespace tapegrad::tasks
