// Rows of an attention head as the kernels of attention see them.
#pragma once

#include <tapegrad/autograd/kernels/product/blas.h>
#include <tapegrad/autograd/tensor.h>

#include <cstdint>

namespace tapegrad {

/// The weights of some queries of one head before and after dropout, and their gradient; each [rows, columns].
struct AttentionWeights {
  DType dtype;
  int64_t rows;                // queries
  int64_t columns;             // keys
  double keep_probability;     // 1 - p of dropout
  void* weights;               // the scores on entry
  const bool* keep = nullptr;  // dropout's mask, or none
  void* dropped = nullptr;     // weights after dropout
  void* gradient = nullptr;    // of the weights; of the scores after weights_backward
};

/// The matrix at x + start, from one of its rows on.
template <class T>
MatrixView<const T> head(const Tensor& x, int64_t start, int64_t row = 0) {
  return {x.data<T>() + start + row * x.strides()[-2], x.strides()[-2], x.strides()[-1]};
}
template <class T>
MatrixView<T> fresh_head(const Tensor& x, int64_t start, int64_t row = 0) {
  return {x.mutable_data<T>() + start + row * x.strides()[-2], x.strides()[-2], x.strides()[-1]};
}

}  // namespace tapegrad
