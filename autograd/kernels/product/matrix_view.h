// A matrix in memory.
#pragma once

#include <cstdint>

namespace tapegrad {

/// Element (i, j) is data[i * row_stride + j * col_stride]; any strides, in elements.
template <class T>
struct MatrixView {
  T* data = nullptr;
  int64_t row_stride = 0, col_stride = 0;
};

}  // namespace tapegrad
