// A matrix in memory, and how sums along its rows are cut.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tapegrad {

/// Element (i, j) is data[i * row_stride + j * col_stride]; any strides, in elements.
template <class T>
struct MatrixView {
  T* data = nullptr;
  int64_t row_stride = 0, col_stride = 0;
};

namespace blas {

/// All sums along k are made in blocks of kDepth, the last one shorter, each in order from 0, and the blocks are added
/// in order. A panel of B with so many rows stays in L1.
inline constexpr int64_t kDepth = 256;
inline int64_t block_depth(int64_t k) { return std::min(k, kDepth); }

}  // namespace blas

}  // namespace tapegrad
