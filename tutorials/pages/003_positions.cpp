// Tutorial 003, sections 8.3.1 and 8.3.2: why positions are needed, indices, and sines and cosines.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/positions.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/programs/claims.h>
#include <tapegrad/tutorials/show/show.h>

#include <numbers>

namespace tapegrad::tasks::tutorial {
namespace {

// I love deep learning, in four dimensions
Tensor embeddings_of_words() {
  return tensor({{0.2, 0.3, 0.1, 0.4}, {0.5, 0.2, 0.8, 0.1}, {0.3, 0.7, 0.2, 0.5}, {0.6, 0.4, 0.3, 0.2}}, kFloat64);
}

std::vector<Number> numbers_of_indices() {
  const Tensor x = embeddings_of_words(), positions = arange(4);
  const Tensor added = x + positions.unsqueeze(1), difference = added - x;
  std::vector<Number> out{same("1. Original embedding matrix", rows_of(x, 2)),
                          same("2. Position indices", rows_of(positions, 0)),
                          same("3. Embeddings with position information added", rows_of(added, 2))};
  constexpr std::string_view kWords[] = {"I", "love", "deep", "learning"};
  for (int64_t i = 0; i < 4; ++i) {
    out.push_back(same(fmt::format("4. {} ({}): original, position added, difference", kWords[i], i),
                       fmt::format("{}\n{}\n{}", numpy_rows(x[i]), numpy_rows(added[i]), numpy_rows(difference[i]))));
  }
  return out;
}

std::string changes_of_order() {
  std::string out;
  for (const std::string_view kind : {"none", "index", "learned", "sinusoidal"})
    out += fmt::format("{:<10} {:.1e}\n", kind, change_of_order(nn::positions_named(kind)));
  return out;
}

std::vector<Figure> figures_of_indices() {
  const Tensor x = embeddings_of_words(), added = x + arange(4).unsqueeze(1);
  const Tensor ones_of_features = ones({4}, kFloat64), zeros_of_features = zeros({4}, kFloat64);
  const auto normal = [&](const Tensor& y) { return layer_norm_std(y, ones_of_features, zeros_of_features); };
  const std::vector<std::string> words{"I", "love", "deep", "learning"}, features{"dim1", "dim2", "dim3", "dim4"};
  return {{{},
           {draw_matrix(said("Embeddings"), x, words, features, 0, 4),
            draw_matrix(said("With the index added"), added, words, features, 0, 4)}},
          {{},
           {draw_matrix(said("Embeddings, normalised"), normal(x), words, features, -2, 2),
            draw_matrix(said("With the index, normalised"), normal(added), words, features, -2, 2)}}};
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

drawing::Drawing waves(std::string title, std::vector<drawing::Series> series, double low = -1) {
  return draw(drawing::LineChart{.title = std::move(title),
                                 .x_label = said("position"),
                                 .y_label = said("value"),
                                 .series = std::move(series),
                                 .y_low = low,
                                 .y_high = low < 0 ? 1.0 : 0.0,
                                 .width = 330,
                                 .height = 170});
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
  return {
      waves(said("1. Sines"), sines),
      waves(said("2. A pair of t / 20"), {wave(said("sine"), t, sin(t / 20)), wave(said("cosine"), t, cos(t / 20))}),
      waves(said("3. Shifts of sin(t / 100)"), shifts, 0), show_positional_encoding(request).drawings.back()};
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

std::vector<Figure> figures_of_waves() { return {{{}, panels_of_the_tutorial()}, {products_by_distance()}}; }

std::string wavelengths() {
  std::string out;
  for (const int scale : {10, 20, 40, 80, 100})
    out += said("sin(t / {:>3}): wavelength {:.1f}\n", scale, 2 * std::numbers::pi * scale);
  return out + said("i = 255 of d_model 512: wavelength {:.0f}\n", 2 * std::numbers::pi * 9646.6161991120);
}

}  // namespace

const Computation k003_8_3_1{.section = "003-8.3.1",
                             .numbers = numbers_of_indices,
                             .figures = figures_of_indices,
                             .touch = {words_with_learned},
                             .proofs = {changes_of_order}};

const Computation k003_8_3_2{.section = "003-8.3.2",
                             .numbers = numbers_of_waves,
                             .figures = figures_of_waves,
                             .touch = {waves_of_512},
                             .proofs = {wavelengths}};

}  // namespace tapegrad::tasks::tutorial
