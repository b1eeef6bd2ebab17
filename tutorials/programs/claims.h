// Tutorial 003, what its prose claims, as functions that measure it: section 8.1, and the deep dives of 8.2.3
// and 8.3.2.
#pragma once

#include <tapegrad/autograd/linalg.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/parameter.h>
#include <tapegrad/nn/positions.h>
#include <tapegrad/nn/transformer.h>

#include <cmath>

namespace tapegrad::tasks {

// [reach]
// How much the last output of a model [1, n, d] -> [1, n, d] depends on the first token: the norm of the gradient of
// (last output)·direction with respect to the first token, over that with respect to the last one.
template <class Model>
double reach(const Model& model, const Tensor& tokens, const Tensor& direction) {
  const nn::Parameter x(tokens);
  Tape tape;
  const Tensor last = model(x).select(1, -1);
  const Gradients grads = tape.backward(sum(last * direction));
  const Tensor size = sqrt(sum(square(grads[x].to(kFloat64)), {0, 2}));  // of each token
  return (size[0] / size[-1]).item();
}
// [/reach]

// [scaled]
// softmax(q kᵀ / √d) v: queries [m, d], keys [n, d], values [n, c] -> [m, c]
inline Tensor scaled_attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  const double root = std::sqrt(static_cast<double>(q.size(-1)));
  return matmul(softmax(matmul(q, k.t()) / root), v);
}
// [/scaled]

// [spectrum]
// The singular values of attention weights, the largest first. q and k [n, d] -> [n].
inline Tensor singular_values(const Tensor& q, const Tensor& k) {
  const double root = std::sqrt(static_cast<double>(q.size(-1)));
  return svdvals(softmax(matmul(q, k.t()) / root));
}
// [/spectrum]

// [hopfield]
// One update of a continuous Hopfield network: the state x [d] attends to the stored patterns [n, d].
inline Tensor recalled(const Tensor& patterns, const Tensor& x) {
  return matmul(softmax(matmul(patterns, x)), patterns);
}
// Its energy, which no update raises: x·x / 2 - log Σ exp(p·x).
inline double energy(const Tensor& patterns, const Tensor& x) {
  return (0.5 * sum(square(x)) - logsumexp(matmul(patterns, x), -1)).item();
}
// [/hopfield]

// [likeness]
// The mean cosine of two different tokens of a sequence: 1 if all have one direction. x [B, n, d].
inline double likeness(const Tensor& x) {
  const Tensor unit = x / sqrt(sum(square(x), {-1}, true));
  const auto tokens = static_cast<double>(x.size(1));
  return ((mean(sum(matmul(unit, unit.transpose(1, 2)), {1, 2})) - tokens) / (tokens * (tokens - 1))).item();
}
// [/likeness]

// [information]
// The mean entropy of the rows of weights [n, n], in nats: log n if all weights are equal.
inline double entropy(const Tensor& weights) { return mean(-sum(weights * log(weights), {-1})).item(); }

// The share of the squares of weights [n, n] in the lowest quarter of frequencies, by a cosine transform of the
// queries.
inline double low_frequencies(const Tensor& weights) {
  const int64_t n = weights.size(0);
  const Tensor t = arange(0, static_cast<double>(n), 1, kFloat64);
  const Tensor waves =
      cos(matmul(t.unsqueeze(1), (t + 0.5).unsqueeze(0)) * (3.141592653589793 / static_cast<double>(n)));
  const Tensor moved = matmul(waves / sqrt(sum(square(waves), {1}, true)), weights);
  return sum(square(narrow(moved, 0, 0, n / 4))).item() / sum(square(moved)).item();
}
// [/information]

// [bond]
// The formula of deep dive 8.1, A_ij = Σ_α Q_iα K_jα, as a sum over the bond index: q and k [n, r] -> [n, n].
inline Tensor bonded_scores(const Tensor& q, const Tensor& k) {
  Tensor scores = zeros({q.size(0), k.size(0)}, q.dtype());
  for (int64_t alpha = 0; alpha < q.size(1); ++alpha)
    scores = scores + matmul(narrow(q, 1, alpha, 1), narrow(k, 1, alpha, 1).t());
  return scores;
}
// The number of singular values above rounding.
inline int64_t rank(const Tensor& x) {
  const Tensor values = svdvals(x);
  const double least = static_cast<double>(x.size(0)) * 2.2e-16 * values[0].item();
  return sum((values > least).to(kInt64)).item<int64_t>();
}
// [/bond]

// [order]
// How much the outputs of an untrained encoder change when two words are exchanged, beyond being exchanged themselves:
// close to 0 where the model does not know the order.
inline double change_of_order(nn::Positions positions) {
  manual_seed(0);
  const nn::TransformerEncoder encoder({.vocab_size = 20,
                                        .hidden_size = 32,
                                        .num_hidden_layers = 2,
                                        .num_attention_heads = 4,
                                        .intermediate_size = 64,
                                        .dropout_prob = 0,
                                        .hidden_dropout_prob = 0,
                                        .attention_probs_dropout_prob = 0,
                                        .max_position_embeddings = 8,
                                        .positions = positions});
  const Tensor there = tensor({0, 4, 2, 3, 1, 5});  // exchanges the words 1 and 4
  const Tensor ids = tensor({{3, 7, 11, 5, 13, 2}});
  const Tensor straight = encoder(ids), exchanged = encoder(index_select(ids, 1, there));
  return amax(abs(index_select(exchanged, 1, there) - straight)).item();
}
// [/order]

}  // namespace tapegrad::tasks
