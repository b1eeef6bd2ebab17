// Attention of several heads. Vaswani et al. 2017; tutorial, section 8.2.4.
#pragma once

#include <tapegrad/nn/dropout.h>
#include <tapegrad/nn/linear.h>
#include <tapegrad/nn/relative_positions.h>

namespace tapegrad::nn {

// What attention looks at, projected and cut into heads.
struct KeysAndValues {
  Tensor keys, values;  // [B, heads, S, head_dim]
};

// Projects query, key and value, lets every head attend (softmax(q k^T / sqrt(head_dim)) v), and projects the result.
// Scores are scaled by the size of a head, not of the model.
struct MultiHeadAttention {
  // Error unless num_attention_heads divides hidden_size. Of `positions`, shaw brings vectors of its own; the other
  // relative kinds come with each call.
  MultiHeadAttention(int64_t hidden_size, int64_t num_attention_heads, double dropout_prob = 0,
                     Positions positions = Positions::none, const PositionOptions& options = {});

  // query [B, T, C], key and value [B, S, C] -> [B, T, C]. `mask` broadcasts to [B, heads, T, S] and is bool (true may
  // be seen) or added to the scores. Self-attention is (x, x, x), cross-attention (x, memory, memory). `weights`, where
  // given, receives the attention weights [B, heads, T, S] before dropout, detached. `positions`: RelativePositions'.
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask = {},
                    Tensor* weights = nullptr, const PositionTerms* positions = nullptr) const;
  // The two halves of the same, for who keeps keys and values: [B, S, C] -> heads, and query [B, T, C] -> [B, T, C].
  KeysAndValues project(const Tensor& key, const Tensor& value, const PositionTerms* positions = nullptr) const;
  Tensor attend(const Tensor& query, const KeysAndValues& from, const Tensor& mask = {}, Tensor* weights = nullptr,
                const PositionTerms* positions = nullptr) const;
  void visit(auto&& field) {
    field("linear_layers", linear_layers);
    field("dropout", dropout);
    field("shaw", shaw);
  }

  std::array<Linear, 4> linear_layers;  // query, key, value, output
  Dropout dropout;                      // on the weights
  int64_t num_attention_heads;
  ShawPositions shaw;  // or none
};

}  // namespace tapegrad::nn
