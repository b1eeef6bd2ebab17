// The arguments of one call of flex_attention, as its kernels see them.
#pragma once

#include <tapegrad/autograd/block_mask.h>
#include <tapegrad/autograd/flex_mods.h>
#include <tapegrad/autograd/tensor.h>

#include <algorithm>
#include <cstdint>

namespace tapegrad {

/// The attention weights are not kept: backward computes them again.
struct FlexCall {
  Tensor query, key, value;  // [B, H, T, D] [B, K, S, D] [B, K, S, E]
  ScoreMod score_mod;
  BlockMask mask;
  double scale = 1;
  bool uniform = false;  // scores are 0, or -inf where the formula makes them so

  int64_t heads() const { return query.size(1); }
  int64_t rows() const { return query.size(2); }
  int64_t columns() const { return key.size(2); }
  int64_t all_heads() const { return query.size(0) * query.size(1); }
  // The number of query heads that share the keys and values of one head.
  int64_t sharing() const { return key.size(1) == 0 ? 1 : std::max<int64_t>(1, query.size(1) / key.size(1)); }
};

/// Fills y [B, H, T, E] and `softmax` [2, B H, T]: the highest score of each query, and 1 / the sum of its weights (0
/// if all keys are masked). Both are contiguous.
void flex_forward(const FlexCall& a, const Tensor& y, const Tensor& softmax);
/// Adds to dq, dk and dv, which are contiguous, from what flex_forward computed; dy is contiguous.
void flex_backward(const FlexCall& a, const Tensor& y, const Tensor& softmax, const Tensor& dy, const Tensor& dq,
                   const Tensor& dk, const Tensor& dv);
/// Adds the tangent of y to of_y, contiguous; `of` contains the tangents of query, key and value.
void flex_tangent(const FlexCall& a, const Tensor& y, const Tensor& softmax, const FlexCall& of, const Tensor& of_y);

}  // namespace tapegrad
