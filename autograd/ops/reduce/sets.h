// Distinct values, counts, and places in sorted numbers. None of these has a gradient.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <optional>
#include <utility>

namespace tapegrad {

// --- sets and counts (autograd/ops/reduce/sets.cpp) ---

/// What unique() returns.
struct Unique {
  Tensor values;   ///< [n], ascending
  Tensor inverse;  ///< int64, in the shape of x: where each element of x is in `values`
  Tensor counts;   ///< int64 [n]: how often each value is in x
};
/// The distinct elements of x, sorted. Each NaN is a value of its own; they are at the end.
Unique unique(const Tensor& x);
/// The same without sorting: runs of equal adjacent elements, in row-major order.
Unique unique_consecutive(const Tensor& x);

/// How often each number from 0 to the largest is in x, int64 of any shape: int64 [max(x) + 1], or `minimum` elements
/// if that is more. Error for negative numbers.
Tensor bincount(const Tensor& x, int64_t minimum = 0);
/// The sums of the weights instead, in their type; weights has the shape of x and is added in row-major order. With a
/// gradient: segment_sum.
Tensor bincount(const Tensor& x, const Tensor& weights, int64_t minimum = 0);

/// The places at which `values` would be inserted into `sorted` to keep it in order, int64 in the shape of values:
/// before equal elements, or after them (right). sorted is ascending along its last axis: [n], or [..., n] for values
/// [..., m]. NaN comes after all numbers.
Tensor searchsorted(const Tensor& sorted, const Tensor& values, Flag right = false);
/// The bucket of each element of x between ascending boundaries [n]: searchsorted(boundaries, x, right). Bucket i has
/// boundaries[i - 1] < x <= boundaries[i], or boundaries[i - 1] <= x < boundaries[i] (right).
Tensor bucketize(const Tensor& x, const Tensor& boundaries, Flag right = false);
/// The positions that sort x along an axis: sort(x, axis, descending).indices.
Tensor argsort(const Tensor& x, int64_t axis = -1, bool descending = false);

/// Which elements of x are among `values` of any shape, or are not (invert): bool, in the shape of x. NaN is in no set.
Tensor isin(const Tensor& x, const Tensor& values, Flag invert = false);

/// What histogram() returns.
struct Histogram {
  Tensor counts;  ///< [bins]: int64, or in the type of the weights
  Tensor edges;   ///< [bins + 1], in the type of x
};
/// How many elements of x are in each of `bins` bins of equal width from low to high, by default from the smallest to
/// the largest element (if they are equal, 0.5 to each side). A bin includes its lower edge, the last one both.
/// Elements outside of the range and NaN are not counted. Weights have the shape of x. float32 and float64.
Histogram histogram(const Tensor& x, int64_t bins, std::optional<std::pair<double, double>> range = {},
                    const Tensor& weights = {});
/// The same with given ascending edges [bins + 1], in the type of x.
Histogram histogram(const Tensor& x, const Tensor& edges, const Tensor& weights = {});

}  // namespace tapegrad
