// Which rows are in which segment, and the kernels that reduce them.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

/// The rows of segment s are order[starts[s]] .. order[starts[s + 1] - 1], in ascending order.
struct Segments {
  int64_t count;  // of segments
  int64_t rows;
  Tensor ids;     // int64 [rows], contiguous: the segment of each row
  Tensor starts;  // int64 [count + 1]
  Tensor order;   // int64 [rows + kLookAhead]; the last ones are 0, so that kernels can look ahead
};
inline constexpr int64_t kLookAhead = 8;

/// The segments of `index`, checked: int64 [rows], in [0, count).
Segments make_segments(std::string_view where, const Tensor& index, int64_t rows, int64_t count);

/// The first five reduce x [rows, inner] to y [count, inner]; softmax gives y [rows, inner]. The last three are
/// gradients of x: from x, the result y of forward, and dy.
enum class SegmentKind {
  sum,
  mean,
  maximum,
  minimum,
  log_sum_exp,
  softmax,
  extreme_gradient,
  softmax_gradient,
  log_sum_exp_gradient,
};

struct SegmentOperands {
  Tensor x = {}, y = {}, dy = {};  // contiguous, of one type
};

/// Fills `out` (fresh, contiguous). int64 for sum, maximum and minimum only. Not recorded.
void run_segments(SegmentKind kind, const Segments& segments, const SegmentOperands& operands, const Tensor& out);

}  // namespace tapegrad
