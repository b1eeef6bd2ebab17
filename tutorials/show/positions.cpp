// Positions (tutorial 003, sections 8.3.1 and 8.3.2): indices added to embeddings, and sinusoidal encodings.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/positions.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/train/drawing/heatmap.h>
#include <tapegrad/train/drawing/tables.h>
#include <tapegrad/tutorials/show/show.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tapegrad::tasks {
namespace {

constexpr std::string_view kLineAndGap = "--------------------------------------------------\n\n";

// Each word's position is added to every feature of its embedding.
std::string tell_indices() {
  const std::vector<std::string> words{"I", "love", "deep", "learning"}, features{"dim1", "dim2", "dim3", "dim4"};
  const Tensor embeddings =
      tensor({{0.2, 0.3, 0.1, 0.4}, {0.5, 0.2, 0.8, 0.1}, {0.3, 0.7, 0.2, 0.5}, {0.6, 0.4, 0.3, 0.2}}, kFloat64);
  const Tensor positions = arange(4);
  const Tensor added = embeddings + positions.unsqueeze(1);
  const drawing::BracketTable table{words, features, 10};

  std::string out = said("Position indices (8.3.1)\n\n1. Embeddings:\n") + drawing::bracket_table(embeddings, table);
  out += said("\nEach row is the vector of one word.\n{}2. Position indices:\n[0 1 2 3]\n\nPositions count from 0.\n{}",
              kLineAndGap, kLineAndGap);
  out += said("3. Embeddings with the position added:\n{}\nEach index is added to every feature of its word.\n{}",
              drawing::bracket_table(added, table), kLineAndGap);
  out += said("4. The difference:\n");
  for (int64_t i = 0; i < 4; ++i) {
    out += said("\n{} ({}):\n  Original:       {}\n  With position:  {}\n  Difference:     {}\n",
                words[static_cast<std::size_t>(i)], i, drawing::numpy_text(embeddings[i]),
                drawing::numpy_text(added[i]), drawing::numpy_text(added[i] - embeddings[i]));
  }
  return out + said(
                   "\nIndices grow without bound and soon outweigh the words, and they do not show\n"
                   "that 2 and 4 are as far apart as 102 and 104.\n");
}

double wave_period(int64_t pair, int64_t dim) {
  return std::pow(10000.0, 2.0 * static_cast<double>(pair) / static_cast<double>(dim));
}
double div_term(int64_t pair, int64_t dim) {
  return std::exp(2.0 * static_cast<double>(pair) * -(std::log(10000.0) / static_cast<double>(dim)));
}

std::string tell_periods(int64_t dim) {
  const int64_t pairs[] = {0, dim / 4, dim / 2 - 1};
  constexpr std::string_view kWhich[] = {translatable("First"), translatable("Middle"), translatable("Last")};
  std::string out = said("Sines and cosines of many periods (8.3.2), for a model of width {}\n\n", dim);
  auto to = std::back_inserter(out);
  out += said("1. Period of each pair (sine, cosine) of dimensions:\n");
  for (int k = 0; k < 3; ++k)
    out += said("{} dimension (i={}): {:.2f}\n", said(kWhich[k]), pairs[k], wave_period(pairs[k], dim));
  fmt::format_to(to, "\n2. 10000^(2i/{}):\n", dim);
  for (const int64_t i : pairs) fmt::format_to(to, "i={:>3}: {:.10f}\n", i, wave_period(i, dim));
  out += said("\n3. The factor of the position, exp(-2i ln(10000)/dim):\n");
  for (int k = 0; k < 3; ++k)
    fmt::format_to(to, "{} (i={}): {:.10f}\n", said(kWhich[k]), pairs[k], div_term(pairs[k], dim));
  out += said(
      "\nThe tutorial calls 10000^(2i/dim) the period. The wavelength is 2 pi times that:\n"
      "{:.2f} positions for the first pair, {:.0f} for the last.\n",
      2 * std::numbers::pi * wave_period(pairs[0], dim), 2 * std::numbers::pi * wave_period(pairs[2], dim));
  return out;
}

// The dot product of two encodings depends only on the distance of their positions.
std::string tell_distances(int64_t dim) {
  const Tensor table = nn::sinusoidal_table(108, dim).to(kFloat64);
  constexpr int64_t kPairs[][2] = {{2, 7}, {102, 107}, {2, 4}, {102, 104}};
  std::string out = said("4. Dot products of the encodings of two positions:\n");
  for (const auto& [a, b] : kPairs) out += said("{:>3} and {:>3}: {:.3f}\n", a, b, sum(table[a] * table[b]).item());
  return out + said("\nOnly the distance matters: the second condition of 8.3.1.\n");
}

drawing::Series wave(std::string name, int64_t length, const auto& f) {
  drawing::Series series{std::move(name), {}, {}};
  constexpr int kPoints = 480;
  for (int i = 0; i < kPoints; ++i) {
    const double t = static_cast<double>(length - 1) * i / (kPoints - 1);
    series.x.push_back(t);
    series.y.push_back(f(t));
  }
  return series;
}

drawing::Drawing draw_waves(std::string title, std::vector<drawing::Series> series) {
  return draw(drawing::LineChart{.title = std::move(title),
                                 .x_label = said("position"),
                                 .y_label = said("value"),
                                 .series = std::move(series),
                                 .y_low = -1,
                                 .y_high = 1,
                                 .height = 170});
}

std::vector<drawing::Drawing> draw_curves(int64_t length, int64_t dim) {
  const auto sine = [&](int64_t pair, double shift) {
    return [rate = div_term(pair, dim), shift](double t) { return std::sin((t + shift) * rate); };
  };
  std::vector<drawing::Series> sines, shifts;
  for (const int64_t pair : {int64_t{0}, dim / 16, dim / 8, 3 * dim / 16})
    sines.push_back(wave(said("dimension {}", 2 * pair), length, sine(pair, 0)));
  const int64_t slow = dim / 8;
  const std::vector<drawing::Series> pair{wave(said("dimension {} (sine)", 2 * slow), length, sine(slow, 0)),
                                          wave(said("dimension {} (cosine)", 2 * slow + 1), length,
                                               [&](double t) { return std::cos(t * div_term(slow, dim)); })};
  for (const int shift : {0, 5, 10, 15})
    shifts.push_back(wave(shift == 0 ? said("position") : said("position + {}", shift), length, sine(slow, shift)));
  return {draw_waves(said("1. Sines: the higher the dimension, the longer the wave"), sines),
          draw_waves(said("2. A pair: sine and cosine of one period"), pair),
          draw_waves(said("3. Shifts: dimension {}, some positions later", 2 * slow), shifts)};
}

drawing::Drawing draw_encoding(int64_t length, int64_t dim) {
  constexpr int64_t kMostPairs = 64;
  const int64_t step = (dim / 2 + kMostPairs - 1) / kMostPairs;
  const Tensor table = nn::sinusoidal_table(length, dim);
  const std::vector<float> values = table.to_vector<float>();
  drawing::Heatmap map;
  map.row_axis = said("position");
  map.column_axis = said("dimension");
  map.title = said("4. The encoding of positions");
  if (step > 1)
    map.title += step == 2   ? said(" (every second of {} pairs of dimensions)", dim / 2)
                 : step == 3 ? said(" (every third of {} pairs of dimensions)", dim / 2)
                             : said(" (every {}th of {} pairs of dimensions)", step, dim / 2);
  std::vector<int64_t> shown;
  for (int64_t d = 0; d < dim; ++d)
    if (d / 2 % step == 0) shown.push_back(d);
  for (const int64_t d : shown) map.column_labels.push_back(fmt::format("{}", d));
  for (int64_t t = 0; t < length; ++t) {
    map.row_labels.push_back(fmt::format("{}", t));
    for (const int64_t d : shown) map.values.push_back(values[static_cast<std::size_t>(t * dim + d)]);
  }
  map.is_signed = true;
  map.cell_width = std::max(1.0, std::floor(640 / static_cast<double>(shown.size())));
  map.cell_height = std::clamp(std::floor(400 / static_cast<double>(length)), 1.0, 20.0);
  return draw(map);
}

}  // namespace

Exhibit show_positional_encoding(const ShowRequest& request) {
  const int64_t length = request.length.value_or(100);
  const int64_t dim = request.dim.value_or(512);
  if (dim % 4 != 0) bad_request("--dim", fmt::format("expected a multiple of 4, got {}", dim));
  Exhibit out{said("Positions (8.3)"), tell_indices() + "\n" + tell_periods(dim) + "\n" + tell_distances(dim),
              draw_curves(length, dim), 1};
  out.drawings.push_back(drawing::grid({draw_encoding(length, dim), drawing::draw(drawing::HeatScale{.low = -1})}, 1));
  return out;
}

}  // namespace tapegrad::tasks
