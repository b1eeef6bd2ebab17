// The rows of window attention that its kernels work on.
#pragma once

#include <tapegrad/autograd/ops/attention/detail/attention_rows.h>

#include <algorithm>

namespace tapegrad {

// Some queries of one lane. The first `globals` columns are the global tokens, the others a span of the lane's keys.
struct WindowRows : AttentionWeights {
  int64_t globals = 0;
  int64_t from = 0;  // row t attends to those of the columns from + t .. to + t - 1 of the span that exist
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
/// Turns rows.gradient from that of the weights into that of the scores.
void window_weights_backward(const AttentionWeights& rows);

}  // namespace tapegrad
