// One matrix of a batch, as gemm takes it.
#pragma once

#include <tapegrad/autograd/kernels/product/blas.h>
#include <tapegrad/autograd/tensor.h>

#include <cstdint>

namespace tapegrad {

/// The matrix of x [..., m, n] that begins at the element `start` (matrix_starts), from its row `first` on; every
/// step-th row.
template <class T>
MatrixView<const T> matrix_of(const Tensor& x, int64_t start, int64_t first = 0, int64_t step = 1) {
  return {x.data<T>() + start + first * x.strides()[-2], step * x.strides()[-2], x.strides()[-1]};
}
/// The same, to be written to.
template <class T>
MatrixView<T> fresh_matrix_of(const Tensor& x, int64_t start, int64_t first = 0, int64_t step = 1) {
  return {x.mutable_data<T>() + start + first * x.strides()[-2], step * x.strides()[-2], x.strides()[-1]};
}
/// Matrix i of a contiguous tensor, from its row `first` on.
template <class T>
MatrixView<const T> contiguous_matrix(const Tensor& x, int64_t i, int64_t first = 0) {
  return {x.data<T>() + (i * x.size(-2) + first) * x.size(-1), x.size(-1), 1};
}
template <class T>
MatrixView<T> transposed(MatrixView<T> x) {
  return {x.data, x.col_stride, x.row_stride};
}

}  // namespace tapegrad
