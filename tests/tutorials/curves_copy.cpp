// Tutorial 003, section 8.5.1: the run of the copy task against the tutorial's own in PyTorch (seed 0), the whole run
// with TAPEGRAD_LONG=1, and the first steps of two others.
#include <tapegrad/tests/support/curves.h>
#include <tapegrad/tests/support/long.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tasks {
namespace {

using namespace tests;

// The first hundred losses to 2e-5 relative (PyTorch with another BLAS differs by 1.3e-6), then the means of epochs
// within 5 % or 0.02: of the first 15, in which the loss falls from 63.5 to 0.85, or of all 50, which end with the
// tutorial's accuracy. (tasks/run.sh always runs the whole, and tests the model.)
TEST(Tutorial003_8_5_1, Run) {
  const std::vector<double> means = stored("copy_epochs.json")["epoch_loss"];
  const bool whole = long_tests_are_wanted();
  Trainer trainer(tutorial_options("copy"));
  train::EpochMetrics last;
  expect_curve(trainer, {"copy", stored("curves.json")["copy"], 2e-5, 2e-5, means}, whole ? means.size() : 15, &last);
  EXPECT_EQ(trainer.finished(), whole);
  EXPECT_TRUE(!whole || last.accuracy > 0.98) << last.accuracy;
}

TEST(Tutorial003_8_5_1, LossesWithoutDropout) {
  expect_hundred_steps(without_dropout(tutorial_options("copy")),
                       {"copy without dropout", stored("curves.json")["copy_nodropout"], 2e-5, 2e-5});
}

TEST(Tutorial003_8_5_1, FirstTwentyStepsOfOtherSeeds) {
  expect_first_losses_of_other_seeds(tutorial_options("copy"), 2e-5);
}

}  // namespace
}  // namespace tapegrad::tasks
