// Tutorial 003, sections 8.3.1 and 8.3.2: why positions are needed, indices, and sines and cosines.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/train.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/programs/claims.h>
#include <tapegrad/tutorials/show/show.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tapegrad::tasks::tutorial {
namespace {

// Each word's position is added to every feature of its embedding.
struct Indices {
  std::vector<std::string> words{"I", "love", "deep", "learning"}, features{"dim1", "dim2", "dim3", "dim4"};
  Tensor x = given::words_to_count(kFloat64);
  Tensor positions = arange(4), added = x + positions.unsqueeze(1), difference = added - x;
};

std::vector<Number> numbers_of_indices() {
  const Indices made;
  std::vector<Number> out{same("1. Original embedding matrix", rows_of(made.x, 2)),
                          same("2. Position indices", rows_of(made.positions, 0)),
                          same("3. Embeddings with position information added", rows_of(made.added, 2))};
  for (int64_t i = 0; i < 4; ++i) {
    const std::string& word = made.words[static_cast<std::size_t>(i)];
    out.push_back(same(
        fmt::format("4. {} ({}): original, position added, difference", word, i),
        fmt::format("{}\n{}\n{}", numpy_rows(made.x[i]), numpy_rows(made.added[i]), numpy_rows(made.difference[i]))));
  }
  return out;
}

constexpr std::string_view kLineAndGap = "--------------------------------------------------\n\n";

Notes tell_indices() {
  const Indices made;
  const drawing::BracketTable table{made.words, made.features, 10};

  Notes out = said("Position indices (8.3.1)\n\n1. Embeddings:\n");
  out += Matrix{made.x, table};
  out += said("\nEach row is the vector of one word.\n{}2. Position indices:\n[0 1 2 3]\n\nPositions count from 0.\n{}",
              kLineAndGap, kLineAndGap);
  out += said("3. Embeddings with the position added:\n");
  out += Matrix{made.added, table};
  out += said("\nEach index is added to every feature of its word.\n{}", kLineAndGap);
  out += said("4. The difference:\n");
  for (int64_t i = 0; i < 4; ++i) {
    out += said("\n{} ({}):\n  Original:       {}\n  With position:  {}\n  Difference:     {}\n",
                made.words[static_cast<std::size_t>(i)], i, drawing::numpy_text(made.x[i]),
                drawing::numpy_text(made.added[i]), drawing::numpy_text(made.difference[i]));
  }
  return out += said(
             "\nIndices grow without bound and soon outweigh the words, and they do not show\n"
             "that 2 and 4 are as far apart as 102 and 104.\n");
}

double wave_period(int64_t pair, int64_t dim) {
  return fixed::pow(10000.0, 2.0 * static_cast<double>(pair) / static_cast<double>(dim));
}
double div_term(int64_t pair, int64_t dim) {
  return fixed::exp(2.0 * static_cast<double>(pair) * -(fixed::log(10000.0) / static_cast<double>(dim)));
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

drawing::Series sampled_wave(std::string name, int64_t length, const auto& f) {
  drawing::Series series{std::move(name), {}, {}};
  constexpr int kPoints = 480;
  for (int i = 0; i < kPoints; ++i) {
    const double t = static_cast<double>(length - 1) * i / (kPoints - 1);
    series.add(t, f(t));
  }
  return series;
}

drawing::Drawing waves(std::string title, std::vector<drawing::Series> series, double width, double low = -1) {
  return draw(drawing::LineChart{.title = std::move(title),
                                 .x_label = said("position"),
                                 .y_label = said("value"),
                                 .series = std::move(series),
                                 .y_low = low,
                                 .y_high = low < 0 ? 1.0 : 0.0,
                                 .width = width,
                                 .height = 170});
}

std::vector<drawing::Drawing> draw_curves(int64_t length, int64_t dim) {
  const auto sine = [&](int64_t pair, double shift) {
    return [rate = div_term(pair, dim), shift](double t) { return fixed::sin((t + shift) * rate); };
  };
  std::vector<drawing::Series> sines, shifts;
  for (const int64_t pair : {int64_t{0}, dim / 16, dim / 8, 3 * dim / 16})
    sines.push_back(sampled_wave(said("dimension {}", 2 * pair), length, sine(pair, 0)));
  const int64_t slow = dim / 8;
  const std::vector<drawing::Series> pair{sampled_wave(said("dimension {} (sine)", 2 * slow), length, sine(slow, 0)),
                                          sampled_wave(said("dimension {} (cosine)", 2 * slow + 1), length,
                                                       [&](double t) { return fixed::cos(t * div_term(slow, dim)); })};
  for (const int shift : {0, 5, 10, 15})
    shifts.push_back(
        sampled_wave(shift == 0 ? said("position") : said("position + {}", shift), length, sine(slow, shift)));
  constexpr double kWide = 416;
  return {waves(said("1. Sines: the higher the dimension, the longer the wave"), sines, kWide),
          waves(said("2. A pair: sine and cosine of one period"), pair, kWide),
          waves(said("3. Shifts: dimension {}, some positions later", 2 * slow), shifts, kWide)};
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
  Exhibit out{said("Positions (8.3)"), tell_indices(), draw_curves(length, dim), 1};
  out.text += "\n" + tell_periods(dim) + "\n" + tell_distances(dim);
  out.drawings.push_back(drawing::grid({draw_encoding(length, dim), drawing::draw(drawing::HeatScale{.low = -1})}, 1));
  return out;
}

namespace {

std::string changes_of_order() {
  std::string out;
  for (const std::string_view kind : {"none", "index", "learned", "sinusoidal"})
    out += fmt::format("{:<10} {:.1e}\n", kind, change_of_order(nn::positions_named(kind)));
  return out;
}

std::vector<Figure> figures_of_indices() {
  const Indices made;
  const Tensor ones_of_features = ones({4}, kFloat64), zeros_of_features = zeros({4}, kFloat64);
  const auto normal = [&](const Tensor& y) { return layer_norm_std(y, ones_of_features, zeros_of_features); };
  const auto map = [&](std::string_view title, const Tensor& y, double low, double high) {
    return draw_matrix(title, y, made.words, made.features, low, high);
  };
  return {{.panels = {map(said("Embeddings"), made.x, 0, 4), map(said("With the index added"), made.added, 0, 4)}},
          {.panels = {map(said("Embeddings, normalised"), normal(made.x), -2, 2),
                      map(said("With the index, normalised"), normal(made.added), -2, 2)}}};
}

std::string words_with_learned() {
  Generator generator(0);
  const Tensor vectors = randn({4, 4}, kFloat64, &generator), places = randn({4, 4}, kFloat64, &generator);
  return fmt::format("{{\"tokens\":[\"I\",\"love\",\"deep\",\"learning\"],\"vectors\":{},\"positions\":{}}}",
                     json_of(vectors), json_of(places));
}

std::string waves_of_512() { return "{\"dim\":512,\"length\":100}"; }

std::vector<Number> numbers_of_waves() {
  constexpr int64_t kDim = 512;
  const Tensor pair = tensor({0, 128, 255}).to(kFloat64);
  const Tensor periods = pow(full({}, 10000, kFloat64), pair * 2 / kDim);
  const Tensor terms = 1 / periods;
  const auto row = [](const Tensor& x, int64_t i, int digits) { return rows_of(x[i], digits); };
  return {
      same("First dimension (i=0)", row(periods, 0, 2)),      same("Middle dimension (i=128)", row(periods, 1, 2)),
      same("Last dimension (i=255)", row(periods, 2, 2)),     same("10000^(2i/d_model), i=  0", row(periods, 0, 10)),
      same("10000^(2i/d_model), i=128", row(periods, 1, 10)), same("10000^(2i/d_model), i=255", row(periods, 2, 10)),
      same("div_term, first (i=0)", row(terms, 0, 10)),       same("div_term, middle (i=128)", row(terms, 1, 10)),
      same("div_term, last (i=255)", row(terms, 2, 10))};
}

drawing::Series wave(std::string name, const Tensor& positions, const Tensor& values) {
  return {.name = std::move(name),
          .x = positions.to_vector<double>(),
          .y = values.to_vector<double>(),
          .mark = drawing::Series::Mark::line};
}

// The tutorial's four panels, with its numbers.
std::vector<drawing::Drawing> panels_of_the_tutorial() {
  const Tensor t = arange(0, 100, 1, kFloat64), near = arange(0, 20, 1, kFloat64);
  std::vector<drawing::Series> sines, shifts;
  for (const int length : {10, 20, 40, 80}) sines.push_back(wave(fmt::format("t / {}", length), t, sin(t / length)));
  for (const int shift : {0, 5, 10, 15})
    shifts.push_back(wave(shift == 0 ? "t" : fmt::format("t + {}", shift), near, sin((near + shift) / 100)));
  ShowRequest request;
  request.length = 20;
  request.dim = 32;
  return {waves(said("1. Sines"), sines, 330),
          waves(said("2. A pair of t / 20"), {wave(said("sine"), t, sin(t / 20)), wave(said("cosine"), t, cos(t / 20))},
                330),
          waves(said("3. Shifts of sin(t / 100)"), shifts, 330, 0), show_positional_encoding(request).drawings.back()};
}

// Dot products of the encodings of two positions, by their distance.
drawing::Drawing products_by_distance() {
  const Tensor table = nn::sinusoidal_table(220, 512).to(kFloat64);
  const Tensor distance = arange(0, 100, 1, kFloat64);
  std::vector<drawing::Series> series;
  for (const int64_t from : {0, 50, 120}) {  // marks at different places, because the curves coincide
    const int64_t first = from / 10, step = from == 0 ? 1 : 14;
    const Tensor products = matmul(narrow(table, 0, from, 100), table[from]);
    series.push_back(
        wave(said("from position {}", from), distance.slice(0, first, 100, step), products.slice(0, first, 100, step)));
    if (from > 0) series.back().mark = drawing::Series::Mark::dots;
  }
  return draw(drawing::LineChart{.title = said("Dot product of two positions, d_model 512"),
                                 .x_label = said("distance"),
                                 .y_label = said("dot product"),
                                 .series = series});
}

std::vector<Figure> figures_of_waves() { return {{.panels = panels_of_the_tutorial()}, {products_by_distance()}}; }

std::string wavelengths() {
  std::string out;
  for (const int scale : {10, 20, 40, 80, 100})
    out += said("sin(t / {:>3}): wavelength {:.1f}\n", scale, 2 * std::numbers::pi * scale);
  return out + said("i = 255 of d_model 512: wavelength {:.0f}\n", 2 * std::numbers::pi * 9646.6161991120);
}

}  // namespace

const Computation k003_8_3_1{
    "003-8.3.1", numbers_of_indices, figures_of_indices, {words_with_learned}, {changes_of_order}};
const Computation k003_8_3_2{"003-8.3.2", numbers_of_waves, figures_of_waves, {waves_of_512}, {wavelengths}};

}  // namespace tapegrad::tasks::tutorial
