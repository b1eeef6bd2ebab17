// Attention to a fixed number of projected keys. Wang, Li, Khabsa, Fang, Ma 2020, Linformer.
#pragma once

#include <tapegrad/nn/attention.h>

#include <optional>

namespace tapegrad::nn {

struct LinformerOptions {
  Tensor mask = {};                  ///< bool [..., 1, S], of the keys; true: may be attended to
  bool causal = false;               ///< Error if true: each projected key mixes all positions
  double dropout = 0;                ///< on the weights [T, K], in training
  Mode training = true;              ///< false: no dropout
  std::optional<double> scale = {};  ///< of the scores; 1 / sqrt(D) if left out
  Generator* generator = nullptr;    ///< for dropout; the default generator if left out
};
/// softmax(q (e k)^T / sqrt(D)) f v: query [..., T, D], key [..., S, D], value [..., S, E] -> [..., T, E], with weights
/// for K projected keys instead of S. e and f are [K, S], or [H, K, S] with one matrix per head (axis -3 of key); of
/// wider ones, the first S columns are used. Masked keys and values are zero before the projection, so where all are
/// masked the result is zero.
Tensor linformer_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& e,
                           const Tensor& f, const LinformerOptions& options = {});

/// Linformer as a form of attention. It has its own parameters E and F, and cannot be causal.
struct LinformerAttention {
  int64_t rank = 256;     ///< K: number of projected keys
  bool per_head = false;  ///< a projection for each head
  bool share_kv = true;   ///< one projection for keys and values
  int64_t length = 0;     ///< the longest input; 0: the model's

  /// As FormOptions requires.
  AttentionTraits traits() const;
  void list(Fields& f);
  void check() const;
  std::unique_ptr<AttentionForm> make(const AttentionSizes& sizes) const;
};

/// Sizes of LinformerSelfAttention.
struct LinformerConfig {
  int64_t d_in = 768;            ///< width of the input
  int64_t d_out = 768;           ///< width of queries, keys, values and the output; a multiple of num_heads
  int64_t num_heads = 12;        ///< each head has d_out / num_heads elements
  int64_t context_length = 512;  ///< the longest input
  int64_t projected = 256;       ///< K: number of projected keys
  bool share_kv = true;          ///< one projection for keys and values
  bool share_heads = true;       ///< one projection for all heads
  double dropout = 0;            ///< on the attention weights, in training
  bool qkv_bias = false;         ///< of the projections of query, key and value
  bool causal = false;           ///< Error if true: each projected key mixes all positions

  /// Error that names the first invalid member.
  void check() const;
};

/// Self-attention with projected keys and values: O(T K) in time and memory. Not causal. The pass may have a bool mask
/// of keys, rope, and weights, which are the weights of the S values, softmax(...) f, and may be negative. Error for a
/// cache, and for positions that add a bias. In addition to those of MultiHeadSelfAttention, it has the parameters
/// - E: [K, context_length], or [num_heads, K, context_length]; normal with variance 1 / K
/// - F: the same for values, unless they share E
///
/// To share projections between layers, tie() them.
struct LinformerSelfAttention : MultiHeadAttention {
  explicit LinformerSelfAttention(const LinformerConfig& config);
  /// Empty: its members do not say what C++ makes it.
  std::string describe() const { return {}; }
};

}  // namespace tapegrad::nn
