// Attention step by step: five words without weights (tutorial 003, sections 8.2.1 and 8.2.2), and six words with
// random weights (tutorial 004).
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/linear.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train/drawing/tables.h>
#include <tapegrad/tutorials/show/show.h>

#include <cmath>
#include <limits>

namespace tapegrad::tasks {
namespace {

const std::vector<std::string> kThree{"1", "2", "3"};

Exhibit show_time_flies() {
  const std::vector<std::string> words{"time", "flies", "like", "an", "arrow"};
  const Tensor x =
      tensor({{0.2, 0.8, 0.3}, {0.7, 0.2, 0.9}, {0.3, 0.5, 0.2}, {0.1, 0.3, 0.4}, {0.8, 0.1, 0.6}}, kFloat64);
  const Tensor scores = matmul(x, x.t());
  const Tensor weights = softmax(scores);
  const Tensor context = matmul(weights, x);

  std::string out;
  const auto array = [&](std::string_view name, const Tensor& values) {
    fmt::format_to(std::back_inserter(out), "{}:\n {}\n", name, drawing::numpy_text(values));
  };
  const auto shape = [&](std::string_view name, const Tensor& values) {
    out += said("{} shape: {}\n", name, drawing::tuple_text(values.shape()));
  };
  out += said("1. Words as vectors, one per row\n\n");
  shape(said("Input matrix"), x);
  array(said("Input matrix"), x);
  array("\n" + said("Input matrix transpose"), x.t());
  out += said("\n2. Similarity: the dot products of all pairs of words\n\n");
  shape(said("Similarity matrix"), scores);
  out += said("Similarity matrix") + ":\n" + drawing::bracket_table(scores, {words, words, 9});
  out += said("\n3. Weights: the softmax of each row, which sums to 1\n\n");
  shape(said("Attention weights"), weights);
  array(said("Attention weights"), weights);
  out += said("\n4. Context: the mean of all words, with these weights\n\n");
  shape(said("Contextualized vectors"), context);
  array(said("Contextualized vectors"), context);

  return {said("Attention step by step (8.2.1, 8.2.2)"),
          out,
          {draw_matrix(said("1. Word vectors"), x, words, kThree, 0, 1, 1),
           draw_matrix(said("2. Similarity"), scores, words, words, 0, 1.5),
           draw_matrix(said("3. Attention weights"), weights, words, words, 0, 0.5, 3),
           draw_matrix(said("4. Contextual vectors"), context, words, kThree, 0, 1, 3)}};
}

struct Journey {
  std::vector<std::string> words{"Your", "journey", "starts", "with", "one", "step"};
  Tensor x = tensor({{0.43, 0.15, 0.89},
                     {0.55, 0.87, 0.66},
                     {0.57, 0.85, 0.64},
                     {0.22, 0.58, 0.33},
                     {0.77, 0.25, 0.10},
                     {0.05, 0.80, 0.55}});
};

Exhibit show_journey() {
  const Journey journey;
  const Tensor& x = journey.x;
  const double scale = 1 / std::sqrt(2.0);  // 1 / sqrt(size of a key)
  std::string out;
  const auto step = [&](std::string_view headline, const Tensor& values) {
    fmt::format_to(std::back_inserter(out), "{}\n{}\n\n", headline, str(values));
  };

  const Tensor scores = matmul(x, x.t()), weights = softmax(scores);
  out += said("Without trainable weights\n\n");
  step(said("1. Scores: the dot products of all pairs of words"), scores);
  step(said("2. Weights: the softmax of each row"), weights);
  step(said("3. Context: the mean of all words, with these weights"), matmul(weights, x));

  manual_seed(123);
  const Tensor query = rand({3, 2}), key = rand({3, 2}), value = rand({3, 2});
  const Tensor weighted = softmax(matmul(matmul(x, query), matmul(x, key).t()) * scale);
  out += said("With random weights for queries, keys and values, uniform in [0, 1), seed 123\n\n");
  step(said("4. The query of \"journey\""), matmul(x[1], query));
  step(said("5. Its weights: softmax of query @ keys / sqrt(2)"), weighted[1]);
  step(said("6. Context of each word: weights @ values"), matmul(weighted, matmul(x, value)));

  manual_seed(789);
  const nn::Linear to_query(3, 2, false), to_key(3, 2, false), to_value(3, 2, false);
  const Tensor linear_scores = matmul(to_query(x), to_key(x).t());
  const Tensor hidden = !nn::causal_mask(6);
  const Tensor masked = masked_fill(linear_scores, hidden, -std::numeric_limits<double>::infinity());
  const Tensor causal = softmax(masked * scale);
  out += said("With linear layers for queries, keys and values, random, seed 789\n\n");
  step(said("7. Context of each word"), matmul(softmax(linear_scores * scale), to_value(x)));
  step(said("8. Weights"), softmax(linear_scores * scale));
  step(said("9. Scores, with later words masked"), masked);
  step(said("10. Their weights: rows still sum to 1"), causal);
  manual_seed(123);
  const Tensor dropped = dropout(causal, 0.5);
  step(said("11. After dropout of one half (seed 123): the remaining weights double"), dropped);
  out.pop_back();

  return {said("Attention step by step: your journey starts with one step"),
          out,
          {draw_matrix(said("1. Scores, without weights"), scores, journey.words, journey.words, 0, 1.5),
           draw_matrix(said("2. Weights"), weights, journey.words, journey.words, 0, 0.5, 3),
           draw_matrix(said("10. Causal weights (linear layers)"), causal, journey.words, journey.words, 0, 1, 3),
           draw_matrix(said("11. After dropout"), dropped, journey.words, journey.words, 0, 2, 3)}};
}

}  // namespace

Exhibit show_attention_steps(const ShowRequest& request) {
  return request.example == "journey" ? show_journey() : show_time_flies();
}

}  // namespace tapegrad::tasks
