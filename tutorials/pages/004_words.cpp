// Tutorial 004, cells 1 to 14: attention without trainable weights, for one word and for all.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/charts.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/show/show.h>

namespace tapegrad::tasks::tutorial {
namespace {

Tensor one_query_scores() { return matmul(given::journey(), given::journey()[1]); }

std::vector<Number> numbers_of_one_query() {
  const Tensor x = given::journey(), query = x[1], scores = one_query_scores();
  const Tensor shares = scores / sum(scores), naive = exp(scores) / sum(exp(scores)), weights = softmax(scores);
  Tensor context = zeros({3});
  for (int64_t i = 0; i < 6; ++i) context = context + weights[i] * x[i];
  return {same("cell 3: attn_scores_2", rows_of(scores, 4)),
          same("cell 4: res, and torch.dot", rows_of(sum(x[0] * query), 4)),
          same("cell 5: scores / scores.sum()", rows_of(shares, 4)),
          same("cell 5: their sum", rows_of(sum(shares), 4)),
          same("cell 6: softmax_naive", rows_of(naive, 4)),
          same("cell 6: their sum", numpy_rows(sum(naive).reshape({1}))),
          same("cell 7: torch.softmax", rows_of(weights, 4)),
          same("cell 7: their sum", numpy_rows(sum(weights).reshape({1}))),
          same("cell 8: context_vec_2", rows_of(context, 4))};
}

drawing::Series weights_as_bars(std::string name, const Tensor& weights) {
  return {.name = std::move(name), .y = weights.to_vector<double>()};
}

std::vector<Figure> figures_of_one_query() {
  const Tensor scores = one_query_scores().to(kFloat64);
  return {{draw(drawing::BarChart{.title = said("Weights of \"journey\""),
                                  .labels = journey_words(),
                                  .series = {weights_as_bars(said("over the sum"), scores / sum(scores)),
                                             weights_as_bars("softmax", softmax(scores)),
                                             weights_as_bars(said("softmax of 5x"), softmax(5 * scores))},
                                  .width = 560,
                                  .height = 200})}};
}

std::string journey_as_words() {
  return fmt::format("{{\"tokens\":{},\"vectors\":{},\"query\":1,\"scale\":false}}", json_of(journey_words()),
                     json_of(given::journey()));
}

std::string fourth_score() {
  const Tensor x = given::journey();
  return fmt::format("0.22 * 0.55 + 0.58 * 0.87 + 0.33 * 0.66 = {:.4f}\n", matmul(x[3], x[1]).item());
}

std::string weights_of_comment() {
  const std::vector<float> weights = softmax(one_query_scores()).to_vector<float>();
  return said("word    comment  weight\nYour     0.1386  {:.4f}\nstarts   0.2331  {:.4f}\nwith     0.1237  {:.4f}\n",
              weights[0], weights[2], weights[3]);
}

std::vector<Number> numbers_of_all_queries() {
  const Tensor x = given::journey(), scores = matmul(x, x.t()), weights = softmax(scores);
  std::vector<Tensor> pairs;
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 6; ++j) pairs.push_back(sum(x[i] * x[j]));
  return {same("cell 9: attn_scores, pair by pair", rows_of(stack(pairs).reshape({6, 6}), 4)),
          same("cell 10: inputs @ inputs.T", rows_of(scores, 4)),
          same("cell 11: attn_weights", rows_of(weights, 4)),
          same("cell 12: sums of the rows", rows_of(sum(weights, -1), 4)),
          same("cell 13: all_context_vecs", rows_of(matmul(weights, x), 4)),
          same("cell 14: context_vec_2", rows_of(matmul(weights, x)[1], 4))};
}

drawing::Series dots_of(std::string name, const Tensor& x) {
  return {.name = std::move(name),
          .x = x.select(1, 0).to(kFloat64).to_vector<double>(),
          .y = x.select(1, 1).to(kFloat64).to_vector<double>(),
          .mark = drawing::Series::Mark::dots};
}

std::vector<Figure> figures_of_all_queries() {
  const Tensor x = given::journey(), scores = matmul(x, x.t()), weights = softmax(scores);
  const std::vector<std::string>& words = journey_words();
  return {{.panels = {draw_matrix(said("Scores"), scores, words, words, 0, 1.5),
                      draw_matrix(said("Weights"), weights, words, words, 0, 0.5),
                      draw_matrix(said("Context vectors"), matmul(weights, x), words, {"1", "2", "3"}, 0, 1)}},
          {draw(drawing::LineChart{.title = said("Words, and what attention makes of them"),
                                   .x_label = said("coordinate 1"),
                                   .y_label = said("coordinate 2"),
                                   .series = {dots_of(said("words"), x), dots_of(said("context"), matmul(weights, x)),
                                              dots_of(said("context, 20x scores"), matmul(softmax(20 * scores), x))},
                                   .width = 480})}};
}

}  // namespace

const Computation k004_1{
    "004-1-8", numbers_of_one_query, figures_of_one_query, {journey_as_words}, {fourth_score, weights_of_comment}};
const Computation k004_9{"004-9-14", numbers_of_all_queries, figures_of_all_queries, {journey_as_words}};

}  // namespace tapegrad::tasks::tutorial
