// Runs of a task against the tutorial's own in PyTorch: losses of steps, means of epochs.
#pragma once

#include <gtest/gtest.h>
#include <tapegrad/tasks/seq2seq/addition/addition.h>
#include <tapegrad/tasks/seq2seq/task.h>
#include <tapegrad/tests/support/in_training.h>
#include <tapegrad/tests/support/stored.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tests {

// What `tapegrad train TASK` trains, addition with the tutorial's masks.
inline tasks::RunOptions tutorial_options(std::string_view task) {
  tasks::RunOptions options = tasks::task_named(task).defaults();
  if (task == tasks::AdditionTask::kName) {
    options.of<tasks::AdditionTask>().tutorial_masks = true;
    tasks::AdditionTask::adapt(options, {"tutorial-masks"});
  }
  resolve(options);
  return options;
}

inline tasks::RunOptions without_dropout(tasks::RunOptions options) {
  options.config.dropout_prob = 0;
  return options;
}

struct Curve {
  std::string name;
  std::vector<double> losses;                       // of the first steps
  double first, later;                              // the largest relative difference in steps 1 to 20, and after them
  std::vector<double> means = {}, accuracies = {};  // of epochs: within 5 % or 0.02, and within 0.02
};

// Trains to the last of the losses, or to the end of so many epochs, of which `last` gets the last one.
inline void expect_curve(Trainer& trainer, const Curve& curve, std::size_t epochs = 0,
                         train::EpochMetrics* last = nullptr) {
  double worst[2] = {0, 0};
  std::size_t step = 0, ended = 0;
  while (epochs > 0 ? ended < epochs : step < curve.losses.size()) {
    const train::StepMetrics found = trainer.step();
    EXPECT_EQ(found.lr, 1e-4);
    if (step < curve.losses.size()) {
      const double difference = std::abs(found.loss - curve.losses[step]) / curve.losses[step];
      ASSERT_LE(difference, step < 20 ? curve.first : curve.later) << curve.name << ", step " << step + 1;
      worst[step >= 20] = std::max(worst[step >= 20], difference);
    }
    ++step;
    const auto epoch = trainer.ended_epoch();
    if (!epoch) continue;
    if (last != nullptr) *last = *epoch;
    if (ended < curve.means.size()) {
      const double mean = curve.means[ended];
      EXPECT_NEAR(epoch->loss, mean, std::max(0.05 * mean, 0.02)) << curve.name << ", epoch " << ended;
    }
    if (ended < curve.accuracies.size()) {
      EXPECT_NEAR(epoch->accuracy, curve.accuracies[ended], 0.02) << curve.name << ", epoch " << ended;
    }
    ++ended;
  }
  std::printf("%s: worst relative difference of losses %.2g (first 20), %.2g (later)\n", curve.name.c_str(), worst[0],
              worst[1]);
}

// The losses of a hundred steps, without epochs.
inline void expect_hundred_steps(const tasks::RunOptions& options, const Curve& curve) {
  Trainer trainer(options);
  expect_curve(trainer, curve);
  EXPECT_EQ(trainer.steps(), 100);
}

// The losses of tests/data/curves_seeds.json (tests/data/make_curves.py), for each of its seeds.
inline void expect_first_losses_of_other_seeds(tasks::RunOptions options, double relative) {
  const Json seeds = stored("curves_seeds.json")[std::string(options.info->name)];
  ASSERT_EQ(seeds.size(), 2U);
  for (const auto& [seed, losses] : seeds.items()) {
    ASSERT_EQ(losses.size(), 20U);
    options.seed = std::stoull(seed);
    Trainer trainer(options);
    expect_curve(trainer, {.name = "seed " + seed, .losses = losses, .first = relative, .later = relative});
  }
}

}  // namespace tapegrad::tests
