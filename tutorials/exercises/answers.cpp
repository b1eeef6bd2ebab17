// What the functions of each exercise are called with, and what the library computes for it.
#include <tapegrad/tapegrad.h>
#include <tapegrad/tutorials/exercises/exercise.h>
#include <tapegrad/tutorials/pages/journey.h>

#include <cmath>

namespace tapegrad::tasks::exercises {
namespace {

// Numbers without a pattern between -2 and 2, the same ones for the same shape.
Tensor numbers_of(const Shape& shape) {
  // i -> (37 i + 11) mod 101: distinct for 101 numbers, and exact in float32 before the last division.
  const Tensor mixed = remainder(arange(shape.numel()) * 37 + 11, 101).to(kFloat32);
  return ((mixed - 50) / 25).reshape(shape);
}

// With four digits after the point, as PyTorch prints.
Tensor as_printed(const Tensor& x) { return (round(x.to(kFloat64) * 1e4) / 1e4).to(kFloat32); }

Numbers another_head() {
  const Tensor x = numbers_of({4, 6}), contexts = numbers_of({4, 3}) / 2;
  const Tensor wq = numbers_of({6, 2}), wk = numbers_of({2, 6}).t() / 2, wv = numbers_of({6, 2}) + 0.5;
  const Tensor q = matmul(x, wq), k = matmul(x, wk), v = matmul(x, wv);
  const Tensor scores = where(nn::causal_mask(4), matmul(q, k.t()) / std::sqrt(2.0), -INFINITY);
  return {.given = {{"x", x}, {"contexts", contexts}, {"wq", wq}, {"wk", wk}, {"wv", wv}},
          .expected = {{"contexts", cat({contexts, matmul(softmax(scores), v)}, 1)}}};
}

Numbers gelu_by_tanh() {
  const Tensor x = numbers_of({4, 5});
  const Tensor inner = std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x);
  return {.given = {{"x", x}}, .expected = {{"gelu", 0.5 * x * (1 + tanh(inner))}}};
}

Numbers sinusoidal_positions() {
  return {.expected = {{"positions", nn::sinusoidal_table(6, 8)}, {"one position", nn::sinusoidal_table(1, 2)}}};
}

Numbers subsequent_masks() {
  return {.expected = {{"mask of 5", nn::causal_mask(5).unsqueeze(0)}, {"mask of 1", nn::causal_mask(1).unsqueeze(0)}}};
}

Numbers masked_keys() {
  const Tensor scores = numbers_of({2, 2, 4, 4}), padding = tensor({{0, 0, 0, 1}, {0, 0, 1, 1}}) == 1;
  const Tensor weights = softmax(masked_fill(scores, padding.reshape({2, 1, 1, 4}), -INFINITY));
  return {.given = {{"scores", scores}, {"padding", padding.reshape({2, 4, 1})}}, .expected = {{"weights", weights}}};
}

Numbers padding_by_length() {
  const Tensor padding = tensor({{0, 0, 0, 1, 1}, {0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}, {0, 1, 1, 1, 1}}) == 1;
  return {.given = {{"lengths", tensor({3, 5, 0, 1})}}, .expected = {{"padding", padding.unsqueeze(-1)}}};
}

Numbers mask_of_decoder() {
  const Tensor ids = tensor({{5, 7, 2, 0}, {3, 0, 0, 0}});
  return {.given = {{"ids", ids}},
          .expected = {{"mask", nn::padding_mask(ids).reshape({2, 1, 1, 4}) && nn::causal_mask(4)}}};
}

Numbers stretched_positions() {
  const Tensor table = numbers_of({4, 3}), next = cat({table.slice(0, 1), table.slice(0, -1)}, 0);
  const Tensor doubled = stack({table, (table + next) / 2}, 1).reshape({8, 3});  // each row, and its mean with the next
  return {.given = {{"table", table}}, .expected = {{"twice as long", doubled}, {"as long as in training", table}}};
}

Numbers rotated_pairs() {
  const Tensor x = numbers_of({4, 6}), equal = numbers_of({1, 6}).expand({4, 6}), words = nn::rope(equal, 0, 100);
  return {.given = {{"x", x}, {"equal words", equal}},
          .expected = {{"rotated", nn::rope(x)}, {"scores of equal words", matmul(words, words.t())}}};
}

Numbers rates_of_noam() {
  std::vector<double> rates, first;
  for (int64_t step = 1; step <= 8; ++step) rates.push_back(optim::Noam{64, 3, 2}(step));
  for (int64_t step = 1; step <= 3; ++step) first.push_back(optim::Noam{512, 4000, 1}(step));
  return {.expected = {{"rates with a warm-up of 3 steps", tensor(rates, {8})},
                       {"the first rates of the paper", tensor(first, {3})}}};
}

Numbers normalised_tokens() {
  const Tensor x = numbers_of({2, 3, 6}) * 5, gamma = numbers_of({6}), beta = numbers_of({6}) + 1;
  return {.given = {{"x", x}, {"gamma", gamma}, {"beta", beta}},
          .expected = {{"normalised", layer_norm_std(x, gamma, beta, 1e-6)},
                       {"with a large eps", layer_norm_std(x, gamma, beta, 0.5)}}};
}

Numbers two_linear_layers() {
  const Tensor x = numbers_of({2, 3, 4}), w1 = numbers_of({6, 4}), b1 = numbers_of({6});
  const Tensor w2 = numbers_of({4, 6}), b2 = numbers_of({4});
  return {.given = {{"x", x}, {"w1", w1}, {"b1", b1}, {"w2", w2}, {"b2", b2}},
          .expected = {{"output", linear(relu(linear(x, w1, b1)), w2, b2)}}};
}

Numbers residual_of_pre_ln() {
  const Tensor x = numbers_of({3, 4}) * 3, gamma = numbers_of({4}) + 2, beta = numbers_of({4});
  const Tensor weight = numbers_of({4, 4}), inner = relu(matmul(layer_norm(x, gamma, beta), weight));
  return {.given = {{"x", x}, {"gamma", gamma}, {"beta", beta}, {"weight", weight}},
          .expected = {{"sum", x + inner}, {"x past a block that returns 0", x}}};
}

Numbers best_of_beams() {
  const Tensor after = tensor({{0.5, 0.3, 0.2}, {0.2, 0.7, 0.1}, {0.03, 0.02, 0.95}, {0.4, 0.4, 0.2}});
  return {.given = {{"first", log(tensor({0.36, 0.30, 0.28, 0.06})) + 1},
                    {"second", log(after) + tensor({{3.}, {0.}, {-2.}, {1.}})}},
          // 0.36 * 0.5 = 0.18, 0.30 * 0.7 = 0.21 and 0.28 * 0.95 = 0.266
          .expected = {{"1 beam", tensor({0, 0})}, {"2 beams", tensor({1, 1})}, {"4 beams", tensor({2, 2})}}};
}

Numbers written_greedily() {
  return {.given = {{"logits", tensor({{0.1, 0.2, 0.3, 2.0, 0.4},  // of the first token, of the second, ...
                                       {0.5, 1.5, 0.2, 1.4, 0.1},
                                       {0.3, 0.9, 0.8, 0.2, 0.7},
                                       {0.1, 0.2, 0.3, 0.4, 0.5},
                                       {0.9, 0.1, 0.2, 0.3, 0.4},
                                       {0.1, 0.2, 0.9, 0.3, 0.4}})}},
          .expected = {{"at most two tokens", tensor({3, 1})}, {"at most six tokens", tensor({3, 1, 1, 4})}}};
}

Numbers temperatures() {
  const Tensor logits = tensor({1.0, 2.0, 0.5, -1.0});
  return {.given = {{"logits", logits}},
          .expected = {{"temperature 1", softmax(logits)},
                       {"temperature 0.5", softmax(logits * 2)},
                       {"temperature 1.5", softmax(logits / 1.5)},
                       {"temperature 0", tensor({0., 1., 0., 0.})}}};
}

// After "나는": 집에, 학교에, 밥을, 공원에.
Numbers nuclei_of_words() {
  const Tensor words = tensor({0.30, 0.45, 0.10, 0.15});
  const auto nucleus = [&](double p) {
    return nn::sampling_probabilities(log(words).unsqueeze(0), {.temperature = 1, .top_p = p})[0];
  };
  return {.given = {{"probabilities", words}},
          .expected = {{"p = 0.8", nucleus(0.8)}, {"p = 0.5", nucleus(0.5)}, {"p = 0.2", nucleus(0.2)}}};
}

Numbers losses_of_copy() {
  const Tensor logits = numbers_of({2, 3, 5}), target = tensor({{0, 1, 2}, {3, 4, 1}});
  const Tensor all = -log_softmax(logits), right = gather(all, -1, target.unsqueeze(-1));
  const auto smoothed = [&](double by) { return ((1 - by) * sum(right) + by * sum(all) / 5) / 2; };
  return {.given = {{"logits", logits}, {"target", target}},
          .expected = {{"loss", smoothed(0)}, {"loss with smoothing 0.1", smoothed(0.1)}}};
}

Numbers rates_of_exact_match() {
  return {.given = {{"predicted", tensor({{4, 0, 8, 9}, {1, 2, 3, 4}, {5, 5, 0, 0}, {7, 1, 1, 2}})},
                    {"target", tensor({{4, 0, 8, 0}, {1, 2, 3, 5}, {5, 5, 0, 0}, {7, 1, 1, 2}})}},
          .expected = {{"rate", tensor({0.75})},  // the second of the four is wrong
                       {"rate of the target itself", tensor({1.0})}}};
}

Numbers softmax_of_scores() {
  const Tensor words = given::journey(), scores = matmul(words, words[1]);
  const Tensor large = tensor({{1000.0, 1001.0, 999.0}, {-1000.0, -1001.0, -1003.0}});
  return {.given = {{"scores of journey", scores}, {"large scores", large}},
          .expected = {{"scores of journey", softmax(scores)}, {"large scores", softmax(large)}}};
}

Numbers contexts_of_words() {
  const Tensor words = given::journey();
  return {.given = {{"words", words}}, .expected = {{"contexts", matmul(softmax(matmul(words, words.t())), words)}}};
}

Numbers scaled_contexts() {
  const Tensor q = numbers_of({2, 4}), k = numbers_of({5, 4}), v = numbers_of({5, 3});
  return {.given = {{"q", q}, {"k", k}, {"v", v}},
          .expected = {{"contexts", matmul(softmax(matmul(q, k.t()) / 2), v)}}};  // 2: the root of 4
}

// What cells 28 and 33 print.
Numbers renormalised_weights() {
  const Tensor scores = tutorial::journey_scores() / std::sqrt(2.0);
  const Tensor causal = softmax(masked_fill(scores, !nn::causal_mask(6), -INFINITY));
  return {.given = {{"weights", as_printed(softmax(scores))}}, .expected = {{"weights", as_printed(causal)}}};
}

Numbers dropped_numbers() {
  const Tensor x = numbers_of({3, 4}), keep = x > -0.5, kept = where(keep, x, 0.0);
  return {.given = {{"x", x}, {"keep", keep}}, .expected = {{"p 0.5", kept * 2}, {"p 0.2", kept * 1.25}}};
}

Numbers split_and_merged() {
  const Tensor x = numbers_of({2, 3, 4}), heads = numbers_of({2, 2, 3, 2});
  return {.given = {{"x", x}, {"heads", heads}},
          .expected = {{"split", x.reshape({2, 3, 2, 2}).transpose(1, 2)},
                       {"merged", heads.transpose(1, 2).reshape({2, 3, 4})}}};
}

constexpr Answers kAnswers[] = {
    {"000-2", another_head},
    {"000-4", gelu_by_tanh},
    {"001-2.1", sinusoidal_positions},
    {"001-2.2", subsequent_masks},
    {"002-2", masked_keys},
    {"002-3", padding_by_length},
    {"003-8.2.5", mask_of_decoder},
    {"003-8.3.1", stretched_positions},
    {"003-8.3.2", rotated_pairs},
    {"003-8.4", rates_of_noam, 1e-12},
    {"003-8.4.1", normalised_tokens},
    {"003-8.4.1-feed-forward", two_linear_layers},
    {"003-8.4.1-pre-ln", residual_of_pre_ln},
    {"003-8.4.3-beams", best_of_beams},
    {"003-8.4.3-greedy", written_greedily},
    {"003-8.4.3-temperature", temperatures},
    {"003-8.4.3-top-p", nuclei_of_words},
    {"003-8.5.1", losses_of_copy},
    {"003-8.5.2", rates_of_exact_match},
    {"004-6", softmax_of_scores},
    {"004-13", contexts_of_words},
    {"004-23", scaled_contexts},
    {"004-31", renormalised_weights, 1.5e-4},
    {"004-35", dropped_numbers},
    {"004-40", split_and_merged},
};

}  // namespace

std::span<const Answers> all_answers() { return kAnswers; }

}  // namespace tapegrad::tasks::exercises
