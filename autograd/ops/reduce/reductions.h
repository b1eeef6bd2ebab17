// Reductions, scans, sorting and norms along axes.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <concepts>
#include <optional>

namespace tapegrad {

// --- reductions (autograd/ops/reduce/reduce.cpp, extreme.cpp, vector_norm.cpp) ---
// They reduce `axes`, or all axes if none is given. Reduced axes are removed, or kept with size 1 (keepdim).

/// The sum; 0 for no elements. bool is summed as int64.
Tensor sum(const Tensor& x, const Axes& axes = {}, Flag keepdim = false);
/// The mean; NaN for no elements. float32 and float64.
Tensor mean(const Tensor& x, const Axes& axes = {}, Flag keepdim = false);
/// The variance: the sum of squared differences from the mean, divided by n - correction. A correction of 1 gives the
/// sample variance (PyTorch's default), 0 the population variance. NaN or inf where n <= correction. float32 and
/// float64.
Tensor var(const Tensor& x, const Axes& axes = {}, Flag keepdim = false, double correction = 1);
/// The square root of the variance; gradient 0 where it is 0.
Tensor std(const Tensor& x, const Axes& axes = {}, Flag keepdim = false, double correction = 1);
/// The product; 1 for no elements. The gradient is exact for any number of zeros. bool is multiplied as int64.
Tensor prod(const Tensor& x, const Axes& axes = {}, Flag keepdim = false);
/// The sum, mean or product of x.to(dtype).
inline Tensor sum(const Tensor& x, const Axes& axes, Flag keepdim, DType dtype) {
  return sum(x.to(dtype), axes, keepdim);
}
inline Tensor mean(const Tensor& x, const Axes& axes, Flag keepdim, DType dtype) {
  return mean(x.to(dtype), axes, keepdim);
}
inline Tensor prod(const Tensor& x, const Axes& axes, Flag keepdim, DType dtype) {
  return prod(x.to(dtype), axes, keepdim);
}
/// The same of all elements.
inline Tensor sum(const Tensor& x, std::same_as<DType> auto dtype) { return sum(x.to(dtype)); }
inline Tensor mean(const Tensor& x, std::same_as<DType> auto dtype) { return mean(x.to(dtype)); }
inline Tensor prod(const Tensor& x, std::same_as<DType> auto dtype) { return prod(x.to(dtype)); }
/// The largest (smallest) element; NaN if any is NaN. Equal extremes share the gradient evenly. Error for no elements.
Tensor amax(const Tensor& x, const Axes& axes = {}, Flag keepdim = false);
Tensor amin(const Tensor& x, const Axes& axes = {}, Flag keepdim = false);
/// log(sum(exp(x))) without overflow; -inf for no elements. float32 and float64.
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, Flag keepdim = false);
/// The int64 index of the first largest (smallest) element, or of the first NaN, along one axis or in the flattened
/// tensor. No gradient. Error for no elements.
Tensor argmax(const Tensor& x, int64_t axis, Flag keepdim = false);
Tensor argmax(const Tensor& x);
Tensor argmin(const Tensor& x, int64_t axis, Flag keepdim = false);
Tensor argmin(const Tensor& x);
/// The index in the flattened tensor, with all axes kept with size 1: argmax(x, true).
inline Tensor argmax(const Tensor& x, std::same_as<bool> auto keepdim) {
  return keepdim ? argmax(x).reshape(Shape::filled(x.dim(), 1)) : argmax(x);
}
inline Tensor argmin(const Tensor& x, std::same_as<bool> auto keepdim) {
  return keepdim ? argmin(x).reshape(Shape::filled(x.dim(), 1)) : argmin(x);
}
/// The largest (smallest) of all elements: amax(x), amin(x).
Tensor max(const Tensor& x);
Tensor max(const Tensor& a, const std::same_as<Tensor> auto& b) = delete;  // write maximum(a, b)
Tensor min(const Tensor& a, const std::same_as<Tensor> auto& b) = delete;  // write minimum(a, b)
Tensor min(const Tensor& x);
/// The number of elements that are not zero, int64; NaN is not zero. No gradient.
Tensor count_nonzero(const Tensor& x, const Axes& axes = {}, Flag keepdim = false);
/// The vector norm sum(|x|^p)^(1/p). For p = 0, the number of elements that are not zero, without a gradient. For p =
/// infinity (-infinity), the largest (smallest) |x|; equal ones share the gradient. Gradient 0 for a vector of zeros.
/// For no elements 0, but an Error for p < 0 and p = infinity. float32 and float64.
Tensor norm(const Tensor& x, double p = 2, const Axes& axes = {}, Flag keepdim = false);

// --- along one axis, in the shape of x (autograd/ops/reduce/scan.cpp) ---

/// Running sums. bool is summed as int64.
Tensor cumsum(const Tensor& x, int64_t axis);
/// Running products. The gradient is exact for any number of zeros. bool is multiplied as int64.
Tensor cumprod(const Tensor& x, int64_t axis);
/// The running sums or products of x.to(dtype).
inline Tensor cumsum(const Tensor& x, int64_t axis, DType dtype) { return cumsum(x.to(dtype), axis); }
inline Tensor cumprod(const Tensor& x, int64_t axis, DType dtype) { return cumprod(x.to(dtype), axis); }
/// log(cumsum(exp(x))) without overflow; -inf, with gradient 0, before the first element above -inf. float32 and
/// float64.
Tensor logcumsumexp(const Tensor& x, int64_t axis);

// --- order (autograd/ops/reduce/sort.cpp, extreme.cpp, scan.cpp): values and their positions ---

/// Elements, and where they are.
struct Sorted {
  Tensor values;   ///< in the type of x
  Tensor indices;  ///< int64: positions of the values along the axis
};
/// x sorted along an axis. Stable; NaN sorts as the largest value. The gradient flows through `values`.
Sorted sort(const Tensor& x, int64_t axis = -1, bool descending = false);
/// The largest (smallest) element along an axis: the first of equal ones, or the first NaN. Only this element gets a
/// gradient. Error for no elements.
Sorted max(const Tensor& x, int64_t axis, Flag keepdim = false);
Sorted min(const Tensor& x, int64_t axis, Flag keepdim = false);
/// The running maximum (minimum) along an axis, in the shape of x: the last of equal elements so far, or the last NaN.
Sorted cummax(const Tensor& x, int64_t axis);
Sorted cummin(const Tensor& x, int64_t axis);
/// The median along an axis; for an even number of elements, the lower of the two in the middle. The index is that of
/// the element that a stable sort puts there. If there is a NaN, the first one is the result. Error for no elements and
/// for bool.
Sorted median(const Tensor& x, int64_t axis, Flag keepdim = false);
/// The median of all elements. Elements equal to it share the gradient evenly. NaN for an empty floating tensor; Error
/// for an empty int64 tensor and for bool.
Tensor median(const Tensor& x);
/// The value of a quantile between two elements: a point on the line between them, one of them, their mean, or the
/// nearer one (of two equally near ones, the one at the even position).
enum class QuantileMode { linear, lower, higher, midpoint, nearest };
/// The value below which the share q of the elements along an axis lies, or of all elements: at position q (n - 1) of
/// the sorted elements. NaN if there is a NaN (for nanquantile: if there is nothing else), and between -inf and inf.
/// With q [k], the result has a first axis of k. float32 or float64, the same for x and q; gradients flow to both.
/// Error unless 0 <= q <= 1, and for an empty x. (autograd/ops/reduce/quantile.cpp)
Tensor quantile(const Tensor& x, const Tensor& q, std::optional<int64_t> axis = {}, Flag keepdim = false,
                QuantileMode mode = QuantileMode::linear);
Tensor quantile(const Tensor& x, double q, std::optional<int64_t> axis = {}, Flag keepdim = false,
                QuantileMode mode = QuantileMode::linear);
Tensor nanquantile(const Tensor& x, const Tensor& q, std::optional<int64_t> axis = {}, Flag keepdim = false,
                   QuantileMode mode = QuantileMode::linear);
Tensor nanquantile(const Tensor& x, double q, std::optional<int64_t> axis = {}, Flag keepdim = false,
                   QuantileMode mode = QuantileMode::linear);
/// The k largest (smallest) elements along an axis, sorted. Error unless k is between 0 and the size of the axis.
Sorted topk(const Tensor& x, int64_t k, int64_t axis = -1, bool largest = true);

// --- vectors along an axis (autograd/ops/reduce/vector_norm.cpp), floating ---

/// x / max(norm(x, p, axis), eps): vectors of norm 1.
Tensor normalize(const Tensor& x, double p = 2, int64_t axis = 1, double eps = 1e-12);
/// norm(a - b + eps, p) along the last axis; a and b broadcast.
Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p = 2, double eps = 1e-6, Flag keepdim = false);
/// The distance of each row of a [..., P, D] from each row of b [..., R, D] -> [..., P, R]: norm(a[i] - b[j], p) for p
/// >= 0; leading axes broadcast. Differences are made in blocks of rows of a, so that memory does not grow with P R D.
/// The gradient is 0 at distance 0; for p = infinity, equal largest differences share it, as in norm.
/// (autograd/ops/reduce/distance.cpp)
Tensor cdist(const Tensor& a, const Tensor& b, double p = 2);
/// sum(a b) / (max(|a|, eps) max(|b|, eps)) along an axis, with 2-norms; a and b broadcast.
Tensor cosine_similarity(const Tensor& a, const Tensor& b, int64_t axis = 1, double eps = 1e-8);

// --- for the engine ---

/// x summed over the axes along which `shape` was broadcast to x's shape: the reverse of expand. bool counts as int64.
Tensor sum_to(const Tensor& x, const Shape& shape);

}  // namespace tapegrad
