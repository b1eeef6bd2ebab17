// Tutorial 003, sections 8.1 to 8.2.3: from recurrent networks to attention over word vectors, and to queries, keys and
// values.
#include <fmt/format.h>
#include <tapegrad/tapegrad.h>
#include <tapegrad/tasks/language/messages.h>
#include <tapegrad/train.h>
#include <tapegrad/tutorials/numbers.h>
#include <tapegrad/tutorials/pages.h>
#include <tapegrad/tutorials/pages/journey.h>
#include <tapegrad/tutorials/programs/claims.h>
#include <tapegrad/tutorials/programs/roles.h>
#include <tapegrad/tutorials/show/show.h>

namespace tapegrad::tasks::tutorial {
namespace {

constexpr int64_t kWidth = 32;

// The reach of the first token in an RNN, an LSTM and self-attention, by the number of tokens.
std::vector<drawing::Series> curves_of_reach() {
  Generator generator(0);
  manual_seed(0);
  const nn::RNN rnn(kWidth, kWidth, {.batch_first = true});
  const nn::LSTM lstm(kWidth, kWidth, {.batch_first = true});
  drawing::Series recurrent{"RNN (tanh)"}, gated{"LSTM"}, attention{said("self-attention")};
  for (const int64_t length : {2, 5, 10, 20, 30, 40, 50, 60, 70, 80}) {
    const auto add = [&](drawing::Series& to, const auto& model) {
      const Tensor tokens = randn({1, length, kWidth}, kFloat32, &generator);
      to.add(static_cast<double>(length), reach(model, tokens, randn({kWidth}, kFloat32, &generator)));
    };
    add(recurrent, [&](const Tensor& x) { return rnn(x).output; });
    add(gated, [&](const Tensor& x) { return lstm(x).output; });
    add(attention, [&](const Tensor& x) { return matmul(softmax(matmul(x, x.t()) / 32), x); });
  }
  return {recurrent, gated, attention};
}

std::vector<Number> numbers_of_reach() {
  const std::vector<drawing::Series> curves = curves_of_reach();
  std::string rows = "tokens      RNN     LSTM  attention\n";
  for (std::size_t i = 0; i < curves[0].x.size(); ++i)
    rows += fmt::format("{:>6} {:>8.0e} {:>8.0e} {:>10.2f}\n", curves[0].x[i], curves[0].y[i], curves[1].y[i],
                        curves[2].y[i]);
  return {own(rows)};
}

// What is left of a gradient after n steps that each multiply it, and the share of one of n words.
std::string reach_as_formula() {
  return json_of({{"n", {"거리 n", "distance n"}, 1, 100, 1, 20},
                  {"w", {"한 단계에 곱해지는 수 w", "factor w of one step"}, 0.5, 1, 0.01, 0.9}},
                 {{{"순환 신경망: wⁿ", "recurrent: wⁿ"}, "[\"^\",\"w\",\"n\"]"},
                  {{"어텐션: 1 / n", "attention: 1 / n"}, "[\"/\",1,\"n\"]"}},
                 6);
}

std::vector<Figure> figures_of_reach() {
  return {{draw(drawing::LineChart{.title = said("Reach of the first token, by length"),
                                   .x_label = said("tokens"),
                                   .y_label = said("ratio of gradients"),
                                   .series = curves_of_reach(),
                                   .log_y = true,
                                   .width = 540})}};
}

// Attention over five words, without weights.
struct TimeFlies {
  std::vector<std::string> words{"time", "flies", "like", "an", "arrow"};
  Tensor x = given::time_flies(), scores = matmul(x, x.t()), weights = softmax(scores), contexts = matmul(weights, x);
};

Exhibit show_time_flies() {
  const TimeFlies made;
  const auto& [words, x, scores, weights, context] = made;
  const std::vector<std::string> three{"1", "2", "3"};
  Notes out;
  const auto shape = [&](std::string_view name, const Tensor& values) {
    out += said("{} shape: {}\n", name, drawing::tuple_text(values.shape()));
  };
  out += said("1. Words as vectors, one per row\n\n");
  shape(said("Input matrix"), x);
  out.array(said("Input matrix"), x);
  out.array("\n" + said("Input matrix transpose"), x.t());
  out += said("\n2. Similarity: the dot products of all pairs of words\n\n");
  shape(said("Similarity matrix"), scores);
  out += said("Similarity matrix") + ":\n";
  out += Matrix{scores, {words, words, 9}};
  out += said("\n3. Weights: the softmax of each row, which sums to 1\n\n");
  shape(said("Attention weights"), weights);
  out.array(said("Attention weights"), weights);
  out += said("\n4. Context: the mean of all words, with these weights\n\n");
  shape(said("Contextualized vectors"), context);
  out.array(said("Contextualized vectors"), context);

  return {said("Attention step by step (8.2.1, 8.2.2)"),
          out,
          {draw_matrix(said("1. Word vectors"), x, words, three, 0, 1, 1),
           draw_matrix(said("2. Similarity"), scores, words, words, 0, 1.5),
           draw_matrix(said("3. Attention weights"), weights, words, words, 0, 0.5, 3),
           draw_matrix(said("4. Contextual vectors"), context, words, three, 0, 1, 3)}};
}

}  // namespace

Exhibit show_attention_steps(const ShowRequest& request) {
  return request.example == "journey" ? show_journey() : show_time_flies();
}

namespace {

std::vector<Number> numbers_of_words() {
  const TimeFlies made;
  const auto& [words, x, scores, weights, contexts] = made;
  return {
      same("Input matrix shape", plain_shape(x)),           same("Input matrix", numpy_rows(x)),
      same("Input matrix transpose", numpy_rows(x.t())),    same("Similarity matrix shape", plain_shape(scores)),
      same("Similarity matrix", rows_of(scores, 2)),        same("Attention weights shape", plain_shape(weights)),
      same("Attention weights", numpy_rows(weights)),       same("Contextualized vectors shape", plain_shape(contexts)),
      same("Contextualized vectors", numpy_rows(contexts)),
  };
}

std::vector<Figure> figures_of_words() {
  const TimeFlies made;
  const Tensor unit = made.x / sqrt(sum(square(made.x), {1}, true));
  return {{.panels = show_attention_steps({}).drawings},
          {draw_matrix(said("Cosine similarity"), matmul(unit, unit.t()), made.words, made.words, 0, 1)}};
}

std::string sentence_as_words() {
  const TimeFlies made;
  return fmt::format("{{\"tokens\":{},\"vectors\":{},\"scale\":false}}", json_of(made.words), json_of(made.x));
}

// Scores [5, 5] of the three functions of 8.2.3, before the softmax; projections of seed 0.
std::vector<Tensor> scores_by_function() {
  const Tensor x = TimeFlies().x;
  manual_seed(0);
  const Tensor compared = matmul(x, randn({3, 3}, kFloat64));
  const SelfAttention attention(3);
  const Tensor words = x.to(kFloat32), roles = matmul(attention.q(words), attention.k(words).t());
  return {matmul(x, x.t()), matmul(compared, compared.t()), roles.to(kFloat64)};
}

std::vector<Number> numbers_of_roles() {
  std::string rows;
  const std::vector<Tensor> scores = scores_by_function();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    constexpr std::string_view kNames[] = {"one vector", "similarity and content", "query, key and value"};
    rows += fmt::format("{:<23} {:.4f}\n", kNames[i], amax(abs(scores[i] - scores[i].t())).item());
  }
  return {own(rows)};
}

std::vector<Figure> figures_of_roles() {
  const std::vector<std::string> words = TimeFlies().words;
  const std::vector<Tensor> scores = scores_by_function();
  const auto map = [&](std::string_view title, const Tensor& x) {
    return draw_matrix(title, x, words, words, amin(x).item(), amax(x).item());
  };
  return {{.panels = {map(said("One vector"), scores[0]), map(said("Separate content"), scores[1]),
                      map(said("Query, key and value"), scores[2])}}};
}

// The same words in three roles: projections of seed 0.
std::string sentence_in_roles() {
  Generator generator(0);
  const Tensor x = TimeFlies().x;
  const auto role = [&] { return json_of(matmul(x, randn({3, 3}, kFloat64, &generator))); };
  const std::string queries = role(), keys = role(), values = role();
  return fmt::format(
      "{{\"tokens\":[\"time\",\"flies\",\"like\",\"an\",\"arrow\"],\"queries\":{},\"keys\":{},\"values\":{}}}", queries,
      keys, values);
}

// The rows of the dot products whose largest entry is another word.
std::string largest_of_rows() {
  const Tensor x = TimeFlies().x;
  const std::vector<int64_t> best = argmax(matmul(x, x.t()), -1).to_vector<int64_t>();
  constexpr std::string_view kNames[] = {"time", "flies", "like", "an", "arrow"};
  std::string out;
  for (std::size_t i = 0; i < best.size(); ++i)
    out += fmt::format("{:<6} -> {}\n", kNames[i], kNames[static_cast<std::size_t>(best[i])]);
  return out;
}

// Softmax by rows of q k^T, and of k q^T.
std::string transposed_scores() {
  Generator generator(0);
  const Tensor q = randn({4, 3}, kFloat64, &generator), k = randn({4, 3}, kFloat64, &generator);
  const Tensor forth = matmul(q, k.t()), back = matmul(k, q.t());
  return said("largest |q k^T - (k q^T)^T|: {:.1e}\nlargest |softmax(q k^T) - softmax(k q^T)|: {:.2f}\n",
              amax(abs(forth - back.t())).item(), amax(abs(softmax(forth) - softmax(back))).item());
}

}  // namespace

const Computation k003_8_1{"003-8.1", numbers_of_reach, figures_of_reach, {reach_as_formula}};
const Computation k003_8_2_2{"003-8.2.2", numbers_of_words, figures_of_words, {sentence_as_words}, {largest_of_rows}};
const Computation k003_8_2_3{"003-8.2.3", numbers_of_roles, figures_of_roles, {sentence_in_roles}, {transposed_scores}};

}  // namespace tapegrad::tasks::tutorial
