// One training run with one positional encoding.
#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/run/train.h>
#include <tapegrad/tasks/seq2seq/recipe.h>
#include <tapegrad/tasks/seq2seq/sample.h>
#include <tapegrad/tutorials/compare/positions.h>
#include <tapegrad/tutorials/processor_time.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace tapegrad::tasks {
namespace {

// The settings of a task with examples of this size.
RunOptions options_of(const ComparePositionsRequest& r, const ComparedTask& task, const std::string& kind, int64_t seed,
                      int64_t size) {
  RunOptions o = task.options(size);
  static_cast<TrainingSettings&>(o) = r;
  static_cast<PositionSettings&>(o) = r;
  const int64_t vocab_size = o.config.vocab_size;
  o.config = r.config;
  o.config.vocab_size = vocab_size;
  o.positions = kind;
  o.seed = static_cast<uint64_t>(seed);
  o.steps_per_epoch = r.steps;
  o.warmup = std::min(r.warmup, r.steps - 1);
  fill_in(o);
  return o;
}

// A run that is timed from step to step, without the time to draw its batches.
class TimedRecipe final : public Seq2SeqRecipe {
 public:
  using Seq2SeqRecipe::Seq2SeqRecipe;
  void begin_step(int64_t steps) override {
    Seq2SeqRecipe::begin_step(steps);
    begun_ = processor_seconds();
  }
  double begun() const { return begun_; }

 private:
  double begun_ = 0;
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

// Trains to the end. The median time of a step in milliseconds.
double train_model(const PositionRun& run, TimedRecipe& recipe, train::Loop& loop) {
  std::vector<double> times;
  while (!loop.finished()) {
    try {
      loop.step();
    } catch (const Error& e) {
      const std::string_view text = e.what();  // "[train] message"
      fail("compare",
           fmt::format("{} with {}, seed {}: {}", run.task, run.kind, run.seed, text.substr(text.find("] ") + 2)));
    }
    times.push_back(1e3 * (processor_seconds() - recipe.begun()));
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace

PositionRun run_positions(const ComparePositionsRequest& r, const std::string& task, const std::string& kind,
                          int64_t seed) {
  const ComparedTask& compared = compared_task(task);
  const int64_t most = r.*compared.size;
  const RunOptions longer_options = options_of(r, compared, kind, seed, most + r.longer);
  RunOptions options = options_of(r, compared, kind, seed, most);
  options.config.max_position_embeddings = longer_options.config.max_position_embeddings;  // it can read those, too
  TimedRecipe recipe(std::move(options));
  recipe.open(nullptr);
  const int64_t held = pool::stats().reserved;
  Training training(recipe);
  PositionRun run{.task = task, .kind = kind, .seed = seed};
  run.step_ms = train_model(run, recipe, training.loop());
  run.memory_mb = static_cast<double>(pool::stats().reserved - held) / (1 << 20);

  nn::eval(recipe.transformer());
  Generator generator(static_cast<uint64_t>(seed) + 1);
  const auto tested = [&](const Batch& batch) { return rates_of(recipe.task(), recipe.transformer(), batch); };
  const Rates trained = tested(recipe.task().test_set(r.count, generator).examples);
  const Batch batch = compared.draw(longer_options, r.count, generator);
  const double start = processor_seconds();
  const Rates longer = tested(batch);
  run.answer_ms = 1e3 * (processor_seconds() - start) / static_cast<double>(batch.source.size(0));
  run.trained = trained.exact;
  run.trained_tokens = trained.tokens;
  run.longer = longer.exact;
  run.longer_tokens = longer.tokens;
  return run;
}

}  // namespace tapegrad::tasks
