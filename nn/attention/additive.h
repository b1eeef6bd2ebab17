// Additive attention, whose scores are computed by a small network. Bahdanau, Cho, Bengio 2015, "Neural Machine
// Translation by Jointly Learning to Align and Translate".
#pragma once

#include <tapegrad/nn/linear.h>

namespace tapegrad::nn {

/// Projected keys, and the values, computed once for all steps of a decoder.
struct AdditiveKeys {
  Tensor keys;    ///< [B, S, H]: U k
  Tensor values;  ///< [B, S, V]
};

/// score(q, k) = v^T tanh(W q + U k); the result is the mean of the values, weighted by the softmax of the scores over
/// the keys. W, U and v have no bias and start as the weights of Linear do. Their parameters are "query.weight" [H, Q],
/// "key.weight" [H, K] and "score.weight" [1, H].
///
///   nn::AdditiveAttention attention(64, 128, 64);
///   const Tensor context = attention(state.unsqueeze(1), encoded);  // [B, 1, 64], [B, S, 128] -> [B, 1, 128]
struct AdditiveAttention {
  /// Error unless all sizes are positive.
  AdditiveAttention(int64_t query_size, int64_t key_size, int64_t hidden_size);

  /// q [B, T, Q], keys [B, S, K] -> [B, T, K]: the keys are the values, too. The mask broadcasts to [B, T, S];
  /// bool: true may be attended to; floating: added to the scores. Where everything is masked, weights and result are
  /// zeros. `weights` receives the weights [B, T, S], detached. Stores [B, T, S, H] for backward.
  Tensor operator()(const Tensor& q, const Tensor& keys, const Tensor& mask = {}, Tensor* weights = nullptr) const {
    return attend(q, project(keys), mask, weights);
  }
  /// The two halves of a call: project() for values [B, S, V] (empty: the keys), then a call with q [B, T, Q] -> [B, T,
  /// V].
  AdditiveKeys project(const Tensor& keys, const Tensor& values = {}) const;
  Tensor attend(const Tensor& q, const AdditiveKeys& from, const Tensor& mask = {}, Tensor* weights = nullptr) const;
  void visit(auto&& field) {
    field("query", query);
    field("key", key);
    field("score", score);
  }

  Linear query, key, score;  ///< W, U and v of the formula
};

}  // namespace tapegrad::nn
