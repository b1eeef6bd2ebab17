// Tutorial 003, the deep dives of section 8.3.2: learned, relative and further positions, their comparison, and
// guidelines.
#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/programs/claims.h>
#include <tapegrad/tutorials/show/relative_positions.h>
#include <tapegrad/tutorials/show/show.h>
#include <tapegrad/tutorials/show/toeplitz.h>

#include <span>

namespace tapegrad::tasks::tutorial {
namespace {

// Scores of one query at position `from` and one key at earlier distances, both rotated by RoPE.
std::vector<double> rotated_scores(int64_t from, double base) {
  Generator generator(3);
  const Tensor q = randn({64}, kFloat64, &generator), k = randn({64}, kFloat64, &generator);
  const Tensor queries = nn::rope(q.expand({1, 64}), from, base);
  const Tensor keys = nn::rope(k.expand({64, 64}), from - 63, base);  // of positions from - 63 .. from
  return flip(matmul(keys, queries[0]), {0}).to_vector<double>();
}

std::vector<Figure> figures_of_rope() {
  const auto curve = [](std::string name, int64_t from, double base) {
    return drawing::Series::numbered(std::move(name), rotated_scores(from, base));
  };
  drawing::Series moved = curve(said("query at 1063"), 1063, 10000);
  moved.mark = drawing::Series::Mark::dashes;
  return {{draw(drawing::LineChart{
      .title = said("Score by distance, head of size 64"),
      .x_label = said("distance"),
      .y_label = said("score"),
      .series = {curve(said("query at 63"), 63, 10000), moved, curve("NTK-aware, x 4", 63, nn::ntk_base(10000, 4, 64))},
      .width = 540})}};
}

std::vector<Number> numbers_of_rope() {
  const std::vector<double> here = rotated_scores(63, 10000), there = rotated_scores(1063, 10000);
  const std::vector<double> slow = rotated_scores(63, nn::ntk_base(10000, 4, 64));
  std::string rows = "distance  query at 63  query at 1063  NTK-aware, x 4\n";
  for (const std::size_t distance : {0, 1, 2, 4, 8, 16, 32})
    rows +=
        fmt::format("{:>8} {:>12.4f} {:>14.4f} {:>15.4f}\n", distance, here[distance], there[distance], slow[distance]);
  return {own(rows)};
}

// Four words, with vectors and a table of learned positions as they are drawn before training.
std::string learned_as_positions() {
  Generator generator(0);
  const std::string vectors = json_of(randn({4, 4}, kFloat64, &generator));
  return fmt::format("{{\"tokens\":[\"I\",\"love\",\"deep\",\"learning\"],\"vectors\":{},\"positions\":{}}}", vectors,
                     json_of(0.02 * randn({4, 4}, kFloat64, &generator)));
}

// The same words, with a mixture: half of the sines, and a learned part.
std::string mixed_as_positions() {
  Generator generator(0);
  const std::string vectors = json_of(randn({4, 4}, kFloat64, &generator));
  const Tensor mixed = 0.5 * nn::sinusoidal_table(4, 4).to(kFloat64) + 0.5 * randn({4, 4}, kFloat64, &generator);
  return fmt::format("{{\"tokens\":[\"I\",\"love\",\"deep\",\"learning\"],\"vectors\":{},\"positions\":{}}}", vectors,
                     json_of(mixed));
}

std::vector<Number> numbers_of_order() {
  std::string rows;
  for (const std::string_view kind : nn::position_names())
    rows += fmt::format("{:<16} {:.2e}\n", kind, change_of_order(nn::positions_named(kind)));
  return {own(rows)};
}

// Multiplications for a Toeplitz matrix times values [n, 16], in full and by Fourier transforms, and their difference.
std::vector<Number> numbers_of_toeplitz() {
  std::string rows = "    n      in full     by FFT  difference\n";
  for (const int64_t n : {16, 64, 256, 512}) {
    Generator generator(0);
    Toeplitz bias(randn({2 * n - 1}, kFloat64, &generator));
    const Tensor values = randn({n, 16}, kFloat64, &generator);
    const double difference = amax(abs(bias.times(values) - matmul(bias.matrix(), values))).item();
    rows += fmt::format("{:>5} {:>12} {:>10} {:>11.0e}\n", n, n * n * 16, bias.multiplications(), difference);
  }
  return {own(rows)};
}

std::string toeplitz_as_formula() {
  return json_of(
      {{"n", {"log2 n (토큰 n개)", "log2 n (n tokens)"}, 4, 16, 1, 9, true},
       {"c", {"값의 열 c개", "c columns of values"}, 1, 128, 1, 16}},
      {{{"토큰 n", "tokens n"}, "\"n\""},
       {{"그대로: n²c", "in full: n²c"}, "[\"*\",\"n\",\"n\",\"c\"]"},
       {{"FFT: 약 8nc log2 2n", "by FFT: about 8nc log2 2n"}, "[\"*\",8,\"n\",\"c\",[\"log2\",[\"*\",2,\"n\"]]]"}});
}

std::string moved_scores() {
  const std::vector<double> here = rotated_scores(63, 10000), there = rotated_scores(1063, 10000);
  double most = 0;
  for (std::size_t i = 0; i < here.size(); ++i)
    most = std::max(most, here[i] > there[i] ? here[i] - there[i] : there[i] - here[i]);
  return said("largest difference of a score after moving by 1000 positions: {:.0e}\n", most);
}

// The topic relative-positions; a chart of the best tables for two wanted scores, one of products, two matrices.
std::vector<drawing::Drawing> drawings_of_topic(std::size_t first, std::size_t count) {
  ShowRequest request;
  request.length = 512;
  const std::vector<drawing::Drawing> all = show_relative_positions(request).drawings;
  return {all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(first + count)};
}

std::vector<Figure> figures_of_relative() {
  std::vector<Figure> figures = figures_of_rope();
  figures.push_back({.panels = drawings_of_topic(0, 2)});
  return figures;
}

std::string forms_of_t5() { return relative_positions::forms_of_t5(16, 0).terminal(); }

std::vector<Figure> figures_of_toeplitz() {
  std::vector<Figure> figures = figures_of_rope();
  figures.push_back({drawings_of_topic(2, 1).front()});
  figures.push_back({.panels = drawings_of_topic(3, 2)});
  return figures;
}

std::string toeplitz_attention() { return relative_positions::attention_by_fft(16, 0).terminal(); }

std::vector<Figure> figures_of_order() {
  std::vector<drawing::Drawing> charts;
  const std::span<const std::string_view> all = nn::position_names();
  for (const std::span<const std::string_view> half : {all.first(all.size() / 2), all.subspan(all.size() / 2)}) {
    drawing::BarChart chart{
        .title = said("Change of outputs when two words are exchanged"), .series = {{said("change")}}, .width = 560};
    for (const std::string_view kind : half) {
      chart.labels.emplace_back(kind);
      chart.series[0].y.push_back(change_of_order(nn::positions_named(kind)));
    }
    charts.push_back(draw(chart));
  }
  return {{.panels = charts}};
}

}  // namespace

const Computation k003_8_3_2_1{
    "003-8.3.2-1", numbers_of_rope, figures_of_relative, {learned_as_positions}, {nullptr, nullptr, forms_of_t5}};
const Computation k003_8_3_2_3{"003-8.3.2-3", numbers_of_order, figures_of_order, {mixed_as_positions}};
const Computation k003_8_3_2_7{"003-8.3.2-7",
                               numbers_of_toeplitz,
                               figures_of_toeplitz,
                               {toeplitz_as_formula},
                               {nullptr, moved_scores, toeplitz_attention}};

}  // namespace tapegrad::tasks::tutorial
