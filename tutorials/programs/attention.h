// The modules of tutorial 004 up to multi-head attention, written as a user of tapegrad would write them. The last one,
// MultiHeadAttention, is in the library: nn::MultiHeadSelfAttention.
#pragma once

#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/dropout.h>
#include <tapegrad/nn/linear.h>

#include <cmath>

namespace tapegrad::tasks {

// [v1]
// Self-attention with bare matrices (cell 25): x [T, d_in] -> context vectors [T, d_out].
// A module is a struct with parameters, a call operator, and a visit that names the parameters as PyTorch does.
struct SelfAttention_v1 {
  SelfAttention_v1(int64_t d_in, int64_t d_out)  // members are initialised, and draw, in the order of their declaration
      : query(rand({d_in, d_out})), key(rand({d_in, d_out})), value(rand({d_in, d_out})) {}

  Tensor operator()(const Tensor& x) const {
    const Tensor queries = matmul(x, query), keys = matmul(x, key), values = matmul(x, value);
    const Tensor scores = matmul(queries, keys.t());  // [T, T]: rows are queries, columns are keys
    const Tensor weights = softmax(scores / std::sqrt(static_cast<double>(keys.size(-1))));
    return matmul(weights, values);
  }
  void visit(auto&& field) {
    field("W_query", query);
    field("W_key", key);
    field("W_value", value);
  }

  nn::Parameter query, key, value;  // [d_in, d_out]
};
// [/v1]

namespace tutorial004 {

// [cell26]
// The form of cell 26, which is quoted there and not run: matrices drawn from the normal distribution. Any leading
// axes.
struct SelfAttention {
  SelfAttention(int64_t d_model, int64_t d_k)
      : query(randn({d_model, d_k})), key(randn({d_model, d_k})), value(randn({d_model, d_k})) {}

  Tensor operator()(const Tensor& x) const {
    const Tensor q = matmul(x, query), k = matmul(x, key), v = matmul(x, value);
    const Tensor scores = matmul(q, k.transpose(-2, -1)) / std::sqrt(static_cast<double>(k.size(-1)));
    return matmul(softmax(scores), v);
  }
  void visit(auto&& field) {
    field("W_Q", query);
    field("W_K", key);
    field("W_V", value);
  }

  nn::Parameter query, key, value;  // [d_model, d_k]
};
// [/cell26]

}  // namespace tutorial004

// [v2]
// The same with linear layers, whose initialisation suits training (cell 27). Their weights are [d_out, d_in].
struct SelfAttention_v2 {
  SelfAttention_v2(int64_t d_in, int64_t d_out, bool qkv_bias = false)
      : query(d_in, d_out, qkv_bias), key(d_in, d_out, qkv_bias), value(d_in, d_out, qkv_bias) {}

  Tensor operator()(const Tensor& x) const {
    const Tensor queries = query(x), keys = key(x);
    const Tensor weights = softmax(matmul(queries, keys.t()) / std::sqrt(static_cast<double>(keys.size(-1))));
    return matmul(weights, value(x));
  }
  void visit(auto&& field) {
    field("W_query", query);
    field("W_key", key);
    field("W_value", value);
  }

  nn::Linear query, key, value;
};

// [/v2]
// [causal]
// One causal head on a batch, with dropout of its weights (cell 38): x [B, T, d_in] -> [B, T, d_out].
struct CausalAttention {
  CausalAttention(int64_t d_in, int64_t d_out, int64_t context_length, double dropout_rate, bool qkv_bias = false)
      : query(d_in, d_out, qkv_bias),
        key(d_in, d_out, qkv_bias),
        value(d_in, d_out, qkv_bias),
        dropout(dropout_rate),
        mask(triu(ones({context_length, context_length}), 1)) {}

  Tensor operator()(const Tensor& x) const {
    const int64_t length = x.size(1);
    const Tensor queries = query(x), keys = key(x), values = value(x);
    const Tensor future = narrow(narrow(mask, 0, 0, length), 1, 0, length) == 1;
    const Tensor scores = masked_fill(matmul(queries, keys.t()), future, -INFINITY);  // [B, T, T]
    const Tensor weights = dropout(softmax(scores / std::sqrt(static_cast<double>(keys.size(-1)))));
    return matmul(weights, values);
  }
  void visit(auto&& field) {
    field("W_query", query);
    field("W_key", key);
    field("W_value", value);
    field("dropout", dropout);
    field("mask", mask);
  }

  nn::Linear query, key, value;
  nn::Dropout dropout;
  nn::Buffer mask;  // [context_length, context_length], 1 above the diagonal; saved with the model, not trained
};

// [/causal]
// [wrapper]
// Separate heads, concatenated (cell 39): [B, T, d_in] -> [B, T, num_heads * d_out].
struct MultiHeadAttentionWrapper {
  MultiHeadAttentionWrapper(int64_t d_in, int64_t d_out, int64_t context_length, double dropout_rate, int num_heads,
                            bool qkv_bias = false) {
    for (int i = 0; i < num_heads; ++i) heads.emplace_back(d_in, d_out, context_length, dropout_rate, qkv_bias);
  }

  Tensor operator()(const Tensor& x) const {
    std::vector<Tensor> contexts;
    for (const CausalAttention& head : heads) contexts.push_back(head(x));
    return cat(contexts, -1);
  }
  void visit(auto&& field) { field("heads", heads); }

  nn::List<CausalAttention> heads;
};
// [/wrapper]

}  // namespace tapegrad::tasks
