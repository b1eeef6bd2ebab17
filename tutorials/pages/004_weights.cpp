// Tutorial 004, cells 15 to 27: queries, keys and values, scores divided by the root of their size, and self-attention
// as a module.
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

std::vector<Number> numbers_of_projections() {
  const JourneyRoles made;
  const Tensor x_2 = given::journey()[1];
  return {same("cell 16: x_2", rows_of(x_2, 4)),
          same("cell 18: query_2", rows_of(matmul(x_2, made.w_query), 4)),
          same("cell 18: x_2.shape", plain_shape(x_2)),
          same("cell 18: W_query.shape", plain_shape(made.w_query)),
          same("cell 18: query_2.shape", plain_shape(made.queries[1])),
          same("cell 19: keys.shape", plain_shape(made.keys)),
          same("cell 19: values.shape", plain_shape(made.values)),
          same("cell 20: attn_score_22", rows_of(matmul(made.queries[1], made.keys[1]), 4))};
}

std::vector<Figure> figures_of_projections() {
  const JourneyRoles made;
  const std::vector<std::string>& words = journey_words();
  return {{.panels = {draw_matrix(said("Queries"), made.queries, words, {"1", "2"}, 0, 1.5),
                      draw_matrix(said("Keys"), made.keys, words, {"1", "2"}, 0, 1.5),
                      draw_matrix(said("Values"), made.values, words, {"1", "2"}, 0, 1.5),
                      draw_matrix(said("Scores"), matmul(made.queries, made.keys.t()), words, words, 0, 2)}}};
}

// With queries and keys of their own.
std::string journey_as_queries() {
  const JourneyRoles made;
  return fmt::format(
      "{{\"tokens\":{},\"vectors\":{},\"queries\":{},\"keys\":{},\"values\":{},\"query\":1,\"scale\":true}}",
      json_of(journey_words()), json_of(given::journey()), json_of(made.queries), json_of(made.keys),
      json_of(made.values));
}

std::vector<Number> numbers_of_modules() {
  const JourneyRoles made;
  const Tensor query_2 = made.queries[1], scores_2 = matmul(query_2, made.keys.t());
  const Tensor weights_2 = softmax(scores_2 / std::sqrt(2.0)), x = given::journey();
  manual_seed(123);
  const SelfAttention_v1 first(3, 2);
  manual_seed(789);
  const SelfAttention_v2 second(3, 2);
  return {same("cell 21: query_2 @ keys_2", rows_of(matmul(query_2, made.keys[1]), 4)),
          same("cell 22: attn_scores_2", rows_of(scores_2, 4)),
          same("cell 23: attn_weights_2", rows_of(weights_2, 4)),
          same("cell 24: context_vec_2", rows_of(matmul(weights_2, made.values), 4)),
          same("cell 25: sa_v1(inputs)", rows_of(first(x), 4)),
          same("cell 27: sa_v2(inputs)", rows_of(second(x), 4))};
}

// The mean of the largest weight of 200 rows over 16 keys, by the size of queries and keys.
std::vector<Figure> figures_of_scale() {
  Generator generator(0);
  drawing::Series bare{"q · k"}, scaled{"q · k / √d"};
  for (const int64_t d : {1, 2, 4, 8, 16, 32, 64, 128}) {
    const Tensor q = randn({200, d}, kFloat64, &generator), k = randn({16, d}, kFloat64, &generator);
    const Tensor scores = matmul(q, k.t());
    const auto add = [&](drawing::Series& to, const Tensor& of) {
      to.add(static_cast<double>(d), mean(amax(softmax(of), {-1})).item());
    };
    add(bare, scores);
    add(scaled, scores / std::sqrt(static_cast<double>(d)));
  }
  const JourneyRoles made;
  const Tensor scores = matmul(made.queries, made.keys.t());
  const std::vector<std::string>& words = journey_words();
  return {{.panels = {draw_matrix(said("Scaled by √2"), softmax(scores / std::sqrt(2.0)), words, words, 0, 0.4),
                      draw_matrix(said("Not scaled"), softmax(scores), words, words, 0, 0.4)}},
          {draw(drawing::LineChart{.title = said("Largest weight, by the size of a key"),
                                   .x_label = "d",
                                   .y_label = said("weight"),
                                   .series = {bare, scaled},
                                   .y_low = 0,
                                   .y_high = 1,
                                   .width = 520})}};
}

// The largest weight of V2's layers, and the bound of their uniform draw.
std::string bound_of_linear() {
  manual_seed(0);
  const nn::Linear layer(300, 200, false);
  const double bound = 1 / std::sqrt(300.0), xavier = std::sqrt(6.0 / 500);
  return said(
      "largest weight of Linear(300, 200): {:.4f}\n1 / sqrt(300):                    {:.4f}\n"
      "Xavier, sqrt(6 / (300 + 200)):    {:.4f}\n",
      amax(abs(layer.weight.tensor())).item(), bound, xavier);
}

}  // namespace

const Computation k004_15{"004-15-20", numbers_of_projections, figures_of_projections, {journey_as_queries}};
const Computation k004_21{"004-21-27", numbers_of_modules, figures_of_scale, {journey_as_queries}, {bound_of_linear}};

}  // namespace tapegrad::tasks::tutorial
