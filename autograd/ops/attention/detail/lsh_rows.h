// The rows of attention by hashing that its kernels work on.
#pragma once

#include <tapegrad/autograd/dtype.h>

#include <cstdint>

namespace tapegrad {

// The queries of one chunk and the keys that they attend to.
struct LshRows {
  DType dtype;
  int64_t rows, columns;
  void* scores;                 // [rows, columns], -inf where hidden; weights afterwards
  void* top = nullptr;          // [rows]: forward: the largest score so far
  void* total = nullptr;        // forward: the sum of exp(score - top) so far
  void* factor = nullptr;       // forward: rescales earlier results
  const void* whole = nullptr;  // backward: log of the sum of exp(score) over all rounds
  const void* delta = nullptr;  // backward: <dy, y>
  void* gradient = nullptr;     // backward: [rows, columns], of the weights; of the scores afterwards
};

/// Replaces scores by exp(score - top), with the top of all rounds so far.
void lsh_scores_to_weights(const LshRows& rows);
/// Turns rows.gradient from that of the weights into that of the scores.
void lsh_scores_backward(const LshRows& rows);

}  // namespace tapegrad
