// The kernels of depthwise convolutions.
#pragma once

#include <cstdint>

namespace tapegrad {

// Rows of the result from a padded copy: element j of row r combines from[r * from_step + taps[t] + j] over all taps t.
template <class T>
struct TapRows {
  int64_t rows, n;  // of the result, and elements in each
  int64_t count;    // of taps
  const int64_t* taps;
  const T* from;
  int64_t from_step;
  // The number of parts of equal size into which the taps are divided; the sums of the parts are added.
  int64_t parts = 1;
};

template <class T>
struct TapKernels {
  int64_t lanes;
  void (*copy_rows)(int64_t rows, int64_t n, const T* from, int64_t from_step, T* to, int64_t to_step);
  void (*combine_rows)(const TapRows<T>& work, const T* weight, T start, T* y, int64_t y_step);
  void (*correlate_rows)(const TapRows<T>& work, const T* y, T* sums);
  T (*sum_of_lanes)(const T* sums);
};

// Elements of the copy that may be read beyond the last row; their values are not used.
inline constexpr int64_t kTapSlack = 64;

}  // namespace tapegrad
