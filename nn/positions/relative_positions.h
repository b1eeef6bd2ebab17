// Relative positions, which act inside self-attention: RoPE, Shaw's embeddings, T5's bias, ALiBi.
#pragma once

#include <tapegrad/nn/positions.h>

#include <span>
#include <vector>

namespace tapegrad::nn {

/// What every self-attention of a stack gets in one pass, for queries at positions start .. start + T - 1 and keys at
/// 0 .. S - 1.
struct PositionBias {
  Tensor bias = {};        ///< t5, alibi: [1, H, T, S], added to the scaled scores
  Tensor cosines = {};     ///< rope: [T, D/2], of the rotation angles of queries and new keys
  Tensor sines = {};       ///< rope: the same
  Tensor shaw_scale = {};  ///< composite with shaw: one number, which multiplies their contribution
  bool halves = false;     ///< rope: the pairs are elements i and i + D/2, not 2i and 2i + 1
  int64_t start = 0;
};

// --- RoPE. Su et al. 2021, RoFormer ---

/// x [..., T, D] -> the same shape: each pair (x(2i), x(2i+1)) at position t is rotated by the angle t base^(-2i/D).
/// The product of a rotated query and a rotated key depends only on the distance of their positions. Error for an odd
/// D.
Tensor rope(const Tensor& x, int64_t start = 0, double base = 10000);
/// The base for contexts `scale` times longer: base scale^(D/(D-2)) keeps the fastest pair as it is and slows the
/// slowest one by `scale`. NTK-aware scaling, 2023 (tutorial 003, 8.3.2, deep dive 1).
double ntk_base(double base, double scale, int64_t head_dim);
/// cos and sin of the angles at positions start .. start + length - 1, each [length, D/2].
struct Angles {
  Tensor cosines, sines;
};
Angles rope_angles(int64_t length, int64_t head_dim, int64_t start, double base, DType dtype);
/// The same for pairs that rotate by these angles per position; rope_speeds has base^(-2i/D). Error for an odd D.
Angles rope_angles(int64_t length, std::span<const double> speeds, int64_t start, DType dtype);
std::vector<double> rope_speeds(int64_t head_dim, double base);
/// x [..., T, D] with its pairs rotated: elements 2i and 2i + 1, or with `halves` i and i + D/2.
Tensor rotate_pairs(const Tensor& x, const Tensor& cosines, const Tensor& sines, bool halves = false);
/// x [B, H, T, D], rotated where `positions` has angles; x itself for the other kinds and for nullptr.
Tensor apply_rope(const Tensor& x, const PositionBias* positions);

// --- distances ---

/// int64 [T, S]: the distance s - (start + t) of key s from query t, clamped to [-most, most], plus most.
Tensor clipped_distances(int64_t queries, int64_t keys, int64_t start, int64_t most);

/// One learned vector per distance, shared by the heads of one attention. Scores become q (k + a_K)^T / sqrt(D) and,
/// with values, results become sum w (v + a_V). Shaw, Uszkoreit, Vaswani 2018.
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
/// Those of one attention: none unless `positions` is shaw.
ShawPositions shaw_positions(Positions positions, int64_t head_dim, const PositionOptions& options);

/// One learned number per head and bucket of distances, added to the scores; one table per stack of layers. Small
/// distances have a bucket each, larger ones share buckets of growing width. Raffel et al. 2020.
struct T5Bias {
  T5Bias() = default;  ///< none
  T5Bias(int64_t buckets, int64_t max_distance, int64_t heads, bool both_directions);
  Tensor operator()(int64_t queries, int64_t keys, int64_t start = 0) const;  ///< [1, H, T, S]
  void visit(auto&& field) { field("weight", weight); }

  Parameter weight;  // [buckets, H], xavier-uniform
  int64_t max_distance = 0;
  // Half of the buckets are for keys after the query; otherwise these count as distance 0.
  bool both_directions = false;
};
/// The bucket of a distance (the key's position minus the query's).
int64_t t5_bucket(int64_t distance, int64_t buckets, int64_t max_distance, bool both_directions);

/// The slope of every head, [H]: 2^(-8h/H), h = 1 .. H, for a power of two. For other numbers of heads: the slopes of
/// the largest power of two below H, followed by every second slope of the next power. Press, Smith, Lewis 2022.
Tensor alibi_slopes(int64_t heads, DType dtype = kFloat32);
/// -slope * |distance|, [1, H, T, S].
Tensor alibi_bias(int64_t heads, int64_t queries, int64_t keys, int64_t start = 0, DType dtype = kFloat32);

/// The positions that the self-attentions of a stack share: T5's table, the beta of composite positions, and the
/// PositionBias of a pass. (Each attention has its own Shaw vectors.) Beta is 1 initially; it multiplies T5's and
/// ALiBi's bias, the contribution of Shaw's vectors, and RoPE's angles. At 0 the relative kind has no effect.
struct RelativePositions {
  /// With `causal`, a query never attends to later keys. Error if the kind does not support head_dim.
  RelativePositions(Positions positions, int64_t heads, int64_t head_dim, bool causal,
                    const PositionOptions& options = {});
  /// For T queries from position `start` on and S keys, in the model's type.
  PositionBias operator()(int64_t queries, int64_t keys, int64_t start, DType dtype) const;
  void visit(auto&& field) {
    t5.visit(field);  // "weight", for T5
    field("beta", beta);
  }

  T5Bias t5;
  Parameter beta;  // one number, for composite positions
  Positions kind;  // the relative kind, or none
  int64_t heads, head_dim;
  double rope_base;  // scaled
};

}  // namespace tapegrad::nn
