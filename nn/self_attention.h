// Self-attention of several heads whose input may have another width than its output. Tutorial 002 and 004.
#pragma once

#include <tapegrad/nn/dropout.h>
#include <tapegrad/nn/linear.h>

namespace tapegrad::nn {

struct SelfAttentionConfig {
  int64_t d_in = 768;          // width of the input
  int64_t d_out = 768;         // width of queries, keys, values and the output; a multiple of num_heads
  int64_t num_heads = 12;      // each of d_out / num_heads
  int64_t context_length = 0;  // the longest input; 0: any
  double dropout = 0;          // on the weights, in training
  bool qkv_bias = false;
  bool causal = true;  // position t sees 0 .. t

  // Error that names the first member that makes no module.
  void check() const;
};

// Projects x to queries, keys and values, lets every head attend (softmax(q k^T / sqrt(head_dim)) v), and projects what
// the heads found. Names, shapes and draws are those of tutorial 004's MultiHeadAttention.
struct MultiHeadSelfAttention {
  explicit MultiHeadSelfAttention(const SelfAttentionConfig& config);

  // x [B, T, d_in] -> [B, T, d_out]. `mask` is bool and broadcasts to [B, heads, T, T]: true may be seen; it hides
  // beside what causality hides. `weights`, where given, receives the attention weights [B, heads, T, T] before
  // dropout, detached. Error beyond context_length.
  Tensor operator()(const Tensor& x, const Tensor& mask = {}, Tensor* weights = nullptr) const;
  void visit(auto&& field) {
    field("W_query", W_query);
    field("W_key", W_key);
    field("W_value", W_value);
    field("out_proj", out_proj);
    field("dropout", dropout);
  }

  SelfAttentionConfig config;
  Linear W_query, W_key, W_value, out_proj;
  Dropout dropout;  // on the weights
};

}  // namespace tapegrad::nn
