// Multiplication by one matrix, for matmul and linear.
#pragma once

#include <tapegrad/autograd/kernels/product/blas.h>
#include <tapegrad/autograd/ops/detail/matrices.h>
#include <tapegrad/autograd/ops/detail/rounded.h>

#include <type_traits>

namespace tapegrad {

template <class T>
MatrixView<const T> matrix_view(const Tensor& x) {
  return {x.data<T>(), x.strides()[-2], x.strides()[-1]};
}

/// x as a matrix [rows, last axis]; a view if the strides allow one.
inline Tensor rows_of(const Tensor& x) {
  int64_t count = 1;
  for (int i = 0; i < x.dim() - 1; ++i) count *= x.shape()[i];
  return x.reshape({count, x.size(-1)});
}

/// Whether the rows of x [N, ..., last axis] can be those of `examples` examples, in order.
inline bool has_rows_of(const Tensor& x, int64_t examples) { return x.dim() >= 2 && x.size(0) % examples == 0; }
/// x for which has_rows_of() is true -> [examples, rows per example, last axis].
inline Tensor rows_by_example(const Tensor& x, int64_t examples) {
  const Tensor rows = rows_of(x);
  return rows.reshape({examples, rows.size(0) / examples, rows.size(1)});
}
/// a^T b for each example, [examples, last axis of a, last axis of b]; in bfloat16 if `narrow`.
Tensor products_by_example(const Tensor& a, const Tensor& b, int64_t examples, bool narrow);
/// a [B, 1, m], b [B, 1, n], of one floating type -> [B, m, n]: nothing to sum, and little to do but to write the
/// result.
Tensor outer_products(const Tensor& a, const Tensor& b);

/// y = a b for one matrix, in bfloat16 if `narrow`.
template <class T>
void multiply_matrices(const Tensor& a, const Tensor& b, bool narrow, MatrixView<T> y, Epilogue done = {}) {
  const int64_t m = a.size(0), n = b.size(1), k = a.size(1);
  if constexpr (std::is_same_v<T, float>) {
    if (narrow) return rounded_gemm(m, n, k, rounded_view(a), rounded_view(b), false, y, done);
  }
  gemm<T>(m, n, k, T{1}, matrix_view<T>(a), matrix_view<T>(b), T{0}, y, done);
}

}  // namespace tapegrad
