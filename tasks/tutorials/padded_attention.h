// Seed 002: attention of several heads over padded sequences, with every step's tensor for who wants to look at shapes.
#pragma once

#include <tapegrad/autograd/named_tensor.h>
#include <tapegrad/nn/linear.h>

#include <cmath>

namespace tapegrad::tasks {

// x [B, S, input_dim] -> [B, S, d_model]. Two things differ from the seed's code:
// - its mask [B, 1, S, 1] lowers whole rows of scores, those of queries that are padding. All of a row's scores fall by
//   the same 1e9: softmax sees no key hidden (and in float32 the scores drown, so the row becomes uniform). Here the
//   mask is [B, 1, 1, S] and hides keys.
// - it divides scores by sqrt(d_model). Each is a sum over head_dim products and grows with sqrt(head_dim): that is
//   what they are divided by here, or the more heads there are, the flatter the weights would be.
struct PaddedAttention {
  PaddedAttention(int64_t input_dim, int64_t d_model, int64_t n_heads)
      : wq(input_dim, d_model),
        wk(input_dim, d_model),
        wv(input_dim, d_model),
        dense(d_model, d_model),
        d_model(d_model),
        n_heads(n_heads) {}

  // padding [B, S, 1], bool: true where a token is padding. `steps`, where given, receives each step's tensor.
  Tensor operator()(const Tensor& x, const Tensor& padding = {}, NamedTensors* steps = nullptr) const {
    const auto step = [&](const char* name, const Tensor& value) {
      if (steps) steps->push_back({name, value.detach()});
      return value;
    };
    const int64_t batch = x.size(0), length = x.size(1), head_dim = d_model / n_heads;
    const auto heads = [&](const Tensor& y) { return y.reshape({batch, length, n_heads, head_dim}).transpose(1, 2); };
    step("x", x);
    const Tensor q = step("q", wq(x)), k = step("k", wk(x)), v = step("v", wv(x));
    const Tensor query = step("q by head", heads(q));
    const Tensor key = step("k by head", heads(k));
    const Tensor value = step("v by head", heads(v));

    Tensor score = step("score", matmul(query, key.t()));  // [B, heads, S, S]: row a query, column a key
    score = step("scaled score", score / std::sqrt(static_cast<double>(head_dim)));
    if (padding.defined()) {
      step("mask", padding);
      score = step("masked score", masked_fill(score, padding.reshape({batch, 1, 1, length}), -INFINITY));
    }
    const Tensor weights = step("weights", softmax(score));
    const Tensor mixed = step("mixed", matmul(weights, value));
    const Tensor merged = step("merged", mixed.transpose(1, 2).reshape({batch, length, d_model}));
    return step("output", dense(merged));
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

}  // namespace tapegrad::tasks
