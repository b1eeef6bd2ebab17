// The softmax of attention that sees the keys of a query block by block.
#pragma once

#include <tapegrad/autograd/ops/attention/detail/score_block.h>

namespace tapegrad {

// A block of scores, and the sums of its queries over the blocks of keys so far. In `block`, `highest` is over these
// blocks, and `factor` is the sum of exp(score - highest), at the end its inverse.
struct RunningRows {
  const ScoreBlock& block;
  void* result;  // [rows, width], contiguous: the weighted sum of values so far
  bool begins;   // the first block of keys of these queries
};

struct RunningRowsKernels {
  void (*add)(const RunningRows& r);     // scores become exponentials; highest, factor and result are rescaled to match
  void (*finish)(const RunningRows& r);  // factor becomes its inverse, result is multiplied by it
};
const RunningRowsKernels& running_rows_kernels();

}  // namespace tapegrad
