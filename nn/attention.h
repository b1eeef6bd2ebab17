// Attention of several heads. Vaswani et al. 2017; tutorial, section 8.2.4.
#pragma once

#include <tapegrad/nn/dropout.h>
#include <tapegrad/nn/linear.h>

namespace tapegrad::nn {

// Projects query, key and value, lets every head attend (softmax(q k^T / sqrt(head_dim)) v), and projects the result.
// Scores are scaled by the size of a head, not of the model.
struct MultiHeadAttention {
  // Error unless num_attention_heads divides hidden_size.
  MultiHeadAttention(std::int64_t hidden_size, std::int64_t num_attention_heads, double dropout_prob = 0);

  // query [B, T, C], key and value [B, S, C] -> [B, T, C]. `mask` is bool and broadcasts to [B, heads, T, S]: true may
  // be seen. Self-attention is (x, x, x), cross-attention (x, memory, memory). `weights`, where given, receives the
  // attention weights [B, heads, T, S] before dropout, detached.
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask = {},
                    Tensor* weights = nullptr) const;
  void visit(auto&& field) {
    field("linear_layers", linear_layers);
    field("dropout", dropout);
  }

  std::array<Linear, 4> linear_layers;  // query, key, value, output
  Dropout dropout;                      // on the weights
  std::int64_t num_attention_heads;
};

}  // namespace tapegrad::nn
