// Gradients per example (BackwardOptions::per_example): how the engine distinguishes them from others.
//
// During such a backward a gradient has one of two forms. If the rows of a result belong to the examples, in order, its
// gradient has the result's shape. The gradient of a tensor without such rows, such as a weight, has the shape
// [examples, ...]: one complete gradient per example.
//
// To check that examples are not mixed, each loss is scaled by another number: its gradient must be scaled alike.
#pragma once

#include <tapegrad/autograd/gradients.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/tensor.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace tapegrad::detail {

/// Whether dy is one gradient per example for a result of this shape.
inline bool is_per_example(const Tensor& dy, const Shape& shape) { return dy.dim() == shape.rank() + 1; }

/// `grad`, which the backward of `op` returned for an input of this shape, in one of the two forms. A first axis that
/// the input lacks, or has with size 1, separates the examples; sums undo all other broadcasting. Error if `grad` is
/// known to be summed over the examples: it has the input's shape, and the input is a leaf (`leaf`, otherwise an empty
/// handle) or cannot be divided among the examples.
Tensor in_form(const Op& op, const Tensor& grad, const Shape& input, int64_t examples, const Tensor& leaf);

/// [examples, ...] from one gradient per example for an input of this shape; an empty handle counts as zeros.
Tensor joined(const Op& op, std::vector<Tensor>& grads, const Shape& input);

/// Error unless each gradient in `scaled`, of losses times the scales [examples], is the gradient in `once` times the
/// scales, example by example: otherwise a gradient has parts of several losses.
void require_separate(std::string_view where, const Gradients& once, const Gradients& scaled, const Tensor& scales);

/// [count]: powers of two between 1/8 and 8, in an irregular order. Multiplying by them is exact.
Tensor powers_of_two(int64_t count, DType dtype);

/// The first row i where scaled[i] is not once[i] * scales[i] up to rounding; -1 if there is none. scales: [B].
int64_t first_not_scaled(const Tensor& once, const Tensor& scaled, const Tensor& scales);

}  // namespace tapegrad::detail
