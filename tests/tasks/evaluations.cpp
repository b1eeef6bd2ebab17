// Which steps of a training loop are evaluated, and what a run makes of it.
#include <tapegrad/tests/support/runs/small_loop.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train/loop.h>

namespace tapegrad::train {
namespace {

using namespace tests;

// The last model is evaluated, whatever its step: of a short run it is the only one that is trained.
TEST(RunFiles, TheFirstTheLastAndEveryNthStepAreEvaluated) {
  const TemporaryFolder folder;
  const auto trained = [&](int64_t steps, int64_t every, int64_t patience, std::vector<int64_t>& at) {
    const std::string name = folder / ("run" + std::to_string(steps));
    int64_t step = 0;
    double loss = 10;
    Trained run({.epochs = 10,
                 .max_steps = steps,
                 .evaluate =
                     [&] {
                       default_generator().random64();  // as an evaluation by a shuffled loader
                       at.push_back(step + 1);
                       return Evaluation{.validation = --loss};
                     },
                 .evaluate_every = every,
                 .patience = patience,
                 .after_step = [&](int64_t done) { step = done - 1; }});
    run.loop.run({.folder = name, .resume = true, .keep_best = true, .progress = false});
    EXPECT_EQ(run.loop.best().validation, loss);
    EXPECT_EQ(slurp(name + "/report.html").find("the lowest") != std::string::npos, true);
    EXPECT_EQ(bits_of(load_safetensors(name + "/best.safetensors").tensors),
              read_metrics(name + "/metrics.jsonl").bits);
    return read_metrics(name + "/metrics.jsonl");
  };
  const std::vector<std::tuple<int64_t, int64_t, std::vector<int64_t>>> cases{
      {1, 50, {1}}, {6, 50, {1, 6}}, {7, 3, {1, 4, 7}}, {8, 3, {1, 4, 7, 8}}, {2, 1, {1, 2}}};
  for (const auto& [steps, every, expected] : cases) {
    std::vector<int64_t> at;
    const Metrics metrics = trained(steps, every, 3, at);
    EXPECT_EQ(at, expected);
    std::vector<int64_t> in_file;
    for (const StepMetrics& m : metrics.steps)
      if (m.validation_loss) in_file.push_back(m.step);
    EXPECT_EQ(in_file, expected);
    EXPECT_TRUE(outcome_of(metrics, {})
                    .text.starts_with(fmt::format("Validation loss {:.4f} after step {}, the lowest.",
                                                  10.0 - double(expected.size()), steps)));
  }
}

// A run that ended at a step between two evaluations, and is continued, is one that did not end there.
TEST(RunFiles, TheLastEvaluationChangesNothingOfAContinuedRun) {
  const TemporaryFolder folder;
  const auto trained = [&](const std::string& name, int64_t steps) {
    int64_t evaluations = 0;
    Trained run({.epochs = 9,
                 .max_steps = steps,
                 .evaluate =
                     [&] {
                       default_generator().random64();
                       return Evaluation{.validation = steps == 6 && ++evaluations == 3 ? 0.5 : 1};
                     },
                 .evaluate_every = 4,
                 .patience = 4});
    run.loop.run({.folder = folder / name, .resume = true, .progress = false});
    return std::pair(run.loop.steps(), bits_of(nn::state_dict(run.model)));
  };
  const auto whole = trained("whole", 30);
  EXPECT_EQ(whole.first, 17);  // after four evaluations that were not better than the first
  EXPECT_EQ(trained("broken", 6).first, 6);
  EXPECT_EQ(trained("broken", 30), whole);
}

}  // namespace
}  // namespace tapegrad::train
