// Some rows of one attention head, as its kernels see them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace tapegrad {

template <class T>
struct AttentionRows {
  int64_t first = 0;    // the first of these queries
  int64_t rows = 0;     // queries
  int64_t columns = 0;  // keys
  T scale = 1;
  T factor = 1;                   // 1 / (1 - p) of dropout
  bool causal = false;            // query t sees the keys 0 .. t
  T* weights = nullptr;           // [rows, columns]; the scores on entry
  const bool* keep = nullptr;     // [rows, columns] of dropout, or none
  const bool* allowed = nullptr;  // one of the two masks, or none
  const T* added = nullptr;
  int64_t mask_row = 0;  // its strides
  int64_t mask_column = 0;
};

}  // namespace tapegrad
