// Batches of matrices: where each matrix of a tensor starts, and fresh tensors with the layout of another one.
#pragma once

#include <tapegrad/autograd/pool.h>
#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

using Offsets = PoolVector<int64_t>;

/// The offset, in elements, of each matrix of x [batch..., m, n], whose leading axes broadcast to `batch`.
Offsets matrix_starts(const Tensor& x, const Shape& batch);

/// The axes of x before its last two.
Shape leading_axes(const Tensor& x);

/// x [..., m, n], expanded to [batch..., m, n].
Tensor with_leading_axes(const Tensor& x, const Shape& batch);

/// x with its last two axes exchanged, not recorded: for kernels.
Tensor transposed_view(const Tensor& x);

/// A fresh tensor of x's shape with `last` as its last size, whose axes are in memory in x's order: the gradient of a
/// transposed view is then contiguous after it is transposed back. For bfloat16 it is float32.
Tensor empty_laid_out_as(const Tensor& x, int64_t last);

}  // namespace tapegrad
