// One learned vector per distance. Shaw, Uszkoreit, Vaswani 2018.
#pragma once

#include <tapegrad/nn/module.h>

namespace tapegrad::nn {

struct ShawOptions {
  int64_t distance = 16;  ///< larger distances are clamped to it
  bool values = false;    ///< also add vectors to the values (the paper's equation 3)
};

/// int64 [T, S]: the distance s - (start + t) of key s from query t, clamped to [-most, most], plus most.
Tensor clipped_distances(int64_t queries, int64_t keys, int64_t start, int64_t most);

/// One learned vector per distance, shared by the heads of one attention. Scores become q (k + a_K)^T / sqrt(D) and,
/// with values, results become sum w (v + a_V).
struct ShawPositions {
  ShawPositions() = default;  ///< none: defined() is false
  ShawPositions(int64_t max_distance, int64_t head_dim, bool with_values = false);
  bool defined() const { return keys.defined(); }
  int64_t max_distance() const { return keys->size(0) / 2; }
  /// q [B, H, T, D] -> q a_K^T by distance, [B, H, T, S], unscaled.
  Tensor scores(const Tensor& q, int64_t key_count, int64_t start) const;
  /// weights [B, H, T, S] -> the sum over the keys of w a_V, [B, H, T, D].
  Tensor weighted_values(const Tensor& weights, int64_t start) const;
  void visit(auto&& field) {
    field("keys", keys);
    field("values", values);
  }

  Parameter keys;    // [2 max_distance + 1, D], distance -max_distance first; xavier-uniform
  Parameter values;  // the same, or none
};

}  // namespace tapegrad::nn
