// Tutorial 003, sections 8.4.1 and 8.4.2: the parts of a layer, layer normalisation, and the encoder.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/tasks/architecture/architecture.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/depth.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/show/show.h>

namespace tapegrad::tasks::tutorial {
namespace {

std::vector<Number> numbers_of_norm() {
  NumpyRandom random(42);
  const Tensor x = random.randn({2, 5, 6}) * 5;
  const Tensor gamma = 1 + 0.1 * random.randn({6}), beta = 0.1 * random.randn({6});
  const Tensor middle = mean(x, {-1}, true), deviation = sqrt(var(x, {-1}, true, 0));
  const Tensor normal = layer_norm_std(x, ones({6}, kFloat64), zeros({6}, kFloat64));
  const auto shape = [](const Tensor& y) { return plain(str(y.shape())); };
  return {same("Input Data Shape", shape(x)),
          same("Mean Shape", shape(middle)),
          same("Standard Deviation Shape", shape(deviation)),
          same("Normalized Data Shape", shape(normal)),
          same("Gamma (Scale) Values", numpy_rows(gamma)),
          same("Beta (Shift) Values", numpy_rows(beta)),
          same("Scaled & Shifted Data Shape", shape(layer_norm_std(x, gamma, beta)))};
}

// The first sequence, with the scale and shift of the tutorial's figure.
std::string rows_of_layer_norm() {
  NumpyRandom random(42);
  const Tensor x = random.randn({2, 5, 6}) * 5;
  const Tensor gamma = 1 + 0.1 * random.randn({6}), beta = 0.1 * random.randn({6});
  return fmt::format("{{\"rows\":{},\"gamma\":{},\"beta\":{},\"eps\":1e-6,\"outside\":true}}", json_of(x[0]),
                     json_of(gamma), json_of(beta));
}

std::vector<Figure> figures_of_norm() {
  const std::vector<drawing::Drawing> all = show_layer_norm({}).drawings;  // 3 densities, 3 by token, bars, 3 heatmaps
  return {{{}, {all[0], all[1], all[2], all[6], all[7], all[8], all[9]}}, {{}, {all[3], all[4], all[5]}}};
}

// The same number, with the two epsilons that the tutorial has in text and in code, inside and outside of the root.
std::string epsilons() {
  const Tensor x = tensor({{1e-6, -1e-6, 2e-6, -2e-6}}, kFloat64);
  const Tensor one = ones({4}, kFloat64), zero = zeros({4}, kFloat64);
  const auto row = [](std::string_view name, const Tensor& y) {
    return fmt::format("{:<34} {}\n", name, rows_of(y, 4));
  };
  return row("(x - mean) / (std + 1e-6)", layer_norm_std(x, one, zero, 1e-6)) +
         row("(x - mean) / (std + 1e-12)", layer_norm_std(x, one, zero, 1e-12)) +
         row("(x - mean) / sqrt(var + 1e-12)", layer_norm(x, one, zero, 1e-12));
}

double root_mean_square(const Tensor& x) { return sqrt(mean(square(x))).item(); }

std::vector<Number> numbers_of_encoder() {
  const std::vector<double> pre = by_layer(false, root_mean_square), post = by_layer(true, root_mean_square);
  std::string rows = "layer  Pre-LN  Post-LN\n";
  for (const std::size_t layer : {0, 1, 2, 4, 8, 16, 24})
    rows += fmt::format("{:>5} {:>7.3f} {:>8.3f}\n", layer, pre[layer], post[layer]);
  return {own(rows)};
}

// The sentence of the page's first exercise, with a token of padding, and scores of seed 0.
std::string bear_as_mask() {
  Generator generator(0);
  const Tensor words = (arange(8) < 7).to(kFloat32);
  return fmt::format(
      "{{\"tokens\":[\"The\",\"patient\",\"bear\",\"can\",\"bear\",\"the\",\"pain\",\"PAD\"],\"scores\":{},\"allowed\":"
      "{},"
      "\"when\":\"before\"}}",
      json_of(randn({8, 8}, kFloat32, &generator)), json_of(words.expand({8, 8})));
}

// The encoder of the copy task's Transformer.
drawing::Drawing parts_of_encoder() { return draw_columns(chart_of(architecture::architecture_of_copy())).front(); }

std::vector<Figure> figures_of_encoder() {
  return {{parts_of_encoder()},
          {chart_by_layer(said("Residual stream, by layer"), said("root mean square"), root_mean_square)}};
}

}  // namespace

const Computation k003_8_4_1{.section = "003-8.4.1",
                             .numbers = numbers_of_norm,
                             .figures = figures_of_norm,
                             .touch = {rows_of_layer_norm},
                             .proofs = {epsilons}};

const Computation k003_8_4_2{
    .section = "003-8.4.2", .numbers = numbers_of_encoder, .figures = figures_of_encoder, .touch = {bear_as_mask}};

}  // namespace tapegrad::tasks::tutorial
