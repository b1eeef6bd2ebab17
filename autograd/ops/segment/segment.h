// Reductions of rows by segment: the messages of a graph's edges at their nodes, the words of each sentence of a batch.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

// --- segments (autograd/ops/segment/segment.cpp) ---
// x [n, ...] and index [n], int64: row i of x belongs to segment index[i], in any order -> [segments, ...]. Rows are
// added in the order of their positions, so that no result depends on the number of threads. Error unless every index
// is at least 0 and below `segments`.

/// The sum of each segment; 0 for an empty one. bool is summed as int64.
Tensor segment_sum(const Tensor& x, const Tensor& index, int64_t segments);
/// The mean; 0 for an empty segment. float32 and float64.
Tensor segment_mean(const Tensor& x, const Tensor& index, int64_t segments);
/// The largest (smallest) element; NaN if any is NaN. Equal extremes share the gradient evenly. An empty segment has
/// -infinity (infinity), or the smallest (largest) int64. Error for bool.
Tensor segment_max(const Tensor& x, const Tensor& index, int64_t segments);
Tensor segment_min(const Tensor& x, const Tensor& index, int64_t segments);
/// log(sum(exp(x))) without overflow; -infinity for an empty segment. float32 and float64.
Tensor segment_logsumexp(const Tensor& x, const Tensor& index, int64_t segments);
/// exp(x) / sum(exp(x)), in the shape of x, where the sum is over the row's segment: attention over the edges of a
/// node. Zeros, with gradient 0, where all of a segment is -infinity. float32 and float64.
Tensor segment_softmax(const Tensor& x, const Tensor& index, int64_t segments);

}  // namespace tapegrad
