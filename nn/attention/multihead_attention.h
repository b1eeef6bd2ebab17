// PyTorch's nn.MultiheadAttention: its parameters, its arithmetic and its random numbers.
#pragma once

#include <tapegrad/nn/dropout.h>
#include <tapegrad/nn/linear.h>

#include <array>

namespace tapegrad::nn {

/// The options of PyTorch's constructor.
struct MultiheadAttentionOptions {
  double dropout = 0;          ///< on the attention weights, in training
  bool bias = true;            ///< of all projections
  bool add_bias_kv = false;    ///< one more key and value, which are parameters
  bool add_zero_attn = false;  ///< one more key and value, which are zeros
  int64_t kdim = 0;            ///< width of the keys; 0: embed_dim
  int64_t vdim = 0;            ///< width of the values; 0: embed_dim
  bool batch_first = false;    ///< inputs are [N, T, E], not [T, N, E]
};

/// The options of PyTorch's forward. As there, and unlike elsewhere in tapegrad, a bool mask is true where a position
/// is hidden; a floating mask is added to the scores.
struct MultiheadPass {
  Tensor key_padding_mask = {};      ///< [N, S]; [S] for inputs without a batch
  Tensor attn_mask = {};             ///< [T, S], or [N * num_heads, T, S]
  Tensor* weights = nullptr;         ///< gets the attention weights, [N, T, S], before dropout and not recorded
  bool average_attn_weights = true;  ///< false: the weights of each head, [N, num_heads, T, S]
};

/// Attention with the parameters of PyTorch's nn.MultiheadAttention, `in_proj_weight`, `in_proj_bias` and `out_proj`,
/// so that a state of PyTorch loads. They start as PyTorch's after the same seed, and dropout samples the same numbers.
/// The module of the tutorials, with other names, is MultiHeadAttention. Error unless num_heads divides embed_dim.
struct MultiheadAttention {
  MultiheadAttention(int64_t embed_dim, int64_t num_heads, const MultiheadAttentionOptions& options = {});
  /// query [T, N, E], key [S, N, kdim], value [S, N, vdim] -> [T, N, E]; with batch_first, N before T and S; without a
  /// batch, no N. A query whose keys are all hidden gives the bias of out_proj.
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value, const MultiheadPass& pass = {}) const;
  void visit(auto&& field) {
    field("in_proj_weight", in_proj_weight);
    field("q_proj_weight", q_proj_weight);
    field("k_proj_weight", k_proj_weight);
    field("v_proj_weight", v_proj_weight);
    field("in_proj_bias", in_proj_bias);
    field("bias_k", bias_k);
    field("bias_v", bias_v);
    field("out_proj", out_proj);
    field("dropout", dropout);
  }

  int64_t embed_dim, num_heads;                           ///< E, and the number of heads that share it
  bool add_zero_attn, batch_first;                        ///< as in the options
  Linear out_proj;                                        ///< E -> E
  Parameter in_proj_weight;                               // [3 E, E]; none if kdim or vdim is not E
  Parameter q_proj_weight, k_proj_weight, v_proj_weight;  // then [E, E], [E, kdim] and [E, vdim]
  Parameter in_proj_bias;                                 // [3 E], or none
  Parameter bias_k, bias_v;                               // [1, 1, E] with add_bias_kv
  Dropout dropout;                                        ///< of the weights

 private:
  std::array<Tensor, 3> project(const Tensor& q, const Tensor& k, const Tensor& v) const;
};

}  // namespace tapegrad::nn
