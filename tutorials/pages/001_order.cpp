// Tutorial 001: positions, the causal mask, and questions of interviews.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/programs/claims.h>
#include <tapegrad/tutorials/programs/positions_and_masks.h>
#include <tapegrad/tutorials/programs/roles.h>
#include <tapegrad/tutorials/show/show.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::tasks::tutorial {
namespace {

// The second sentence exchanges words 1 and 3 of the first, up to their endings.
const std::vector<std::string> kCatFirst{"나는", "고양이", "너는", "사람"};
const std::vector<std::string> kPersonFirst{"나는", "사람", "너는", "고양이"};
const std::vector<std::string> kEightFeatures{"1", "2", "3", "4", "5", "6", "7", "8"};

// Vectors of the four words, drawn once, in the order of the first sentence.
Tensor cat_first() {
  Generator generator(1);
  return randn({4, 8}, kFloat64, &generator);
}

Tensor exchanged(const Tensor& x) { return index_select(x, 0, tensor({0, 3, 2, 1})); }

Tensor with_positions(const Tensor& x) { return x + nn::sinusoidal_table(4, 8).to(kFloat64); }

std::vector<Figure> figures_of_blindness() {
  const Tensor x = cat_first(), y = exchanged(x);
  const auto map = [](std::string_view title, const Tensor& words, const std::vector<std::string>& names) {
    return draw_matrix(title, basic_self_attention(words), names, kEightFeatures, -4, 4, 2, {1, 3});
  };
  const auto both = [&](const Tensor& first, const Tensor& second) {
    return Figure{.panels = {map("나는 고양이(이고) 너는 사람(이다)", first, kCatFirst),
                             map("나는 사람(이고) 너는 고양이(다)", second, kPersonFirst)}};
  };
  return {both(x, y), both(with_positions(x), with_positions(y))};
}

std::vector<Number> numbers_of_blindness() {
  const Tensor x = cat_first(), y = exchanged(x);
  const auto both = [](const Tensor& first, const Tensor& second) {  // the word 고양이 is second, then fourth
    return rows_of(stack({basic_self_attention(first)[1], basic_self_attention(second)[3]}), 3);
  };
  return {own(both(x, y)), own(both(with_positions(x), with_positions(y)))};
}

std::string blindness() {
  const Tensor x = cat_first(), y = exchanged(x);
  const auto change = [](const Tensor& first, const Tensor& second) {
    return amax(abs(basic_self_attention(first) - exchanged(basic_self_attention(second)))).item();
  };
  return said(
      "one layer of attention, no positions:     {:.1e}\n                        with positions:   {:.1e}\n"
      "an encoder of two layers, no positions:   {:.1e}\n                          sinusoidal:     {:.1e}\n"
      "                          learned:        {:.1e}\n",
      change(x, y), change(with_positions(x), with_positions(y)), change_of_order(nn::Positions::none),
      change_of_order(nn::Positions::sinusoidal), change_of_order(nn::Positions::learned));
}

std::string sentence_as_positions() {
  return fmt::format("{{\"tokens\":{},\"vectors\":{},\"positions\":{}}}", json_of(kCatFirst),
                     json_of(cat_first().to(kFloat32)), json_of(nn::sinusoidal_table(4, 8)));
}

std::vector<Figure> figures_of_masking_steps() {
  Generator generator(3);
  const Tensor scores = randn({3, 3}, kFloat32, &generator), hidden = !nn::causal_mask(3);
  const Tensor added = masked_fill(zeros({3, 3}), hidden, -INFINITY);
  const std::vector<std::string> three{"1", "2", "3"};
  return {{.panels = {draw_matrix(said("Scores S"), scores, three, three, -2, 2),
                      draw_matrix(said("Causal mask M"), added, three, three, -2, 2),
                      draw_matrix("S + M", scores + added, three, three, -2, 2),
                      draw_matrix(said("Weights softmax(S + M)"), softmax(scores + added), three, three, 0, 1)}}};
}

std::vector<Number> numbers_of_masking_steps() {
  Generator generator(3);
  const Tensor scores = randn({3, 3}, kFloat32, &generator);
  const Tensor masked = masked_fill(scores, !nn::causal_mask(3), -INFINITY);
  return {own(rows_of(scores, 4)), own(rows_of(softmax(masked), 4))};
}

std::string three_as_mask() {
  Generator generator(3);
  return json_of_mask({"1", "2", "3"}, randn({3, 3}, kFloat32, &generator), tril(ones({3, 3})));
}

std::vector<Number> numbers_of_subsequent_mask() {
  manual_seed(0);
  const Tensor scores = randn({1, 5, 5}), mask = subsequent_mask(5);
  return {same("Causal mask (size=5), 1: True", rows_of(mask.to(kFloat32), 0)),
          drawn("Original scores", rows_of(scores[0], 4)),
          drawn("Masked scores", exponent_rows_of(masked_fill(scores, !mask, -1e9)[0], 2))};
}

std::vector<Figure> figures_of_table() {
  const Tensor table = PositionalEncoding::table(32, 5000).reshape({5000, 32});
  std::vector<std::string> rows, columns;
  for (int i = 0; i < 50; ++i) rows.push_back(std::to_string(i));
  for (int i = 0; i < 32; ++i) columns.push_back(std::to_string(i));
  drawing::Series near{said("position 50")};
  for (int64_t t = 0; t < 100; ++t) near.add(static_cast<double>(t), sum(table[50] * table[t]).item() / 16);
  return {{draw_matrix(said("Positional encoding"), table.slice(0, 0, 50), rows, columns, -1, 1)},
          {draw(drawing::LineChart{.title = said("Similarity of positions"),
                                   .x_label = said("position"),
                                   .y_label = said("similarity"),
                                   .series = {near},
                                   .width = 520})}};
}

std::string waves_of_table() { return "{\"dim\":32,\"length\":50}"; }

// The largest error of a row of the table, against sines and cosines in float64.
std::string error_of_angles() {
  const Tensor table = PositionalEncoding::table(32, 5000);
  std::string out = said("position  largest error\n");
  for (const int64_t position : {10, 500, 4999}) {
    const std::vector<float> row = table[position].reshape({32}).to_vector<float>();
    double worst = 0;
    for (int i = 0; i < 16; ++i) {
      const double angle = static_cast<double>(position) / fixed::pow(10000., i / 16.);
      const auto at = static_cast<std::size_t>(2 * i);
      worst = std::max({worst, std::abs(row[at] - fixed::sin(angle)), std::abs(row[at + 1] - fixed::cos(angle))});
    }
    out += fmt::format("{:>8}  {:.0e}\n", position, worst);
  }
  return out;
}

struct KindOfPositions {
  std::string_view name;
  nn::Positions positions;
};
constexpr KindOfPositions kKindsOfPositions[] = {
    {"none", nn::Positions::none},       {"index", nn::Positions::index}, {"sinusoidal", nn::Positions::sinusoidal},
    {"learned", nn::Positions::learned}, {"RoPE", nn::Positions::rope},   {"ALiBi", nn::Positions::alibi}};

std::vector<Number> numbers_of_interview() {
  std::string changes;
  for (const auto& [name, positions] : kKindsOfPositions)
    changes += fmt::format("{:<12} {:.2e}\n", name, change_of_order(positions));
  return {own(changes)};
}

std::vector<Figure> figures_of_interview() {
  std::vector<std::string> labels;
  drawing::Series change{said("largest change")};
  for (const auto& [name, positions] : kKindsOfPositions) {
    labels.emplace_back(name);
    change.y.push_back(change_of_order(positions));
  }
  return {{draw(drawing::BarChart{
      .title = said("Does the model know the order?"), .labels = labels, .series = {change}, .width = 520})}};
}

}  // namespace

const Computation k001_2_1{"001-2.1", numbers_of_blindness, figures_of_blindness, {sentence_as_positions}, {blindness}};
const Computation k001_2_2{"001-2.2", numbers_of_masking_steps, figures_of_masking_steps, {three_as_mask}};
const Computation k001_3{
    "001-3", numbers_of_subsequent_mask, figures_of_table, {waves_of_table}, {nullptr, error_of_angles}};
const Computation k001_4{"001-4", numbers_of_interview, figures_of_interview, {sentence_as_positions}};

}  // namespace tapegrad::tasks::tutorial
