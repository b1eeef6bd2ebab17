// Multi-head self-attention whose input and output may differ in width. Tutorials 000, 002 and 004.
#pragma once

#include <tapegrad/nn/attention.h>

namespace tapegrad::nn {

struct SelfAttentionConfig {
  int64_t d_in = 768;          ///< width of the input
  int64_t d_out = 768;         ///< width of queries, keys, values and the output; a multiple of num_heads
  int64_t num_heads = 12;      ///< each head has d_out / num_heads elements
  int64_t context_length = 0;  ///< the longest input; 0: any length
  double dropout = 0;          ///< on the attention weights, in training
  bool qkv_bias = false;
  bool causal = true;  ///< position t attends to 0 .. t
  Positions positions = Positions::none;
  PositionOptions position_options = {};
  int64_t num_kv_heads = 0;  ///< heads of keys and values, each shared by a group of queries; 0: num_heads
  AttentionChoice attention = {};

  /// Error that names the first invalid member.
  void check() const;
};

/// Projects x to queries, keys and values, attends in every head (softmax(q k^T / sqrt(head_dim)) v), and projects the
/// result. Names, shapes and draws are those of MultiHeadAttention in tutorials 000 and 004.
struct MultiHeadSelfAttention {
  explicit MultiHeadSelfAttention(const SelfAttentionConfig& config);

  /// x [B, T, d_in] -> [B, T, d_out]. The mask hides keys in addition to those that causality hides. Error beyond
  /// context_length.
  Tensor operator()(const Tensor& x, const AttentionPass& pass = {}) const;
  Tensor operator()(const Tensor& x, const Tensor& mask) const { return (*this)(x, AttentionPass{.mask = mask}); }
  void visit(auto&& field) {
    field("W_query", W_query);
    field("W_key", W_key);
    field("W_value", W_value);
    field("out_proj", out_proj);
    field("dropout", dropout);
    positions.visit(field);  // "shaw"
    long_attention.visit(field);
  }

  SelfAttentionConfig config;
  Linear W_query, W_key, W_value, out_proj;  // none if the form of attention is a module
  Dropout dropout;                           // on the weights
  AttentionPositions positions;
  LongSelfAttention long_attention;  // or none
};

}  // namespace tapegrad::nn
