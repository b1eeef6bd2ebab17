// Tutorial 003, sections 8.2.4 and 8.2.6: multi-head attention, and what a head is.
#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/show/show.h>

#include <cmath>

namespace tapegrad::tasks::tutorial {
namespace {

// The weights [4, 6, 6] of an untrained multi-head attention of width 64 over six random words.
Tensor weights_of_heads() {
  manual_seed(0);
  const nn::MultiHeadAttention attention(64, 4);
  const Tensor words = randn({1, 6, 64});
  Tensor weights;
  static_cast<void>(attention(words, words, words, {.weights = &weights}));
  return weights[0];
}

std::vector<Number> numbers_of_heads() {
  std::string rows = "heads  parameters  multiplications of q k^T  powers of softmax\n";
  for (const int64_t heads : {1, 4, 16}) {
    const nn::MultiHeadAttention attention(64, heads);
    constexpr int64_t kTokens = 128;
    rows += fmt::format("{:>5} {:>11} {:>24} {:>18}\n", heads, nn::count_parameters(attention),
                        heads * kTokens * kTokens * (64 / heads), heads * kTokens * kTokens);
  }
  return {own(rows), own(rows_of(weights_of_heads()[0], 4))};
}

std::string heads_as_player() {
  return json_of_heads(weights_of_heads(), {"학습 전의 네 헤드", "four untrained heads"}, journey_words(),
                       journey_words());
}

std::vector<Figure> figures_of_heads() {
  const std::vector<std::string>& words = journey_words();
  const Tensor weights = weights_of_heads();
  std::vector<drawing::Drawing> maps;
  for (int64_t h = 0; h < 4; ++h) maps.push_back(draw_matrix(said("Head {}", h), weights[h], words, words, 0, 0.5));
  return {{.panels = maps}};
}

// The deviation of scores of random queries and keys before and after the division, by the size of a head.
std::string deviations_of_scores() {
  Generator generator(0);
  std::string out = "head_dim  q . k   q . k / sqrt(head_dim)\n";
  for (const int64_t dim : {16, 64, 256}) {
    const Tensor q = randn({500, dim}, kFloat64, &generator), k = randn({500, dim}, kFloat64, &generator);
    const double deviation = std(matmul(q, k.t())).item();
    out += fmt::format("{:>8} {:>6.2f} {:>8.2f}\n", dim, deviation, deviation / std::sqrt(static_cast<double>(dim)));
  }
  return out;
}

// The heads of the four meanings, as in the program.
struct HeadSize {
  std::string_view name;
  int64_t parameters;
};

std::vector<HeadSize> sizes_of_heads() {
  const auto linear = [](int64_t in, int64_t out) { return nn::count_parameters(nn::Linear(in, out)); };
  return {{translatable("1. classes"), linear(64, 10)},
          {translatable("2. classes"), linear(32, 20)},
          {translatable("2. boxes"), linear(32, 4)},
          {translatable("3. attention"), nn::count_parameters(nn::MultiHeadAttention(64, 4))},
          {translatable("4. words"), linear(64, 50)},
          {translatable("4. sentence"), linear(64, 2)},
          {translatable("4. patches"), nn::count_parameters(nn::Conv2d(3, 64, 4, {.stride = 4}))}};
}

std::vector<Number> numbers_of_meanings() {
  std::string rows;
  for (const HeadSize& one : sizes_of_heads()) rows += fmt::format("{:<15} {:>6}\n", one.name, one.parameters);
  return {own(rows)};
}

std::vector<Figure> figures_of_meanings() {
  drawing::Series parameters{said("parameters")};
  std::vector<std::string> labels;
  for (const HeadSize& one : sizes_of_heads()) {
    labels.push_back(said(one.name));
    parameters.y.push_back(static_cast<double>(one.parameters));
  }
  return {{draw(drawing::BarChart{
      .title = said("Parameters of heads"), .labels = labels, .series = {parameters}, .width = 620})}};
}

std::string heads_as_formula() {
  return json_of({{"d", {"몸통의 특성 d개", "d features of the backbone"}, 16, 1024, 16, 64},
                  {"c", {"출력 c개 (클래스, 단어)", "c outputs (classes, words)"}, 2, 1000, 1, 10},
                  {"h", {"어텐션 헤드 h개", "h heads of attention"}, 1, 16, 1, 4}},
                 {{{"마지막 층: c(d + 1)", "last layer: c(d + 1)"}, "[\"*\",\"c\",[\"+\",\"d\",1]]"},
                  {{"어텐션 전체: 4d(d + 1)", "all of attention: 4d(d + 1)"}, "[\"*\",4,\"d\",[\"+\",\"d\",1]]"},
                  {{"헤드 하나의 몫", "share of one head"}, "[\"/\",[\"*\",4,\"d\",[\"+\",\"d\",1]],\"h\"]"}});
}

}  // namespace

const Computation k003_8_2_4{
    "003-8.2.4", numbers_of_heads, figures_of_heads, {heads_as_player}, {nullptr, deviations_of_scores}};
const Computation k003_8_2_6{"003-8.2.6", numbers_of_meanings, figures_of_meanings, {heads_as_formula}};

}  // namespace tapegrad::tasks::tutorial
