// Fits the density of the neural spline flow of nsf.h to two moons.
//
//   ported_nsf OUT [--resume]   writes the run and density.svg into the folder OUT; fails above its target
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

// The density in a part of the plane, as shades.
void draw_density(const ported::NeuralSplineFlow& model, const std::string& file) {
  constexpr int64_t kColumns = 80, kRows = 50;
  const tg::Tensor x = 0.05 * (tg::arange(kColumns).to(tg::kFloat32) - 39.5),
                   y = 0.05 * (24.5 - tg::arange(kRows).to(tg::kFloat32));
  const tg::Tensor points = tg::stack({x.expand({kRows, kColumns}), y.unsqueeze(1).expand({kRows, kColumns})}, 2);
  const tg::Tensor density = tg::exp(model.log_prob(points.reshape({-1, 2})));
  tg::drawing::Heatmap map{.title = "Density learned from points of two moons", .row_axis = "y", .column_axis = "x"};
  for (const float at : x.to_vector<float>()) map.column_labels.push_back(tg::drawing::fixed(at, 1));
  for (const float at : y.to_vector<float>()) map.row_labels.push_back(tg::drawing::fixed(at, 1));
  map.values = (density / tg::max(density)).to_vector<float>();
  map.cell_width = map.cell_height = 6;
  tg::train::replace_file(file, tg::drawing::svg_file(draw(map)));
}

int main(int argc, char** argv) {
  tg::manual_seed(0);
  ported::NeuralSplineFlow model{{.features = 2, .hidden_features = 32, .num_flow_steps = 3}};
  constexpr int64_t kBatch = 256;
  const int code = ported::train_to_target(argc, argv, model,
                                           {.steps = 300, .lr = 5e-3, .target = 1.2, .unit = "points", .units = kBatch},
                                           [&](bool) { return -tg::mean(model.log_prob(two_moons(kBatch))); });
  if (code != 2) draw_density(model, std::string(argv[1]) + "/density.svg");
  return code;
}
