// The softmax of attention that sees the keys of a query block by block.
#pragma once

#include <tapegrad/autograd/ops/attention/detail/score_block.h>

namespace tapegrad {

// A block of scores, and what the queries have from the blocks of keys before it.
struct RunningRows {
  const ScoreBlock&
      block;     // highest of the scores so far; factor: the sum of their exponentials, at the end its inverse
  void* result;  // [rows, width], contiguous: the weighted sum of values so far
  bool begins;   // the first block of keys of these queries
};

struct RunningRowsKernels {
  void (*add)(const RunningRows& r);  // scores become exponentials, of which highest, factor and result are corrected
  void (*finish)(const RunningRows& r);  // factor becomes its inverse, result is multiplied by it
};
/// For float or double.
template <class T>
const RunningRowsKernels& running_rows_kernels();

}  // namespace tapegrad
