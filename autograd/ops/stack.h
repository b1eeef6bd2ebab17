// Stacks of matrices: where each matrix of a tensor starts, and fresh tensors that are laid out like another one.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <vector>

namespace tapegrad {

using Offsets = std::vector<int64_t, pool::Allocator<int64_t>>;

// x [batch..., m, n], its leading axes broadcast to `batch`: the first element of each matrix, counted in elements.
Offsets matrix_starts(const Tensor& x, const Shape& batch);

// The axes of x before its last two.
Shape leading_axes(const Tensor& x);

// x with its last two axes exchanged, not recorded: for kernels.
Tensor transposed_view(const Tensor& x);

// A fresh tensor of x's shape with `last` as its last size, whose axes lie in memory in x's order: the gradient of a
// transposed view is then contiguous under the transposition that undoes it.
Tensor empty_laid_out_as(const Tensor& x, int64_t last);

}  // namespace tapegrad
