// Relative positions, which work inside of self-attention: RoPE, Shaw's embeddings, T5's bias, ALiBi.
#pragma once

#include <tapegrad/nn/positions.h>

namespace tapegrad::nn {

// What one pass through a stack of layers hands to every self-attention, about queries that stand at
// start .. start + T - 1 and keys at 0 .. S - 1.
struct PositionTerms {
  Tensor bias = {};     // [1, H, T, S], added to the scaled scores, or none (t5, alibi)
  Tensor cosines = {};  // [T, D/2], and sines: by these angles queries and new keys are turned, or none (rope)
  Tensor sines = {};
  int64_t start = 0;
};

// --- RoPE. Su et al. 2021, RoFormer ---
// x [..., T, D] -> the same, each pair (x(2i), x(2i+1)) at position t turned by the angle t base^(-2i/D). The product
// of a turned query and a turned key depends on the distance of their positions alone. Error for an odd D.
Tensor rope(const Tensor& x, int64_t start = 0, double base = 10000);
// The base for contexts `scale` times longer: base scale^(D/(D-2)) leaves the fastest pair as it is and slows the
// slowest by `scale`. NTK-aware scaling, 2023 (tutorial, 8.3, deep dive).
double ntk_base(double base, double scale, int64_t head_dim);
// cos and sin of the angles at positions start .. start + length - 1, [length, D/2] each.
struct Angles {
  Tensor cosines, sines;
};
Angles rope_angles(int64_t length, int64_t head_dim, int64_t start, double base, DType dtype);
Tensor rotate_pairs(const Tensor& x, const Tensor& cosines, const Tensor& sines);

// --- distances ---
// int64 [T, S]: for query t, which stands at start + t, and key s: s - (start + t), cut to [-most, most], plus most.
Tensor clipped_distances(int64_t queries, int64_t keys, int64_t start, int64_t most);

// A learned vector a distance, shared by the heads of one attention. Shaw, Uszkoreit, Vaswani 2018: scores become
// q (k + a_K)^T / sqrt(D) and, with values, results sum w (v + a_V).
struct ShawPositions {
  ShawPositions() = default;  // none: defined() is false
  ShawPositions(int64_t max_distance, int64_t head_dim, bool with_values = false);
  bool defined() const { return keys.defined(); }
  int64_t max_distance() const { return keys->size(0) / 2; }
  // q [B, H, T, D] -> q a_K^T by distance, [B, H, T, S], unscaled.
  Tensor scores(const Tensor& q, int64_t key_count, int64_t start) const;
  // weights [B, H, T, S] -> sum over the keys of w a_V, [B, H, T, D].
  Tensor mixed(const Tensor& weights, int64_t start) const;
  void visit(auto&& field) {
    field("keys", keys);
    field("values", values);
  }

  Parameter keys;    // [2 max_distance + 1, D]: distance -max_distance first. Xavier-uniform
  Parameter values;  // the same, or none
};

// A learned number for every head and bucket of distances, added to the scores; one table for a stack of layers. Raffel
// et al. 2020. Small distances have a bucket each, larger ones share buckets of growing width.
struct T5Bias {
  T5Bias() = default;  // none
  T5Bias(int64_t buckets, int64_t max_distance, int64_t heads, bool both_directions);
  Tensor operator()(int64_t queries, int64_t keys, int64_t start = 0) const;  // [1, H, T, S]
  void visit(auto&& field) { field("weight", weight); }

  Parameter weight;  // [buckets, H], xavier-uniform
  int64_t max_distance = 0;
  bool both_directions = false;  // half of the buckets for keys behind the query; else these count as distance 0
};
// The bucket of a distance (key's position less the query's).
int64_t t5_bucket(int64_t distance, int64_t buckets, int64_t max_distance, bool both_directions);

// The slope of every head, [H]: 2^(-8h/H) for h = 1 .. H, and for other counts than powers of two every second one of
// the next power's behind those of the one before. Press, Smith, Lewis 2022.
Tensor alibi_slopes(int64_t heads, DType dtype = kFloat32);
// - slope * |distance|, [1, H, T, S].
Tensor alibi_bias(int64_t heads, int64_t queries, int64_t keys, int64_t start = 0, DType dtype = kFloat32);

// What a stack of layers holds for its self-attentions: the table of T5, and how to make the terms of a pass. (Shaw's
// vectors belong to each attention.)
struct RelativePositions {
  // `causal`: a query sees no key behind it. Error where the kind does not fit head_dim.
  RelativePositions(Positions kind, int64_t heads, int64_t head_dim, bool causal, const PositionOptions& options = {});
  // Terms for T queries from `start` on and S keys, in the type of the model.
  PositionTerms operator()(int64_t queries, int64_t keys, int64_t start, DType dtype) const;
  void visit(auto&& field) { t5.visit(field); }  // "weight", for T5

  T5Bias t5;
  Positions kind;
  int64_t heads, head_dim;
  double rope_base;  // scaled
};

// x [B, H, T, D] as RoPE turns it, for queries and keys before they are kept; x itself for the other kinds and for
// none.
Tensor rotated(const Tensor& x, const PositionTerms* positions);
// Attention with what `positions` (or nullptr) and `shaw` (or none) add: q [B, H, T, D], k and v [B, H, S, D] ->
// [B, H, T, D]. The mask is bool or floating, as everywhere. `weights`, where given, receives [B, H, T, S] before
// dropout, detached.
Tensor positioned_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options,
                            const PositionTerms* positions, const ShawPositions& shaw, Tensor* weights = nullptr);

}  // namespace tapegrad::nn
