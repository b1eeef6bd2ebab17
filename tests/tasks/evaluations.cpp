// Which steps of a training loop are evaluated, and what a run makes of it.
#include <tapegrad/tests/support/runs/small_loop.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train/loop.h>

namespace tapegrad::train {
namespace {

using namespace tests;

class Evaluations : public InAFolder {
 protected:
  struct Ended {
    int64_t steps;
    std::size_t evaluations;
    Evaluation best;
    std::string bits;
    bool operator==(const Ended& other) const { return steps == other.steps && bits == other.bits; }
  };
  // A run in a subfolder, or its continuation, to so many steps. Its n-th evaluation, from 0, finds loss(n), and half
  // of it on the data of training.
  Ended run_to(int64_t steps, const std::string& name, int64_t every, int64_t patience,
               const std::function<double(std::size_t)>& loss) const {
    std::size_t evaluations = 0;
    Trained run({.epochs = 10,
                 .max_steps = steps,
                 .evaluate =
                     [&] {
                       default_generator().random64();  // as an evaluation by a shuffled loader
                       const double found = loss(evaluations++);
                       return Evaluation{.validation = found, .training = found / 2};
                     },
                 .evaluate_every = every,
                 .patience = patience});
    run.loop.run({.folder = folder / name, .resume = true, .keep_best = true, .progress = false});
    return {run.loop.steps(), evaluations, run.loop.best(), bits_of(nn::state_dict(run.model))};
  }
  std::string bits_of_best(const std::string& name) const {
    return bits_of(load_safetensors(folder / (name + "/best.safetensors")).tensors);
  }
};

// The last model is evaluated, whatever its step: of a short run it is the only one that is trained.
TEST_F(Evaluations, TheFirstTheLastAndEveryNthStepAreEvaluated) {
  const std::vector<std::tuple<int64_t, int64_t, std::vector<int64_t>>> cases{
      {1, 50, {1}}, {6, 50, {1, 6}}, {7, 3, {1, 4, 7}}, {8, 3, {1, 4, 7, 8}}, {2, 1, {1, 2}}};
  for (const auto& [steps, every, expected] : cases) {
    const std::string name = "run" + std::to_string(steps);
    const Ended run = run_to(steps, name, every, 3, [](std::size_t n) { return 9.0 - double(n); });
    EXPECT_EQ(run.evaluations, expected.size());
    EXPECT_EQ(run.best.validation, 10.0 - double(expected.size()));
    expect_parts(slurp(folder / (name + "/report.html")), {"the lowest"});
    const Metrics metrics = read_metrics(folder / (name + "/metrics.jsonl"));
    EXPECT_EQ(bits_of_best(name), metrics.bits);
    std::vector<int64_t> in_file;
    for (const StepMetrics& m : metrics.steps)
      if (m.validation_loss) in_file.push_back(m.step);
    EXPECT_EQ(in_file, expected);
    EXPECT_TRUE(outcome_of(metrics, {})
                    .text.starts_with(fmt::format("Validation loss {:.4f} after step {}, the lowest.",
                                                  10.0 - double(expected.size()), steps)));
  }
}

TEST_F(Evaluations, TheLastEvaluationChangesNothingOfAContinuedRun) {
  const auto flat = [](std::size_t) { return 1.0; };
  const Ended whole = run_to(30, "whole", 4, 4, flat);
  EXPECT_EQ(whole.steps, 17);  // after four evaluations that were not better than the first
  EXPECT_EQ(run_to(6, "broken", 4, 4, [](std::size_t n) { return n == 2 ? 0.5 : 1; }).steps, 6);
  EXPECT_EQ(run_to(30, "broken", 4, 4, flat), whole);
}

TEST_F(Evaluations, AContinuedRunKeepsTheBestModel) {
  const auto run = [&](int64_t steps, const std::vector<double>& losses) {
    const Ended ended = run_to(steps, "run", 4, 9, [&](std::size_t n) { return losses.at(n); });
    EXPECT_EQ(ended.evaluations, losses.size());
    return ended;
  };
  const std::string at_6 = run(6, {3, 2, 0.5}).bits;  // steps 1, 5 and, not due, 6
  EXPECT_EQ(bits_of_best("run"), at_6);
  const Evaluation second = run(11, {1, 0.8}).best;  // 9 and, not due, 11
  EXPECT_EQ(bits_of_best("run"), at_6);
  EXPECT_EQ(second.validation, 0.5);
  EXPECT_EQ(second.training, 0.25);
  EXPECT_EQ(run(14, {0.6, 0.7}).best.validation, 0.5);  // 13 and, not due, 14
  EXPECT_EQ(bits_of_best("run"), at_6);
  const Ended last = run(17, {0.4});
  EXPECT_EQ(last.best.validation, 0.4);
  EXPECT_EQ(bits_of_best("run"), last.bits);
}

}  // namespace
}  // namespace tapegrad::train
