// The scores of attention with many keys, as its kernels see them.
#pragma once

#include <tapegrad/autograd/dtype.h>

#include <cstdint>

namespace tapegrad {

// The scores of some queries of one head with some keys. Matrices are [rows, columns] with a distance of `stride`
// between rows.
struct ScoreBlock {
  DType dtype;
  int64_t rows, columns, stride;
  double scale;  // still to be applied to the scores
  bool causal;
  int64_t first;                  // a causal query t of the block sees the columns 0 .. first + t
  const bool* allowed = nullptr;  // one of the two masks, or none
  const void* added = nullptr;
  int64_t mask_row = 0, mask_column = 0;  // its strides
  const bool* keep = nullptr;             // dropout's mask, or none
  double keep_probability = 1;

  void* weights;             // the scores on entry
  void* dropped = nullptr;   // weights after dropout; may be the same memory as `weights`
  void* gradient = nullptr;  // of `dropped`; of the scores after backward
  void* highest;             // [rows], the highest score over all keys
  void* factor;              // [rows], 1 / the sum of exp(score - highest) over all keys
  const void* dy = nullptr;
  const void* y = nullptr;
  int64_t dy_row = 0, y_row = 0, width = 0;
  void* slope = nullptr;  // [rows], <dy, y>
};

struct AttentionBlockKernels {
  void (*softmax)(const ScoreBlock& b);   // scores of all keys become weights after dropout; sets highest and factor
  void (*slopes)(const ScoreBlock& b);    // slope = <dy, y>
  void (*weights)(const ScoreBlock& b);   // scores become weights, before and after dropout
  void (*backward)(const ScoreBlock& b);  // the gradient of the dropped weights becomes that of the scores
};
const AttentionBlockKernels& attention_block_kernels();

}  // namespace tapegrad
