// The first line of a report: whether the run reached its target, and how far it came.
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train.h>
#include <tapegrad/version.h>

namespace tapegrad::train {
namespace {

using Verdict = Outcome::Verdict;

// One step per epoch.
Metrics run_with(const std::vector<double>& accuracies, const std::vector<double>& losses) {
  Metrics out;
  for (std::size_t i = 0; i < losses.size(); ++i)
    out.steps.push_back({.step = static_cast<int64_t>(i) + 1, .loss = losses[i]});
  for (std::size_t i = 0; i < accuracies.size(); ++i)
    out.epochs.push_back({static_cast<int64_t>(i), losses.at(i), accuracies[i]});
  return out;
}

std::vector<double> series(int64_t count, double first, double change) {
  std::vector<double> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(first + change * static_cast<double>(i));
  return out;
}

void expect_outcome(const Metrics& metrics, const std::optional<Target>& target, Verdict verdict,
                    const std::string& text) {
  const Outcome found = outcome_of(metrics, target);
  EXPECT_EQ(found.verdict, verdict);
  EXPECT_EQ(found.text, text);
}

TEST(Outcome, OfARunWithATarget) {
  const Target target{.name = "exact match", .least = 0.995};
  expect_outcome(run_with({0.2, 0.995, 1}, {3, 2, 1}), target, Verdict::reached,
                 "Target reached: exact match 1.0000 in the last epoch (target 0.995), first reached after 2 of 3 "
                 "epochs.");
  expect_outcome(run_with({0.2, 1, 0.98}, {3, 2, 1}), target, Verdict::missed,
                 "Target reached after 2 of 3 epochs, but not held: exact match 0.9800 of 0.995 in the last epoch.");
  expect_outcome(run_with({0.1, 0.5, 0.43}, {3, 2, 1}), target, Verdict::missed,
                 "Target not reached: exact match 0.4300 of 0.995 after 3 epochs, at best 0.5000 after 2. "
                 "There are too few steps to say whether the loss still falls.");
  expect_outcome(run_with(series(20, 0, 0.02), series(20, 5, -0.2)), target, Verdict::missed,
                 "Target not reached: exact match 0.3800 of 0.995 after 20 epochs. The loss still falls.");
}

TEST(Outcome, DoesNotRoundUpToTheTarget) {
  expect_outcome(run_with({0.99499}, {1}), Target{.least = 0.995}, Verdict::missed,
                 "Target not reached: accuracy 0.99499 of 0.995 after 1 epoch. There are too few steps to "
                 "say whether the loss still falls.");
  tests::expect_parts(outcome_of(run_with({1 - 1e-8}, {1}), Target{.least = 1}).text, {"accuracy 0.99999999 of 1 "});
}

// The mean of the 100 steps of train copy's last epoch; exactly, it is 0.995.
TEST(Outcome, TakesNoRoundingForAMiss) {
  expect_outcome(run_with({0.9949999999999997}, {1}), Target{.name = "exact match", .least = 0.995}, Verdict::reached,
                 "Target reached: exact match 0.9950 in the last epoch (target 0.995), first reached after 1 of 1 "
                 "epoch.");
  expect_outcome(run_with({std::nextafter(1.0, 0.0)}, {1}), Target{.least = 1}, Verdict::reached,
                 "Target reached: accuracy 1.0000 in the last epoch (target 1), first reached after 1 of 1 epoch.");
}

TEST(Outcome, OfARunWhoseTargetWasNotMeasured) {
  const std::string text = "The target, accuracy 0.9, was not measured: no epoch ended with it. Loss 2.0000 ";
  expect_outcome(run_with({}, {3, 2}), Target{.least = 0.9}, Verdict::none, text + "in step 2, the lowest.");
  expect_outcome(run_with({kNotMeasured, kNotMeasured}, {3, 2}), Target{.least = 0.9}, Verdict::none,
                 text + "after 2 epochs, the lowest.");
}

TEST(Outcome, OfARunWithoutATarget) {
  expect_outcome({}, {}, Verdict::none, "No step was taken.");
  expect_outcome(run_with({}, {2, 1.5, 1.75}), {}, Verdict::none,
                 "Loss 1.7500 in step 3, lowest 1.5000 in step 2. There are too few steps to say whether the loss "
                 "still falls.");
  expect_outcome(run_with(series(10, 0, 0), series(10, 1, -0.1)), {}, Verdict::none,
                 "Loss 0.1000 after 10 epochs, the lowest. The loss still falls.");
  Metrics evaluated = run_with({}, series(40, 4, -0.1));
  for (const std::size_t step : {0, 20, 38}) evaluated.steps[step].validation_loss = step == 20 ? 1.5 : 2.25;
  expect_outcome(evaluated, {}, Verdict::none,
                 "Validation loss 2.2500 after step 39, lowest 1.5000 after step 21. The loss still falls.");
  for (StepMetrics& m : evaluated.steps) m.validation_loss = 1 + 0.1 * static_cast<double>(m.step);
  expect_outcome(evaluated, {}, Verdict::none,
                 "Validation loss 5.0000 after step 40, lowest 1.1000 after step 1. The validation loss rises.");
}

TEST(Outcome, TrendOfLosses) {
  EXPECT_EQ(trend_of({}), Trend::unknown);
  EXPECT_EQ(trend_of({9, 9, 9, 4, 3, 2}), Trend::unknown);  // three in the second half
  EXPECT_EQ(trend_of({4, 3, 2, 1}), Trend::unknown);
  EXPECT_EQ(trend_of(series(8, 8, -1)), Trend::falls);
  EXPECT_EQ(trend_of(series(8, 1, 1)), Trend::rises);
  EXPECT_EQ(trend_of(series(8, 2, 0)), Trend::flat);
  EXPECT_EQ(trend_of(series(8, 0, 0)), Trend::flat);
  EXPECT_EQ(trend_of(series(8, 2, -1e-4)), Trend::flat);               // less than 1 %
  EXPECT_EQ(trend_of({9, 8, 7, 6, 1, 3, 1, 3, 1, 2.9}), Trend::flat);  // noise
  EXPECT_EQ(trend_of({9, 9, 9, 9, 9, 4, 3, kNotMeasured, 2, 1}), Trend::falls);
  EXPECT_EQ(trend_of({9, 9, 9, 9, 9, 4, 3, kNotMeasured, INFINITY, 1}), Trend::unknown);
}

TEST(Outcome, IsTheFirstLineOfTheReport) {
  const auto page = [](const std::vector<double>& accuracies) {
    return report_html({.title = "Sums", .about = "About.", .target = Target{.name = "<exact>", .least = 0.9}},
                       run_with(accuracies, {1}), 1, 1);
  };
  tests::expect_parts(page({0.95}), {"<h1>Sums</h1>\n<p class=\"outcome good\">Target reached: &lt;exact&gt; 0.9500 "});
  EXPECT_NE(page({0.5}).find("<h1>Sums</h1>\n<p class=\"outcome wrong\">Target not reached: "), std::string::npos);
  EXPECT_NE(page({}).find("<h1>Sums</h1>\n<p class=\"outcome\">The target, "), std::string::npos);
  EXPECT_NE(page({}).find(std::string("<p>About. Trained by tapegrad ") + kVersion + ".</p>"), std::string::npos);
}

}  // namespace
}  // namespace tapegrad::train
