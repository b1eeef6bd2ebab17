// Batches of matrices: where each matrix of a tensor starts, fresh tensors with the layout of another one, checks,
// loops over a batch, and errors that name a matrix of it.
#pragma once

#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops/detail/shapes.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/pool.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/autograd/tensor.h>

#include <algorithm>
#include <string_view>

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

/// Error unless x is floating and has two axes or more.
void require_matrices(std::string_view where, const Tensor& x);
/// The same, and Error unless the last two axes have equal sizes.
void require_square(std::string_view where, const Tensor& x);
/// Throws Error "[op] message (matrix [1, 2] of the batch)", or without the matrix if there is no batch.
[[noreturn]] void fail_matrix(const Op& op, std::string_view message, const Shape& batch, int64_t index);

/// The number of matrices in x.
int64_t count_matrices(const Tensor& x);
/// A fresh contiguous tensor [..., n, m] that holds the matrices of x [..., m, n] column by column. Not recorded.
Tensor column_major(const Tensor& x);

/// Whether backward is being recorded, and so must consist of recorded operations.
inline bool records_backward() { return Tape::current() != nullptr; }

/// Calls f(i) for each matrix of a batch, on several threads; f returns whether it succeeded. `work` is the approximate
/// number of multiplications per matrix. Error of `op` for the first i that failed.
void for_each_matrix(const Op& op, std::string_view message, const Shape& batch, int64_t work, const auto& f) {
  constexpr int64_t kWork = 50000;
  const int64_t count = batch.numel();
  PoolVector<char> succeeded(static_cast<std::size_t>(count));
  parallel_for_each(count, std::max<int64_t>(1, kWork / std::max<int64_t>(work, 1)),
                    [&](int64_t i) { succeeded[static_cast<std::size_t>(i)] = f(i); });
  const auto failed = std::find(succeeded.begin(), succeeded.end(), 0);
  if (failed != succeeded.end()) fail_matrix(op, message, batch, failed - succeeded.begin());
}

/// The LU factors and row exchanges of each matrix of a batch.
struct LuFactors {
  Tensor factors;  // [..., n, n]
  PoolVector<int32_t> pivots;
  int64_t singular = -1;  // the first singular matrix, or -1
};
LuFactors lu_factors(const Op& op, const Tensor& a);

}  // namespace tapegrad
