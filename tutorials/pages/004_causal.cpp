// Tutorial 004, cells 28 to 36: the causal mask after and before the softmax, and dropout of weights.
#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/programs/attention.h>
#include <tapegrad/tutorials/show/show.h>

#include <cmath>

namespace tapegrad::tasks::tutorial {
namespace {

Tensor masked_scores() { return masked_fill(journey_scores(), !nn::causal_mask(6), -INFINITY); }
Tensor causal_weights() { return softmax(masked_scores() / std::sqrt(2.0)); }

}  // namespace

Exhibit show_journey() {
  const std::vector<std::string>& words = journey_words();
  const Tensor x = given::journey(), scores = matmul(x, x.t()), weights = softmax(scores);
  Notes out;
  const auto step = [&](std::string_view headline, const Tensor& values) {
    const std::vector<std::string> none;
    out += fmt::format("{}\n", headline);
    out +=
        Matrix{values,
               {.rows = values.dim() == 2 ? words : none, .columns = values.size(-1) == 6 ? words : none, .digits = 4},
               str(values) + "\n"};
    out += "\n";
  };

  out += said("Without trainable weights\n\n");
  step(said("1. Scores: the dot products of all pairs of words"), scores);
  step(said("2. Weights: the softmax of each row"), weights);
  step(said("3. Context: the mean of all words, with these weights"), matmul(weights, x));

  const JourneyRoles made;
  const Tensor weighted = softmax(matmul(made.queries, made.keys.t()) / std::sqrt(2.0));
  out += said("With random weights for queries, keys and values, uniform in [0, 1), seed 123\n\n");
  step(said("4. The query of \"journey\""), matmul(x[1], made.w_query));
  step(said("5. Its weights: softmax of query @ keys / sqrt(2)"), weighted[1]);
  step(said("6. Context of each word: weights @ values"), matmul(weighted, made.values));

  manual_seed(789);
  const SelfAttention_v2 attention(3, 2);
  const Tensor causal = causal_weights();
  out += said("With linear layers for queries, keys and values, random, seed 789\n\n");
  step(said("7. Context of each word"), attention(x));
  step(said("8. Weights"), softmax(journey_scores() / std::sqrt(2.0)));
  step(said("9. Scores, with later words masked"), masked_scores());
  step(said("10. Their weights: rows still sum to 1"), causal);
  manual_seed(123);
  const Tensor dropped = dropout(causal, 0.5);
  step(said("11. After dropout of one half (seed 123): the remaining weights double"), dropped);

  return {said("Attention step by step: your journey starts with one step"),
          out,
          {draw_matrix(said("1. Scores, without weights"), scores, words, words, 0, 1.5),
           draw_matrix(said("2. Weights"), weights, words, words, 0, 0.5, 3),
           draw_matrix(said("10. Causal weights (linear layers)"), causal, words, words, 0, 1, 3),
           draw_matrix(said("11. After dropout"), dropped, words, words, 0, 2, 3)}};
}

namespace {

std::vector<Number> numbers_of_causal() {
  const Tensor weights = softmax(journey_scores() / std::sqrt(2.0)), past = tril(ones({6, 6})), kept = weights * past;
  return {same("cell 28: attn_weights", rows_of(weights, 4)),
          same("cell 29: mask_simple", numpy_rows(past)),
          same("cell 30: masked_simple", rows_of(kept, 4)),
          same("cell 31: masked_simple_norm", rows_of(kept / sum(kept, -1, true), 4)),
          same("cell 32: masked", rows_of(masked_scores(), 4)),
          same("cell 33: attn_weights", rows_of(causal_weights(), 4))};
}

std::vector<Figure> figures_of_causal() {
  const std::vector<std::string>& words = journey_words();
  const Tensor weights = softmax(journey_scores() / std::sqrt(2.0)), kept = weights * tril(ones({6, 6}));
  const drawing::Series sums{.name = said("after the softmax"), .y = sum(kept, -1).to(kFloat64).to_vector<double>()};
  const drawing::Series ones_of{.name = said("before it"),
                                .y = sum(causal_weights(), -1).to(kFloat64).to_vector<double>()};
  return {{.panels = {draw_matrix(said("28. No mask"), weights, words, words, 0, 1),
                      draw_matrix(said("30. Mask after the softmax"), kept, words, words, 0, 1),
                      draw_matrix(said("31. Divided by the row sums"), kept / sum(kept, -1, true), words, words, 0, 1),
                      draw_matrix(said("33. Mask before the softmax"), causal_weights(), words, words, 0, 1)}},
          {draw(drawing::BarChart{
              .title = said("Row sums of the weights"), .labels = words, .series = {sums, ones_of}, .width = 480})}};
}

std::string journey_as_mask() {
  return json_of_mask(journey_words(), journey_scores() / std::sqrt(2.0), tril(ones({6, 6})));
}

// How far apart the two ways are, in this example and for scores that are far apart.
std::string two_ways() {
  const auto distance = [](const Tensor& scores, double& least) {
    const Tensor kept = softmax(scores) * tril(ones(scores.shape())), sums = sum(kept, -1, true);
    least = amin(sums).item();
    const Tensor before = softmax(masked_fill(scores, !nn::causal_mask(scores.size(0)), -INFINITY));
    return amax(abs(where(sums > 0, kept / sums, zeros(scores.shape())) - before)).item();
  };
  double near_sum = 0, far_sum = 0;
  const double near = distance(journey_scores() / std::sqrt(2.0), near_sum);
  const double far = distance(tensor({{0.0F, 200.0F}, {0.0F, 200.0F}}), far_sum);
  return said(
      "scores            smallest row sum  largest difference\n"
      "of the tutorial   {:<16.4f}  {:.0e}\n[0, 200] twice    {:<16.4f}  {:.0f}\n",
      near_sum, near, far_sum, far);
}

std::vector<Number> numbers_of_dropout() {
  const nn::Dropout half(0.5);
  const Tensor weights = causal_weights();
  manual_seed(123);
  const Tensor of_ones = half(ones({6, 6}));
  manual_seed(123);
  const Tensor of_weights = half(weights);
  return {same("cell 35: dropout(example)", numpy_rows(of_ones)),
          same("cell 36: dropout(attn_weights)", rows_of(of_weights, 4))};
}

std::vector<Figure> figures_of_dropout() {
  const std::vector<std::string>& words = journey_words();
  const nn::Dropout half(0.5);
  const Tensor weights = causal_weights();
  manual_seed(123);
  const Tensor dropped = half(weights);
  drawing::Series scaled{said("kept weights doubled")}, bare{said("not doubled")};
  Tensor total = zeros({6, 6});
  manual_seed(0);
  for (int n = 1; n <= 400; ++n) {
    total = total + half(weights);
    if (n % 10 != 0) continue;
    const double mean_sum = mean(sum(total / n, -1)).item();
    scaled.add(n, mean_sum);
    bare.add(n, mean_sum / 2);
  }
  return {{.panels = {draw_matrix(said("Causal weights"), weights, words, words, 0, 1),
                      draw_matrix(said("After dropout"), dropped, words, words, 0, 2)}},
          {draw(drawing::LineChart{.title = said("Mean row sum after dropout of one half"),
                                   .x_label = said("draws"),
                                   .y_label = said("sum"),
                                   .series = {scaled, bare},
                                   .y_low = 0,
                                   .y_high = 1.3,
                                   .width = 520})}};
}

// What remains of ones for several rates.
std::string factors_of_dropout() {
  std::string out = said("rate   1 / rate   1 / (1 - rate)   kept ones become\n");
  for (const double rate : {0.5, 0.2, 0.1}) {
    manual_seed(123);
    out += fmt::format("{:<4}   {:>8.4f}   {:>14.4f}   {:>16.4f}\n", rate, 1 / rate, 1 / (1 - rate),
                       amax(nn::Dropout(rate)(ones({100}))).item());
  }
  return out;
}

std::string dropout_as_formula() {
  return json_of({{"p", {"드롭아웃 비율 p", "rate p of dropout"}, 0, 0.9, 0.05, 0.5},
                  {"w", {"가중치 w", "weight w"}, 0, 1, 0.01, 0.44},
                  {"n", {"행에서 볼 수 있는 토큰 n개", "n visible tokens of a row"}, 1, 6, 1, 2}},
                 {{{"남은 것에 곱하는 수 1/(1-p)", "factor of what is kept, 1/(1-p)"}, "[\"/\",1,[\"-\",1,\"p\"]]"},
                  {{"w의 기댓값", "expected value of w"}, "[\"*\",[\"-\",1,\"p\"],[\"/\",\"w\",[\"-\",1,\"p\"]]]"},
                  {{"w의 표준편차 w√(p/(1-p))", "deviation of w, w√(p/(1-p))"},
                   "[\"*\",\"w\",[\"sqrt\",[\"/\",\"p\",[\"-\",1,\"p\"]]]]"},
                  {{"행이 모두 0일 확률 pⁿ", "chance that a row is all 0, pⁿ"}, "[\"^\",\"p\",\"n\"]"}},
                 4);
}

}  // namespace

const Computation k004_28{"004-28-33", numbers_of_causal, figures_of_causal, {journey_as_mask}, {two_ways}};
const Computation k004_34{
    "004-34-36", numbers_of_dropout, figures_of_dropout, {dropout_as_formula}, {factors_of_dropout}};

}  // namespace tapegrad::tasks::tutorial
