// Fits the density of the neural spline flow of nsf.h to two moons.
//
//   ported_nsf OUT [--resume]   writes the run into the folder OUT; fails above its target
#include "nsf.h"

#include "training.h"

#include <numbers>

namespace tg = tapegrad;

tg::Tensor two_moons(int64_t n) {  // [n, 2]
  const tg::Tensor angle = tg::uniform({n}, 0, std::numbers::pi), lower = tg::randint(0, 2, {n}).to(tg::kFloat32);
  const tg::Tensor x = tg::cos(angle) * (1 - 2 * lower) + lower - 0.5;
  const tg::Tensor y = tg::sin(angle) * (1 - 2 * lower) + 0.5 * lower - 0.25;
  return tg::stack({x, y}, 1) + tg::normal({n, 2}, 0, 0.1);
}

int main(int argc, char** argv) {
  tg::manual_seed(0);
  ported::NeuralSplineFlow model{{.features = 2, .hidden_features = 32, .num_flow_steps = 3}};
  constexpr int64_t kBatch = 256;
  return ported::train_to_target(argc, argv, model,
                                 {.steps = 300, .lr = 5e-3, .target = 1.2, .unit = "points", .units = kBatch},
                                 [&](bool) { return -tg::mean(model.log_prob(two_moons(kBatch))); });
}
