// Tutorial 002: multi-head attention over padded sequences, which can return the tensor of each step.
#pragma once

#include <tapegrad/autograd/named_tensor.h>
#include <tapegrad/nn/linear.h>

#include <cmath>

namespace tapegrad::tasks::tutorial002 {

// [class]
// x [B, S, input_dim] -> [B, S, d_model]. Two things differ from the tutorial's
// code:
// - Its mask [B, 1, S, 1] subtracts 1e9 from all scores of a padding query. Softmax is unchanged by a constant, so no
//   key is masked (and in float32 the scores are lost, so the row becomes uniform). Here the mask is [B, 1, 1, S] and
//   masks keys.
// - It divides scores by sqrt(d_model). A score is a sum of head_dim products and grows with sqrt(head_dim), so this
//   divides by sqrt(head_dim). Otherwise weights would become flatter with more heads.
struct MultiHeadAttention {
  MultiHeadAttention(int64_t input_dim, int64_t d_model, int64_t n_heads)
      : wq(input_dim, d_model),
        wk(input_dim, d_model),
        wv(input_dim, d_model),
        dense(d_model, d_model),
        d_model(d_model),
        n_heads(n_heads) {}

  // padding [B, S, 1], bool: true where a token is padding. `steps`, if given, receives each step's tensor.
  Tensor operator()(const Tensor& x, const Tensor& padding = {}, NamedTensors* steps = nullptr) const {
    const auto step = [&](const char* name, const Tensor& value) -> const Tensor& {
      if (steps) steps->push_back({name, value.detach()});
      return value;
    };
    const int64_t batch = x.size(0), length = x.size(1), head_dim = d_model / n_heads;
    const auto heads = [&](const Tensor& y) { return y.reshape({batch, length, n_heads, head_dim}).transpose(1, 2); };
    // [steps]
    step("x", x);
    const Tensor q = step("q", wq(x)), k = step("k", wk(x)), v = step("v", wv(x));
    const Tensor query = step("q by head", heads(q));
    const Tensor key = step("k by head", heads(k));
    const Tensor value = step("v by head", heads(v));

    Tensor score = step("score", matmul(query, key.t()));  // [B, heads, S, S]: rows are queries, columns are keys
    score = step("scaled score", score / std::sqrt(static_cast<double>(head_dim)));
    if (padding.defined()) {
      step("mask", padding);
      score = step("masked score", masked_fill(score, padding.reshape({batch, 1, 1, length}), -INFINITY));
    }
    const Tensor weights = step("weights", softmax(score));
    const Tensor mixed = step("mixed", matmul(weights, value));
    const Tensor merged = step("merged", mixed.transpose(1, 2).reshape({batch, length, d_model}));
    return step("output", dense(merged));
    // [/steps]
  }
  void visit(auto&& field) {
    field("wq", wq);
    field("wk", wk);
    field("wv", wv);
    field("dense", dense);
  }

  nn::Linear wq, wk, wv, dense;
  int64_t d_model, n_heads;
};
// [/class]

}  // namespace tapegrad::tasks::tutorial002
