// Gradients per example (BackwardOptions::per_example): how the engine distinguishes them from others.
//
// During such a backward a gradient has one of two forms. That of a result with rows has the result's shape: its rows
// are those of the examples, in order. That of a tensor without rows, such as a weight, has the shape [examples, ...]:
// one whole gradient per example.
//
// How to see whether gradients of rows are mixed: scale the gradient of each row's result by a number of its own.
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

/// The gradient that the backward of `op` returned for an input of this shape, in one of the two forms. A first axis
/// that the input lacks, or has with size 1, separates the examples; sums undo all other broadcasting. Error if `grad`
/// is already summed over the examples, as far as that can be known: for a leaf (otherwise an empty handle), if it has
/// the leaf's shape.
Tensor in_form(const Op& op, const Tensor& grad, const Shape& input, int64_t examples, const Tensor& leaf);

/// [examples, ...] from the gradient of each example for an input of this shape.
Tensor joined(const Op& op, std::vector<Tensor>& grads, const Shape& input);

/// Error if a gradient of `once` times the scales [examples] is not that of `scaled`, which began with them: then it
/// has parts of several losses.
void require_separate(std::string_view where, const Gradients& once, const Gradients& scaled, const Tensor& scales);

/// [count]: powers of two between 1/8 and 8, in an irregular order. Products with them are exact.
Tensor powers_of_two(int64_t count, DType dtype);

/// The first row of once [B, ...] that `scaled` does not have times its scale, up to rounding; -1 if there is none.
int64_t first_not_scaled(const Tensor& once, const Tensor& scaled, const Tensor& scales);

}  // namespace tapegrad::detail
