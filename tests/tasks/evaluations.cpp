// Which steps of a training loop are evaluated, and what a run makes of it.
#include <tapegrad/tests/support/runs/small_loop.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train/loop.h>

namespace tapegrad::train {
namespace {

using namespace tests;

using FilesOfARun = InAFolder;

// The last model is evaluated, whatever its step: of a short run it is the only one that is trained.
TEST_F(FilesOfARun, TheFirstTheLastAndEveryNthStepAreEvaluated) {
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

TEST_F(FilesOfARun, TheLastEvaluationChangesNothingOfAContinuedRun) {
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

TEST_F(FilesOfARun, AContinuedRunKeepsTheBestModel) {
  const auto trained = [&](int64_t steps, std::vector<double> losses) {
    std::size_t evaluations = 0;
    Trained run({.epochs = 9,
                 .max_steps = steps,
                 .evaluate =
                     [&] {
                       const double loss = losses.at(evaluations++);
                       return Evaluation{.validation = loss, .training = loss / 2};
                     },
                 .evaluate_every = 4,
                 .patience = 9});
    run.loop.run({.folder = folder / "run", .resume = true, .keep_best = true, .progress = false});
    EXPECT_EQ(evaluations, losses.size());
    return std::pair(run.loop.best(), bits_of(nn::state_dict(run.model)));
  };
  const auto best = [&] { return bits_of(load_safetensors(folder / "run/best.safetensors").tensors); };
  const auto [first, at_6] = trained(6, {3, 2, 0.5});  // steps 1, 5 and, not due, 6
  EXPECT_EQ(best(), at_6);
  const auto [second, at_11] = trained(11, {1, 0.8});  // 9 and, not due, 11
  EXPECT_EQ(best(), at_6);
  EXPECT_EQ(second.validation, 0.5);
  EXPECT_EQ(second.training, 0.25);
  EXPECT_EQ(trained(14, {0.6, 0.7}).first.validation, 0.5);  // 13 and, not due, 14
  EXPECT_EQ(best(), at_6);
  const auto [last, at_17] = trained(17, {0.4});
  EXPECT_EQ(last.validation, 0.4);
  EXPECT_EQ(best(), at_17);
}

}  // namespace
}  // namespace tapegrad::train
