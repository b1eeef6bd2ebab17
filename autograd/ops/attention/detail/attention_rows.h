// Rows of an attention head as the kernels of attention see them.
#pragma once

#include <tapegrad/autograd/dtype.h>
#include <tapegrad/autograd/ops/detail/dropout_mask.h>

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

}  // namespace tapegrad
