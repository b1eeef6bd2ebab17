// The scores of attention by blocks of keys, as its kernels see them.
#pragma once

#include <tapegrad/autograd/dtype.h>

#include <cstdint>

namespace tapegrad {

// The scores of some queries of one head with one block of keys. Matrices are [rows, columns] with a distance of
// `stride` between rows.
struct ScoreBlock {
  DType dtype;
  int64_t rows, columns, stride;
  bool causal;
  int64_t first;                  // a causal query t of the block sees the columns 0 .. first + t
  const bool* allowed = nullptr;  // one of the two masks, or none
  const void* added = nullptr;
  int64_t mask_row = 0, mask_column = 0;  // its strides
  const bool* keep = nullptr;             // dropout's mask, or none
  double keep_probability = 1;

  void* weights;            // the scores on entry
  void* dropped = nullptr;  // weights after dropout; the same memory as `weights` without dropout
  void* gradient = nullptr;
  void* highest;           // [rows], of the scores so far
  void* sum;               // [rows], of their exponentials; at the end its inverse
  void* result = nullptr;  // [rows, width], the weighted sum of values so far, or dy
  const void* y = nullptr;
  int64_t result_row = 0, y_row = 0, width = 0;
  void* slope = nullptr;  // [rows], <dy, y>
  bool begins = false;    // the first block of keys of these queries
};

struct AttentionBlockKernels {
  void (*add)(const ScoreBlock& b);       // scores become exponentials, of which highest, sum and result are corrected
  void (*finish)(const ScoreBlock& b);    // sum becomes its inverse, result is multiplied by it
  void (*slopes)(const ScoreBlock& b);    // slope = <dy, y>
  void (*weights)(const ScoreBlock& b);   // scores become weights, before and after dropout
  void (*backward)(const ScoreBlock& b);  // the gradient of the dropped weights becomes that of the scores
};
/// For float or double.
template <class T>
const AttentionBlockKernels& attention_block_kernels();

}  // namespace tapegrad
