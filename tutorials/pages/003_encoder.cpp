// Tutorial 003, sections 8.4.1 and 8.4.2: the parts of a layer, layer normalisation, and the encoder.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/depth.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/show/architecture_models.h>
#include <tapegrad/tutorials/show/show.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::tasks::tutorial {
namespace {

constexpr int64_t kSequences = 2;
constexpr uint64_t kTutorialsSeed = 42;  // of NumPy, in the package that draws the tutorial's figure
constexpr double kRootOfTwoPi = 2.5066282746310002;

// NumPy's numbers, for the tutorial's sizes and seed 42 those of its figure, and what layer normalisation makes of
// them.
struct Normalised {
  explicit Normalised(int64_t length = 5, int64_t dim = 6, uint64_t seed = kTutorialsSeed)
      : random(static_cast<uint32_t>(seed)), x(random.randn({kSequences, length, dim}) * 5) {
    gamma = 1 + 0.1 * random.randn({dim});
    beta = 0.1 * random.randn({dim});
    normal = layer_norm_std(x, ones({dim}, kFloat64), zeros({dim}, kFloat64));
    scaled = layer_norm_std(x, gamma, beta);
  }
  NumpyRandom random;
  Tensor x;               // [2, T, C]
  Tensor gamma, beta;     // [C], near 1 and near 0
  Tensor normal, scaled;  // as x
};

Tensor means(const Tensor& x) { return mean(x, {-1}, true); }
Tensor deviations(const Tensor& x) { return sqrt(var(x, {-1}, true, 0)); }

Notes tell_shapes(const Normalised& data) {
  Notes out;
  const auto shape = [&](std::string_view name, const Tensor& x) {
    out += said("{} Shape: {}\n", name, drawing::tuple_text(x.shape()));
  };
  shape(said("Input Data"), data.x);
  shape(said("Mean"), means(data.x));
  shape(said("Standard Deviation"), deviations(data.x));
  shape(said("Normalized Data"), data.normal);
  out.array(said("Gamma (Scale) Values"), data.gamma);
  out.array(said("Beta (Shift) Values"), data.beta);
  shape(said("Scaled & Shifted Data"), data.scaled);
  return out;
}

// Mean and deviation of each token of the first sequence at the three stages.
Notes tell_tokens(const Tensor& x, const Tensor& normal, const Tensor& scaled) {
  std::vector<std::string> rows;
  for (int64_t t = 0; t < x.size(1); ++t) rows.push_back(said("token {}", t));
  std::vector<Tensor> columns;
  for (const Tensor& stage : {x, normal, scaled}) {
    columns.push_back(means(stage)[0]);
    columns.push_back(deviations(stage)[0]);
  }
  const Tensor table = cat(columns, 1);
  Notes out = said("First sequence     data              normalised        scaled, shifted\n");
  return out +=
         Matrix{table, {rows, {said("mean"), said("std"), said("mean"), said("std"), said("mean"), said("std")}, 9}};
}

// One column of dots per token, with a tick at its mean.
drawing::Drawing draw_tokens(std::string title, const Tensor& x) {
  const std::vector<double> values = x.to_vector<double>(), middles = means(x).to_vector<double>();
  drawing::Series features{said("feature"), {}, {}, false, drawing::Series::Mark::dots},
      ticks{said("mean"), {}, {}, false, drawing::Series::Mark::ticks};
  const std::size_t dim = static_cast<std::size_t>(x.size(2));
  for (std::size_t i = 0; i < values.size(); ++i) features.add(static_cast<double>(i / dim), values[i]);
  for (std::size_t t = 0; t < middles.size(); ++t) {
    ticks.add(static_cast<double>(t), middles[t]);
  }
  return draw(drawing::LineChart{.title = std::move(title),
                                 .x_label = said("token (both sequences)"),
                                 .y_label = said("value"),
                                 .series = {features, ticks},
                                 .width = 330,
                                 .height = 190});
}

// How often values occur, in 30 bins, and a smooth curve through them: the mean of normal densities around the values
// with Scott's width, the deviation times n^(-1/5).
drawing::Drawing draw_density(std::string title, const Tensor& x) {
  constexpr int64_t kBins = 30, kPoints = 120;
  const std::vector<double> values = x.to_vector<double>();
  const double low = amin(x).item(), high = amax(x).item(), bin = (high - low) / kBins;
  const double count = static_cast<double>(values.size());
  std::vector<double> inside(kBins);
  for (const double v : values)
    inside[static_cast<std::size_t>(std::clamp<double>(std::floor((v - low) / bin), 0, kBins - 1))] +=
        1 / (count * bin);
  drawing::Series bins{said("values")}, curve{said("smooth")};
  for (std::size_t i = 0; i < inside.size(); ++i) {
    for (const std::size_t edge : {i, i + 1}) bins.add(low + bin * static_cast<double>(edge), inside[i]);
  }
  const double width = std(x).item() * fixed::pow(count, -0.2);
  for (int64_t i = 0; i < kPoints; ++i) {
    const double at = low + (high - low) * static_cast<double>(i) / (kPoints - 1);
    const Tensor distance = (x - at) / width;
    curve.add(at, mean(exp(-0.5 * square(distance))).item() / (width * kRootOfTwoPi));
  }
  return draw(drawing::LineChart{.title = std::move(title),
                                 .x_label = said("value"),
                                 .y_label = said("density"),
                                 .series = {bins, curve},
                                 .width = 330,
                                 .height = 190});
}

double largest(const Tensor& x) { return amax(abs(x)).item(); }

}  // namespace

Exhibit show_layer_norm(const ShowRequest& request) {
  const int64_t length = request.length.value_or(5), dim = request.dim.value_or(6);
  const Normalised data(length, dim, request.seed.value_or(kTutorialsSeed));
  const auto& [random, x, scale, shift, normal, scaled] = data;

  std::vector<std::string> tokens, features;
  for (int64_t t = 0; t < length; ++t) tokens.push_back(fmt::format("{}", t));
  for (int64_t c = 0; c < dim; ++c) features.push_back(fmt::format("{}", c));
  const std::vector<double> gamma = scale.to_vector<double>(), beta = shift.to_vector<double>();
  const double range = std::max(largest(normal), largest(scaled));

  Exhibit out{said("Layer normalisation (8.4.1)"), tell_shapes(data), {}};
  out.text += "\n";
  out.text += tell_tokens(x, normal, scaled);
  out.text += said(
      "\nEach token is normalised independently, over all of its features:\n"
      "gamma * (x - mean) / (std + 1e-6) + beta.\n");
  out.drawings = {draw_density(said("1. Data"), x),
                  draw_density(said("2. Normalised: mean 0, deviation 1"), normal),
                  draw_density(said("3. Scaled by gamma, shifted by beta"), scaled),
                  draw_tokens(said("1. Data, token by token"), x),
                  draw_tokens(said("2. Normalised"), normal),
                  draw_tokens(said("3. Scaled and shifted"), scaled),
                  draw(drawing::BarChart{.title = said("Gamma (scale) and beta (shift), by feature"),
                                         .labels = features,
                                         .series = {{said("gamma"), {}, gamma}, {said("beta"), {}, beta}},
                                         .width = 330,
                                         .height = 190}),
                  draw_matrix(said("First sequence: data, token by feature"), x[0], tokens, features, -largest(x[0]),
                              largest(x[0])),
                  draw_matrix(said("First sequence, normalised"), normal[0], tokens, features, -range, range),
                  draw_matrix(said("First sequence, scaled and shifted"), scaled[0], tokens, features, -range, range)};
  return out;
}

namespace {

std::vector<Number> numbers_of_norm() {
  const Normalised data;
  return {same("Input Data Shape", plain_shape(data.x)),
          same("Mean Shape", plain_shape(means(data.x))),
          same("Standard Deviation Shape", plain_shape(deviations(data.x))),
          same("Normalized Data Shape", plain_shape(data.normal)),
          same("Gamma (Scale) Values", numpy_rows(data.gamma)),
          same("Beta (Shift) Values", numpy_rows(data.beta)),
          same("Scaled & Shifted Data Shape", plain_shape(data.scaled))};
}

// The first sequence, with the scale and shift of the tutorial's figure.
std::string rows_of_layer_norm() {
  const Normalised data;
  return fmt::format("{{\"rows\":{},\"gamma\":{},\"beta\":{},\"eps\":1e-6,\"outside\":true}}", json_of(data.x[0]),
                     json_of(data.gamma), json_of(data.beta));
}

std::vector<Figure> figures_of_norm() {
  const std::vector<drawing::Drawing> all = show_layer_norm({}).drawings;  // 3 densities, 3 by token, bars, 3 heatmaps
  return {{.panels = {all[0], all[1], all[2], all[6], all[7], all[8], all[9]}}, {.panels = {all[3], all[4], all[5]}}};
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
  return json_of_mask({"The", "patient", "bear", "can", "bear", "the", "pain", "PAD"},
                      randn({8, 8}, kFloat32, &generator), arange(8) < 7);
}

// The encoder of the copy task's Transformer.
drawing::Drawing parts_of_encoder() { return draw_columns(chart_of(architecture::architecture_of_copy())).front(); }

std::vector<Figure> figures_of_encoder() {
  return {{parts_of_encoder()},
          {chart_by_layer(said("Residual stream, by layer"), said("root mean square"), root_mean_square)}};
}

}  // namespace

const Computation k003_8_4_1{"003-8.4.1", numbers_of_norm, figures_of_norm, {rows_of_layer_norm}, {epsilons}};
const Computation k003_8_4_2{"003-8.4.2", numbers_of_encoder, figures_of_encoder, {bear_as_mask}};

}  // namespace tapegrad::tasks::tutorial
