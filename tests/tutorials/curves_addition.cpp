// Tutorial 003, section 8.5.2: the first hundred steps of the addition task, loss by loss against the tutorial's own
// run in PyTorch (seed 0), with its masks; the batches it draws; the first steps of two other runs; and, with
// TAPEGRAD_LONG=1, the whole run.
#include <tapegrad/tests/support/curves.h>
#include <tapegrad/tests/support/long.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;

// Two builds of PyTorch with different BLAS libraries differ by 9e-5 and 3e-4 here.
Curve stored_losses(const std::string& key) { return {key, stored("curves_addition.json")[key], 1e-4, 1e-3}; }

TEST(Tutorial003_8_5_2, FirstHundredSteps) {
  expect_hundred_steps(tutorial_options("addition"), stored_losses("losses"));
}

TEST(Tutorial003_8_5_2, FirstHundredStepsWithoutDropout) {
  expect_hundred_steps(without_dropout(tutorial_options("addition")), stored_losses("losses_nodropout"));
}

TEST(Tutorial003_8_5_2, WholeRun) {
  // A fifth of the time that all tests together may take, so only with TAPEGRAD_LONG=1; the first hundred steps are
  // always compared, above.
  if (!long_tests_are_wanted()) GTEST_SKIP() << "3,000 steps take about 8 minutes: TAPEGRAD_LONG=1 runs them";
  const std::vector<double> means = stored("curves_addition.json")["epoch_loss"];
  Trainer trainer(tutorial_options("addition"));
  expect_curve(trainer, {"whole run", {}, 0, 0, means}, means.size());
  EXPECT_TRUE(trainer.finished());
}

TEST(Tutorial003_8_5_2, FirstTwentyStepsOfOtherSeeds) {
  expect_first_losses_of_other_seeds(tutorial_options("addition"), 1e-4);
}

TEST(Tutorial003_8_5_2, FirstBatches) {
  const Json expected = tests::stored("curves_addition.json");
  Trainer trainer(without_dropout(tutorial_options("addition")));  // the reference drew no masks between its batches
  for (std::size_t batch = 0; batch < expected["first_source"].size(); ++batch) {
    trainer.step();
    const std::vector<Answer> rows =
        answers_of(trainer->task(), trainer->last_batch(), trainer->last_batch().target, 8);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].input, expected["first_source"][batch][i].get<Tokens>()) << "batch " << batch << ", row " << i;
      EXPECT_EQ(rows[i].target, expected["first_target"][batch][i].get<Tokens>());
    }
  }
}

}  // namespace
}  // namespace tapegrad::tasks
