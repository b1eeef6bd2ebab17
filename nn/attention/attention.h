// Multi-head attention. Vaswani et al. 2017; tutorial 003, section 8.2.4.
#pragma once

#include <tapegrad/nn/attention_choice.h>
#include <tapegrad/nn/attention_pass.h>
#include <tapegrad/nn/dropout.h>
#include <tapegrad/nn/linear.h>
#include <tapegrad/nn/long_self_attention.h>

namespace tapegrad::nn {

/// Projects query, key and value, attends in every head (softmax(q k^T / sqrt(head_dim)) v), and projects the result.
/// Scores are scaled by the size of a head, not of the model.
struct MultiHeadAttention {
  /// Error unless num_attention_heads divides hidden_size. Relative positions come with each pass; the module has
  /// AttentionPositions of its own. num_kv_heads key and value heads are shared by groups of query heads
  /// (grouped-query attention; 0: as many as query heads); Error unless they divide num_attention_heads. Forms other
  /// than full attention are for self-attention; there, `causal` hides later keys in addition to the mask.
  /// Linformer needs choice.length.
  MultiHeadAttention(int64_t hidden_size, int64_t num_attention_heads, double dropout_prob = 0,
                     Positions positions = Positions::none, const PositionOptions& options = {},
                     int64_t num_kv_heads = 0, const AttentionChoice& choice = {}, bool causal = false);

  /// query [B, T, C], key and value [B, S, C] -> [B, T, C]. Self-attention is (x, x, x), cross-attention
  /// (x, memory, memory).
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionPass& pass = {}) const;
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask) const {
    return (*this)(query, key, value, AttentionPass{.mask = mask});
  }
  /// The two halves of the above, for callers that keep keys and values: [B, S, C] -> heads, and query [B, T, C] ->
  /// [B, T, C].
  KeysAndValues project_kv(const Tensor& key, const Tensor& value, const AttentionPass& pass = {}) const;
  Tensor attend(const Tensor& query, const KeysAndValues& from, const AttentionPass& pass = {}) const;
  void visit(auto&& field) {
    field("linear_layers", linear_layers);
    field("dropout", dropout);
    positions.visit(field);  // "shaw"
    long_attention.visit(field);
  }

  std::array<Linear, 4> linear_layers;  // query, key, value, output; none if the form of attention is a module
  Dropout dropout;                      // on the weights
  int64_t num_attention_heads;
  int64_t num_kv_heads;
  AttentionPositions positions;
  AttentionChoice choice;
  bool causal;
  LongSelfAttention long_attention;  // or none
};

}  // namespace tapegrad::nn
