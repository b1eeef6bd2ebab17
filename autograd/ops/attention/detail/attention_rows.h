// The arguments of the kernels for rows of an attention head: of all forms, of sliding windows, and of hashing (LSH).
#pragma once

#include <tapegrad/autograd/dtype.h>
#include <tapegrad/autograd/ops/detail/dropout_mask.h>

#include <algorithm>
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

// Some queries of a Lane (window_call.h). The first `globals` columns are the global tokens, the others a span of keys.
struct WindowRows : AttentionWeights {
  int64_t globals = 0;
  int64_t from = 0;  // row t attends to the columns from + t .. to + t - 1 of the span, as far as they exist
  int64_t to = 0;
  double scale = 1;
  const bool* hidden = nullptr;   // [rows]: rows without weights, or none
  const bool* seen = nullptr;     // [rows, globals]
  const bool* allowed = nullptr;  // the mask of the span, or none
  int64_t mask_row = 0;           // its strides
  int64_t mask_column = 0;

  int64_t span() const { return columns - globals; }
  int64_t begin(int64_t t) const { return std::clamp<int64_t>(from + t, 0, span()); }
  int64_t end(int64_t t) const { return std::clamp<int64_t>(to + t, begin(t), span()); }
};

/// Turns scores into weights.
void window_scores_to_weights(const WindowRows& rows);
/// Fills rows.dropped.
void drop_window_weights(const AttentionWeights& rows);
/// Replaces the weights' gradient in rows.gradient by the scores' gradient.
void window_weights_backward(const AttentionWeights& rows);

// The queries of one chunk and the keys that they attend to.
struct LshRows {
  DType dtype;
  int64_t rows, columns;
  void* scores;                 // [rows, columns], -inf where hidden; weights afterwards
  void* top = nullptr;          // [rows]: forward: the largest score so far
  void* total = nullptr;        // forward: the sum of exp(score - top) so far
  void* factor = nullptr;       // forward: what earlier results must be multiplied by
  const void* whole = nullptr;  // backward: log of the sum of exp(score) over all rounds
  const void* delta = nullptr;  // backward: <dy, y>
  void* gradient = nullptr;     // backward: [rows, columns], of the weights; of the scores afterwards
};

/// Replaces scores by exp(score - top), with the top of all rounds so far.
void lsh_scores_to_weights(const LshRows& rows);
/// Replaces the weights' gradient in rows.gradient by the scores' gradient.
void lsh_scores_backward(const LshRows& rows);

}  // namespace tapegrad
