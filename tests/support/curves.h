// Compares the first losses of a task's run with PyTorch's, for further random seeds.
#pragma once

#include <gtest/gtest.h>
#include <tapegrad/tests/support/in_training.h>
#include <tapegrad/tests/support/stored.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tapegrad::tests {

// Expects every loss within `relative` of those in data/curves_seeds.json (data/make_curves.py), for each of its seeds.
inline void expect_first_losses_of_other_seeds(tasks::RunOptions options, double relative) {
  const nlohmann::json seeds = stored("curves_seeds.json")[std::string(options.info->name)];
  ASSERT_EQ(seeds.size(), 2U);
  for (const auto& [seed, row] : seeds.items()) {
    const std::vector<double> losses = row;
    ASSERT_EQ(losses.size(), 20U);
    options.seed = std::stoull(seed);
    Trainer trainer(options);
    double worst = 0;
    for (const double loss : losses) {
      const train::StepMetrics step = trainer.step();
      ASSERT_NEAR(step.loss, loss, relative * loss) << "seed " << seed << ", step " << step.step;
      worst = std::max(worst, std::abs(step.loss - loss) / loss);
    }
    std::printf("%s, seed %s: worst relative difference %.2g\n", options.info->name.data(), seed.c_str(), worst);
  }
}

}  // namespace tapegrad::tests
