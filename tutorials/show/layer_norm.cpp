// Layer normalisation (tutorial 003, section 8.4.1): data, normalised data, scaled and shifted data.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/train/drawing/tables.h>
#include <tapegrad/tutorials/show/show.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::tasks {
namespace {

constexpr int64_t kSequences = 2;
constexpr uint64_t kTutorialsSeed = 42;  // of NumPy, in the package that draws the tutorial's figure
constexpr double kRootOfTwoPi = 2.5066282746310002;

struct Data {
  Tensor x;            // [2, T, C]
  Tensor gamma, beta;  // [C], near 1 and near 0
};

// NumPy's numbers: those of the tutorial's figure, for seed 42.
Data draw_data(int64_t length, int64_t dim, uint64_t seed) {
  NumpyRandom random(static_cast<uint32_t>(seed));
  Data data;
  data.x = random.randn({kSequences, length, dim}) * 5;
  data.gamma = 1 + 0.1 * random.randn({dim});
  data.beta = 0.1 * random.randn({dim});
  return data;
}

Tensor means(const Tensor& x) { return mean(x, {-1}, true); }
Tensor deviations(const Tensor& x) { return sqrt(var(x, {-1}, true, 0)); }

std::string tell_shapes(const Data& data, const Tensor& normal, const Tensor& scaled) {
  std::string out;
  const auto shape = [&](std::string_view name, const Tensor& x) {
    out += said("{} Shape: {}\n", name, drawing::tuple_text(x.shape()));
  };
  shape(said("Input Data"), data.x);
  shape(said("Mean"), means(data.x));
  shape(said("Standard Deviation"), deviations(data.x));
  shape(said("Normalized Data"), normal);
  out += said("Gamma (Scale) Values:\n {}\nBeta (Shift) Values:\n {}\n", drawing::numpy_text(data.gamma),
              drawing::numpy_text(data.beta));
  shape(said("Scaled & Shifted Data"), scaled);
  return out;
}

// Mean and deviation of each token of the first sequence at the three stages.
std::string tell_tokens(const Tensor& x, const Tensor& normal, const Tensor& scaled) {
  std::vector<std::string> rows;
  for (int64_t t = 0; t < x.size(1); ++t) rows.push_back(said("token {}", t));
  std::vector<Tensor> columns;
  for (const Tensor& stage : {x, normal, scaled}) {
    columns.push_back(means(stage)[0]);
    columns.push_back(deviations(stage)[0]);
  }
  const Tensor table = cat(columns, 1);
  return said("First sequence     data              normalised        scaled, shifted\n") +
         drawing::bracket_table(
             table, {rows, {said("mean"), said("std"), said("mean"), said("std"), said("mean"), said("std")}, 9});
}

// One column of dots per token, with a tick at its mean.
drawing::Drawing draw_tokens(std::string title, const Tensor& x) {
  const std::vector<double> values = x.to_vector<double>(), middles = means(x).to_vector<double>();
  drawing::Series features{said("feature"), {}, {}, false, drawing::Series::Mark::dots},
      ticks{said("mean"), {}, {}, false, drawing::Series::Mark::ticks};
  const std::size_t dim = static_cast<std::size_t>(x.size(2));
  for (std::size_t i = 0; i < values.size(); ++i) {
    features.x.push_back(static_cast<double>(i / dim));
    features.y.push_back(values[i]);
  }
  for (std::size_t t = 0; t < middles.size(); ++t) {
    ticks.x.push_back(static_cast<double>(t));
    ticks.y.push_back(middles[t]);
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
    for (const std::size_t edge : {i, i + 1}) {
      bins.x.push_back(low + bin * static_cast<double>(edge));
      bins.y.push_back(inside[i]);
    }
  }
  const double width = std(x).item() * fixed::pow(count, -0.2);
  for (int64_t i = 0; i < kPoints; ++i) {
    const double at = low + (high - low) * static_cast<double>(i) / (kPoints - 1);
    const Tensor distance = (x - at) / width;
    curve.x.push_back(at);
    curve.y.push_back(mean(exp(-0.5 * square(distance))).item() / (width * kRootOfTwoPi));
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
  const int64_t length = request.length.value_or(5);
  const int64_t dim = request.dim.value_or(6);
  const Data data = draw_data(length, dim, request.seed.value_or(kTutorialsSeed));
  const Tensor normal = layer_norm_std(data.x, ones({dim}, kFloat64), zeros({dim}, kFloat64));
  const Tensor scaled = layer_norm_std(data.x, data.gamma, data.beta);

  std::vector<std::string> tokens, features;
  for (int64_t t = 0; t < length; ++t) tokens.push_back(fmt::format("{}", t));
  for (int64_t c = 0; c < dim; ++c) features.push_back(fmt::format("{}", c));
  const std::vector<double> gamma = data.gamma.to_vector<double>(), beta = data.beta.to_vector<double>();
  const double range = std::max(largest(normal), largest(scaled));

  Exhibit out{said("Layer normalisation (8.4.1)"), tell_shapes(data, normal, scaled), {}};
  out.text += '\n';
  out.text += tell_tokens(data.x, normal, scaled);
  out.text += said(
      "\nEach token is normalised independently, over all of its features:\n"
      "gamma * (x - mean) / (std + 1e-6) + beta.\n");
  out.drawings = {draw_density(said("1. Data"), data.x),
                  draw_density(said("2. Normalised: mean 0, deviation 1"), normal),
                  draw_density(said("3. Scaled by gamma, shifted by beta"), scaled),
                  draw_tokens(said("1. Data, token by token"), data.x),
                  draw_tokens(said("2. Normalised"), normal),
                  draw_tokens(said("3. Scaled and shifted"), scaled),
                  draw(drawing::BarChart{.title = said("Gamma (scale) and beta (shift), by feature"),
                                         .labels = features,
                                         .series = {{said("gamma"), {}, gamma}, {said("beta"), {}, beta}},
                                         .width = 330,
                                         .height = 190}),
                  draw_matrix(said("First sequence: data, token by feature"), data.x[0], tokens, features,
                              -largest(data.x[0]), largest(data.x[0])),
                  draw_matrix(said("First sequence, normalised"), normal[0], tokens, features, -range, range),
                  draw_matrix(said("First sequence, scaled and shifted"), scaled[0], tokens, features, -range, range)};
  return out;
}

}  // namespace tapegrad::tasks
