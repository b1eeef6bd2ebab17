// Every operation on tensors. Those that have a gradient are recorded on the tape and can be differentiated twice.
//
// Unless a declaration says otherwise, an operation takes bool, int64, float32 and float64, converts its operands to
// the later type in that order, broadcasts them by NumPy's rule, and returns a tensor of that type and shape. Axes
// count from the end when negative. NaN and infinity propagate as in IEEE 754, and empty tensors are valid operands.
// Errors are `[operation] expected ..., got ...`, with the shapes.
#pragma once

#include <tapegrad/autograd/losses.h>
#include <tapegrad/autograd/tensor.h>

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace tapegrad {

class Generator;

// --- elementwise: arithmetic (ops/elementwise/arithmetic.cpp) ---
// Integers wrap around. With a number as one operand, a floating tensor keeps its type; an int64 or bool tensor becomes
// int64 if the number is whole, float32 otherwise.

/// a + b; for two bools, logical or.
Tensor add(const Tensor& a, const Tensor& b);
Tensor add(const Tensor& a, double b);
/// a - b. Error for two bools.
Tensor sub(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, double b);
Tensor sub(double a, const Tensor& b);
/// a * b; for two bools, logical and.
Tensor mul(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, double b);
/// a / b, true division: int64 and bool become float32.
Tensor div(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, double b);
Tensor div(double a, const Tensor& b);
/// a^b. The gradient of b is 0 where a is 0 and b >= 0, as in PyTorch. Error for a negative int64 exponent.
Tensor pow(const Tensor& a, const Tensor& b);
Tensor pow(const Tensor& a, double exponent);
/// -x. Error for bool.
Tensor neg(const Tensor& x);
/// The larger (smaller) of a and b; NaN if either is NaN. If they are equal, each operand gets half of the gradient.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, double b);
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, double b);
/// x limited to [low, high]; gradient 0 for elements outside the bounds. NaN stays NaN. Error if both bounds are
/// missing.
Tensor clamp(const Tensor& x, std::optional<double> low, std::optional<double> high);
/// The remainder of a / b: fmod has the sign of a, as in C; remainder has the sign of b, as in Python. NaN for b = 0
/// and for infinite a. Error for a zero int64 divisor and for two bools. The gradient is dy for a, and -dy times the
/// integer quotient for b.
Tensor fmod(const Tensor& a, const Tensor& b);
Tensor fmod(const Tensor& a, double b);
Tensor remainder(const Tensor& a, const Tensor& b);
Tensor remainder(const Tensor& a, double b);
/// The angle of the point (x, y), in [-pi, pi]. The signs of x and y select the quadrant, including the signs of zeros.
/// float32 or float64, the same for both. The gradient at (0, 0) is 0.
Tensor atan2(const Tensor& y, const Tensor& x);
/// a + weight (b - a), computed from the nearer end, so that it is exact for weights 0 and 1. float32 or float64, the
/// same for all operands, which broadcast.
Tensor lerp(const Tensor& a, const Tensor& b, const Tensor& weight);
Tensor lerp(const Tensor& a, const Tensor& b, double weight);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator+(const Tensor& a, double b) { return add(a, b); }
inline Tensor operator+(double a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(const Tensor& a, double b) { return sub(a, b); }
inline Tensor operator-(double a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, double b) { return mul(a, b); }
inline Tensor operator*(double a, const Tensor& b) { return mul(b, a); }
inline Tensor operator/(const Tensor& a, double b) { return div(a, b); }
inline Tensor operator/(double a, const Tensor& b) { return div(a, b); }
inline Tensor operator-(const Tensor& x) { return neg(x); }

// --- elementwise: functions of one tensor (ops/elementwise/elementwise.cpp) ---
// float32 and float64; Error for other types. abs, sign, square and the rounding functions also take int64.

Tensor exp(const Tensor& x);
Tensor expm1(const Tensor& x);  ///< exp(x) - 1, accurate near 0
Tensor log(const Tensor& x);    ///< NaN below 0, -inf at 0
Tensor log1p(const Tensor& x);  ///< log(1 + x), accurate near 0
Tensor exp2(const Tensor& x);   ///< 2^x
Tensor log2(const Tensor& x);
Tensor log10(const Tensor& x);
Tensor sqrt(const Tensor& x);   ///< NaN below 0
Tensor rsqrt(const Tensor& x);  ///< 1 / sqrt(x)
Tensor square(const Tensor& x);
Tensor reciprocal(const Tensor& x);  ///< 1 / x
Tensor abs(const Tensor& x);         ///< slope 0 at 0
Tensor sign(const Tensor& x);        ///< -1, 0 or 1; 0 for NaN; gradient 0
Tensor floor(const Tensor& x);       ///< the largest integer <= x; gradient 0, as for the next three
Tensor ceil(const Tensor& x);        ///< the smallest integer >= x
Tensor round(const Tensor& x);       ///< the nearest integer, halves to even
Tensor trunc(const Tensor& x);       ///< x without its fraction
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tan(const Tensor& x);
Tensor asin(const Tensor& x);  ///< NaN outside [-1, 1]
Tensor acos(const Tensor& x);  ///< NaN outside [-1, 1]
Tensor atan(const Tensor& x);
Tensor sinh(const Tensor& x);
Tensor cosh(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor asinh(const Tensor& x);
Tensor acosh(const Tensor& x);  ///< NaN below 1
Tensor atanh(const Tensor& x);  ///< NaN outside [-1, 1], infinite at -1 and 1
Tensor erf(const Tensor& x);
/// x with NaN, inf and -inf replaced. By default inf and -inf become the largest and the lowest finite number of x's
/// type. Gradient 0 for replaced elements. int64 and bool tensors are returned unchanged.
Tensor nan_to_num(const Tensor& x, double nan = 0, std::optional<double> posinf = {},
                  std::optional<double> neginf = {});

// --- activations (ops/elementwise/elementwise.cpp; ops/elementwise/gate.cpp): float32 and float64 ---

Tensor sigmoid(const Tensor& x);      ///< 1 / (1 + exp(-x))
Tensor log_sigmoid(const Tensor& x);  ///< log(sigmoid(x)) without overflow
Tensor relu(const Tensor& x);         ///< max(x, 0); slope 0 at 0
Tensor relu6(const Tensor& x);        ///< min(max(x, 0), 6); slope 0 at 0 and 6
Tensor silu(const Tensor& x);         ///< x sigmoid(x)
Tensor softsign(const Tensor& x);     ///< x / (1 + |x|)
Tensor hardsigmoid(const Tensor& x);  ///< x / 6 + 1/2 limited to [0, 1]
Tensor hardswish(const Tensor& x);    ///< x hardsigmoid(x); slope 0 at -3, 1 at 3
enum class Gelu { erf, tanh };
/// x P(X <= x) with X standard normal, or the approximation with tanh. Hendrycks, Gimpel 2016.
Tensor gelu(const Tensor& x, Gelu form = Gelu::erf);
/// log(1 + exp(beta x)) / beta without overflow; x where beta x > threshold.
Tensor softplus(const Tensor& x, double beta = 1, double threshold = 20);
/// x tanh(softplus(x)). Misra 2019.
Tensor mish(const Tensor& x);
/// x for x > 0, negative_slope * x otherwise; the slope at 0 is negative_slope.
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.01);
/// x for x > 0, alpha (exp(x) - 1) otherwise. Clevert, Unterthiner, Hochreiter 2015.
Tensor elu(const Tensor& x, double alpha = 1);
/// scale * elu(x, alpha) with the constants of Klambauer et al. 2017.
Tensor selu(const Tensor& x);
/// x limited to [low, high]; slope 0 at both bounds, unlike clamp. NaN stays NaN. Error unless low <= high.
Tensor hardtanh(const Tensor& x, double low = -1, double high = 1);
/// x for x > 0, weight * x otherwise. weight has one element, or one per channel (axis 1 of x). float32 or float64, the
/// same for both. He et al. 2015.
Tensor prelu(const Tensor& x, const Tensor& weight);
/// a sigmoid(b), where a and b are the halves of x along an axis. Error if its size is odd. Dauphin et al. 2017.
Tensor glu(const Tensor& x, int64_t axis = -1);
/// silu(a) b with the same a and b. Shazeer 2020.
Tensor swiglu(const Tensor& x, int64_t axis = -1);

// --- comparison and logic: bool results, no gradient (ops/elementwise/compare.cpp) ---

/// Elementwise comparisons. If either operand is NaN, only `ne` is true.
Tensor eq(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);
Tensor eq(const Tensor& a, double b);
Tensor ne(const Tensor& a, double b);
Tensor lt(const Tensor& a, double b);
Tensor le(const Tensor& a, double b);
Tensor gt(const Tensor& a, double b);
Tensor ge(const Tensor& a, double b);
/// Logical operations on bool tensors. Error for other types.
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& x);
/// True where x is NaN, infinite, or neither. Any type, also bfloat16.
Tensor isnan(const Tensor& x);
Tensor isinf(const Tensor& x);
Tensor isfinite(const Tensor& x);
/// True where |a - b| <= atol + rtol |b|. Equal infinities are close; NaN is close to NaN only with equal_nan. int64
/// and bool are compared as float64. Error for a negative tolerance.
Tensor isclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
/// Whether isclose is true for all elements; true if there are none.
bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
/// Whether shapes and all elements are equal. NaN is not equal to NaN; types may differ.
bool equal(const Tensor& a, const Tensor& b);
/// Whether all elements (any element) of a bool tensor are true; true (false) for an empty tensor. Error for other
/// types.
bool all(const Tensor& x);
bool any(const Tensor& x);
/// The same along one axis, which is removed, or kept with size 1.
Tensor all(const Tensor& x, int64_t axis, bool keepdim = false);
Tensor any(const Tensor& x, int64_t axis, bool keepdim = false);

inline Tensor operator==(const Tensor& a, const Tensor& b) { return eq(a, b); }
inline Tensor operator!=(const Tensor& a, const Tensor& b) { return ne(a, b); }
inline Tensor operator<(const Tensor& a, const Tensor& b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return ge(a, b); }
inline Tensor operator==(const Tensor& a, double b) { return eq(a, b); }
inline Tensor operator!=(const Tensor& a, double b) { return ne(a, b); }
inline Tensor operator<(const Tensor& a, double b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, double b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, double b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, double b) { return ge(a, b); }
inline Tensor operator&&(const Tensor& a, const Tensor& b) { return logical_and(a, b); }
inline Tensor operator||(const Tensor& a, const Tensor& b) { return logical_or(a, b); }
inline Tensor operator!(const Tensor& x) { return logical_not(x); }

// --- selection (ops/elementwise/select.cpp) ---

/// a where the bool condition is true, b elsewhere; all three broadcast.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, double b);
Tensor where(const Tensor& condition, double a, const Tensor& b);
/// `value` where the bool mask is true, x elsewhere; both broadcast. Error if x is int64 and the value is not an
/// integer.
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);
/// x [..., m, n] with zeros above (below) a diagonal of the last two axes: 0 is the main diagonal, 1 the next one above
/// it.
Tensor tril(const Tensor& x, int64_t diagonal = 0);
Tensor triu(const Tensor& x, int64_t diagonal = 0);

// --- reductions (ops/reduce/reduce.cpp, ops/reduce/extreme.cpp, ops/reduce/vector_norm.cpp) ---
// They reduce `axes`, or all axes if none is given. Reduced axes are removed, or kept with size 1 (keepdim).

/// The sum; 0 for no elements. bool is summed as int64.
Tensor sum(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
/// The mean; NaN for no elements. float32 and float64.
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
/// The variance: the sum of squared differences from the mean, divided by n - correction. A correction of 1 gives the
/// sample variance (PyTorch's default), 0 the population variance. NaN or inf where n <= correction. float32 and
/// float64.
Tensor var(const Tensor& x, const Axes& axes = {}, bool keepdim = false, double correction = 1);
/// The square root of the variance; gradient 0 where it is 0.
Tensor std(const Tensor& x, const Axes& axes = {}, bool keepdim = false, double correction = 1);
/// The product; 1 for no elements. The gradient is exact for any number of zeros. bool is multiplied as int64.
Tensor prod(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
/// The largest (smallest) element; NaN if any is NaN. Equal extremes share the gradient evenly. Error for no elements.
Tensor amax(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor amin(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
/// log(sum(exp(x))) without overflow; -inf for no elements. float32 and float64.
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
/// The int64 index of the first largest (smallest) element, or of the first NaN, along one axis or in the flattened
/// tensor. No gradient. Error for no elements.
Tensor argmax(const Tensor& x, int64_t axis, bool keepdim = false);
Tensor argmax(const Tensor& x);
Tensor argmin(const Tensor& x, int64_t axis, bool keepdim = false);
Tensor argmin(const Tensor& x);
/// The largest (smallest) of all elements: amax(x), amin(x).
Tensor max(const Tensor& x);
Tensor min(const Tensor& x);
/// The number of elements that are not zero, int64; NaN is not zero. No gradient.
Tensor count_nonzero(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
/// The vector norm sum(|x|^p)^(1/p). For p = 0, the number of elements that are not zero, without a gradient. For p =
/// infinity (-infinity), the largest (smallest) |x|; equal ones share the gradient. Gradient 0 for a vector of zeros.
/// For no elements 0, but an Error for p < 0 and p = infinity. float32 and float64.
Tensor norm(const Tensor& x, double p = 2, const Axes& axes = {}, bool keepdim = false);

// --- along one axis, in the shape of x (ops/reduce/scan.cpp) ---

/// Running sums. bool is summed as int64.
Tensor cumsum(const Tensor& x, int64_t axis);
/// Running products. The gradient is exact for any number of zeros. bool is multiplied as int64.
Tensor cumprod(const Tensor& x, int64_t axis);
/// log(cumsum(exp(x))) without overflow; -inf, with gradient 0, before the first element above -inf. float32 and
/// float64.
Tensor logcumsumexp(const Tensor& x, int64_t axis);

// --- matrix products (ops/product/matmul.cpp): float32 or float64 ---

/// a [..., m, k] @ b [..., k, n] -> [..., m, n]; leading axes broadcast. A vector on either side is treated as in
/// NumPy. Error for scalars, for different types, and for different inner sizes.
Tensor matmul(const Tensor& a, const Tensor& b);
/// x [..., in], weight [out, in], bias [out] or empty -> x weight^T + bias, [..., out]. The weight may be bfloat16 if x
/// is float32 and needs no gradient.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
/// a [B, m, k] @ b [B, k, n] -> [B, m, n], with exactly these axes.
Tensor bmm(const Tensor& a, const Tensor& b);
/// a [m, n] @ b [n] -> [m].
Tensor mv(const Tensor& a, const Tensor& b);
/// The sum of a * b, a scalar; a and b are [n].
Tensor dot(const Tensor& a, const Tensor& b);
/// a [m], b [n] -> [m, n] with elements a[i] * b[j]. The types of mul.
Tensor outer(const Tensor& a, const Tensor& b);

// --- sums of products (ops/product/einsum.cpp): float32, float64 or int64, the same for all operands ---

/// Sums of products by subscripts, as in torch.einsum: "bthd,bshd->bhts". An operand has one letter per axis. Axes with
/// the same letter have the same size, or size 1, which broadcasts. Letters that are not in the output are summed.
/// "..." matches any other axes, which broadcast. Without "->" the output has the axes of "...", then the letters that
/// occur once, in ASCII order. A letter that occurs twice in one operand takes the diagonal. Spaces are ignored.
/// Operands are multiplied in pairs, in the order with the fewest multiplications (for nine or more operands: the
/// cheapest pair first). The result may be a view with permuted axes.
Tensor einsum(std::string_view equation, std::span<const Tensor> operands);
Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands);
/// Sums over the last `count` axes of a and the first `count` of b, which have equal sizes -> [other axes of a, other
/// axes of b].
Tensor tensordot(const Tensor& a, const Tensor& b, int64_t count = 2);
/// Sums over axis axes_a[i] of a and axis axes_b[i] of b for each i. Their sizes are equal, or 1, which broadcasts.
Tensor tensordot(const Tensor& a, const Tensor& b, const Axes& axes_a, const Axes& axes_b);

// --- joining and cutting (ops/shape/join.cpp) ---

/// The parts, one after the other along an axis; the sizes of the other axes must be equal. A part of shape [0] is
/// skipped. Error for no parts.
Tensor cat(std::span<const Tensor> parts, int64_t axis = 0);
Tensor cat(std::initializer_list<Tensor> parts, int64_t axis = 0);
/// The parts along a new axis; their shapes must be equal.
Tensor stack(std::span<const Tensor> parts, int64_t axis = 0);
Tensor stack(std::initializer_list<Tensor> parts, int64_t axis = 0);
/// Views of pieces of `size` elements along an axis, the last one possibly smaller; or of pieces of the given sizes,
/// whose sum must be the size of the axis.
std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t axis = 0);
std::vector<Tensor> split(const Tensor& x, const std::vector<int64_t>& sizes, int64_t axis = 0);
/// Views of at most `count` equal pieces, the last one possibly smaller, as in PyTorch.
std::vector<Tensor> chunk(const Tensor& x, int64_t count, int64_t axis = 0);
/// A view of `length` elements along an axis, beginning at `start`, which counts from the end when negative.
Tensor narrow(const Tensor& x, int64_t axis, int64_t start, int64_t length);
/// x with the order of elements reversed along each of `axes` (none: x itself).
Tensor flip(const Tensor& x, const Axes& axes);

// --- shape (ops/shape/view.cpp, ops/shape/diagonal.cpp, ops/shape/unfold.cpp, ops/shape/repeat.cpp, ops/shape/pad.cpp)
// --- Tensor has further views: reshape, flatten, transpose, permute, slice, select, expand, squeeze, unsqueeze.

/// x expanded to a shape. A view.
inline Tensor broadcast_to(const Tensor& x, const Shape& shape) { return x.expand(shape); }
/// Splits an axis into several of the given sizes, whose product is its size; one of them may be -1, to be inferred. A
/// view.
Tensor unflatten(const Tensor& x, int64_t axis, const Shape& sizes);
/// Moves the axes `from` to the positions `to`; the other axes keep their order. A view.
Tensor movedim(const Tensor& x, const Axes& from, const Axes& to);
/// A view of the diagonal of two axes, which are removed; the diagonal becomes the last axis. A positive (negative)
/// offset selects a diagonal above (below) the main one, which may be empty. Error if the axes are the same.
Tensor diagonal(const Tensor& x, int64_t offset = 0, int64_t axis1 = 0, int64_t axis2 = 1);
/// The inverse: zeros, with the last axis of x on a diagonal of two new axes of equal size, axis1 and axis2 of the
/// result.
Tensor diag_embed(const Tensor& x, int64_t offset = 0, int64_t axis1 = -2, int64_t axis2 = -1);
/// x [n] -> diag_embed(x, offset); x [m, n] -> diagonal(x, offset). Error for other shapes.
Tensor diag(const Tensor& x, int64_t offset = 0);
/// Windows of `size` elements along an axis, one every `step` elements, as in torch.Tensor.unfold: the axis has one
/// entry per window, and a new last axis has the elements of the window. A view; windows may overlap. Error if a window
/// is longer than the axis.
Tensor unfold(const Tensor& x, int64_t axis, int64_t size, int64_t step);
/// x repeated counts[i] times along axis i, as in torch.Tensor.repeat; additional leading counts add axes. Error for
/// fewer counts than axes.
Tensor repeat(const Tensor& x, const Dims& counts);
/// The same, but missing leading counts are 1, as in NumPy.
Tensor tile(const Tensor& x, const Dims& counts);
/// Repeats each element along an axis (by default of the flattened tensor) `count` times, or counts[i] times; counts is
/// int64, with one count per element or a single one. Error for negative counts.
Tensor repeat_interleave(const Tensor& x, int64_t count, std::optional<int64_t> axis = {});
Tensor repeat_interleave(const Tensor& x, const Tensor& counts, std::optional<int64_t> axis = {});
/// x shifted by `shift` places along an axis (by default of the flattened tensor); elements that leave at one end enter
/// at the other.
Tensor roll(const Tensor& x, int64_t shift, std::optional<int64_t> axis = {});
/// The same along several axes, with one shift per axis.
Tensor roll(const Tensor& x, const Dims& shifts, const Axes& axes);

/// What the added elements are: a value; the elements next to the edge, in reverse order; the edge; the elements at the
/// other end.
enum class PadMode { constant, reflect, replicate, circular };
/// Adds widths[0] elements before and widths[1] after those of the last axis, the next two widths to the axis before
/// it, and so on: {left, right, top, bottom}. Any number of axes. A negative width removes elements; circular wraps
/// around the remaining ones. Error for an odd number of widths, for a negative resulting size, for a width that is too
/// large for the axis (at most size - 1 for reflect, size for circular; replicate needs one element), and if x is int64
/// and the value is not an integer.
Tensor pad(const Tensor& x, std::span<const int64_t> widths, PadMode mode = PadMode::constant, double value = 0);
Tensor pad(const Tensor& x, std::initializer_list<int64_t> widths, PadMode mode = PadMode::constant, double value = 0);

/// ij: vector i varies along axis i of the grid. xy: the first two axes are exchanged, so that x varies along columns
/// and y along rows.
enum class MeshIndexing { ij, xy };
/// Views of n vectors (a scalar counts as [1]), each expanded to the grid of all of them, which has n axes. Error for
/// no vectors.
std::vector<Tensor> meshgrid(std::span<const Tensor> vectors, MeshIndexing indexing = MeshIndexing::ij);
std::vector<Tensor> meshgrid(std::initializer_list<Tensor> vectors, MeshIndexing indexing = MeshIndexing::ij);

// --- regions (ops/shape/region.cpp) ---

/// One axis of a region: {} is the whole axis; {start, stop} and {start, stop, step} are ranges by Python's rules, with
/// kAll for a missing bound; a number is a single index, and removes the axis. A list of slices begins at the first
/// axis.
struct Slice {
  int64_t start = kAll;
  int64_t stop = kAll;
  int64_t step = 1;
  bool single = false;  ///< `start` is one index
  Slice() = default;
  Slice(int64_t index) : start(index), single(true) {}  // NOLINT: {{}, 2} is x[:, 2]
  Slice(int64_t from, int64_t to, int64_t every = 1) : start(from), stop(to), step(every) {}
};
/// slice(x, {{}, {1, 3}, 2}) is Python's x[:, 1:3, 2]: a view.
Tensor slice(const Tensor& x, std::span<const Slice> slices);
Tensor slice(const Tensor& x, std::initializer_list<Slice> slices);
/// A copy of x with that region replaced by `values`, which have x's type and broadcast to the region: x[:, 1:3, 2] =
/// values.
Tensor slice_update(const Tensor& x, std::span<const Slice> slices, const Tensor& values);
Tensor slice_update(const Tensor& x, std::initializer_list<Slice> slices, const Tensor& values);
Tensor slice_update(const Tensor& x, std::span<const Slice> slices, double value);
Tensor slice_update(const Tensor& x, std::initializer_list<Slice> slices, double value);

// --- reading by index (ops/shape/index.cpp): int64 indices; Error for an index out of range, with its value and
// position ---

/// The slices of x at index [n] along an axis, whose size becomes n.
Tensor index_select(const Tensor& x, int64_t axis, const Tensor& index);
/// y[i][j] = x[index[i][j]][j] for axis 0, in the shape of index, as in torch.gather. Error if another axis of index is
/// longer than that of x.
Tensor gather(const Tensor& x, int64_t axis, const Tensor& index);
/// gather, with x and index broadcast along all other axes, as in torch.take_along_dim. Negative indices count from the
/// end. Without an axis, x and index are flattened.
Tensor take_along_axis(const Tensor& x, const Tensor& index, std::optional<int64_t> axis = {});
/// x[i, j, ...], as in NumPy: y[b] = x[i[b]][j[b]]... for index tensors of the leading axes, which broadcast to each
/// other -> [their shape, remaining axes of x]. Negative indices count from the end. A bool tensor indexes as many axes
/// as it has, at its true positions. An empty handle takes the whole axis. The axes of the index replace the indexed
/// axes, but come first if whole axes lie between them.
Tensor index(const Tensor& x, std::span<const Tensor> indices);
Tensor index(const Tensor& x, std::initializer_list<Tensor> indices);
/// The elements of x where the bool mask is true, [n], in row-major order; x and mask broadcast.
Tensor masked_select(const Tensor& x, const Tensor& mask);
/// The indices of the elements that are not zero, int64 [n, axes], in row-major order; NaN is not zero. No gradient.
Tensor nonzero(const Tensor& x);
/// int64 [...] -> int64 [..., classes]: 1 at each index and 0 elsewhere. No gradient.
Tensor one_hot(const Tensor& index, int64_t classes);
/// weight [V, C], ids int64 [...] -> the rows of weight, [..., C]; the row `padding` gets no gradient. A bfloat16
/// weight gives float32 rows.
Tensor embedding(const Tensor& weight, const Tensor& ids, std::optional<int64_t> padding = {});

// --- writing by index (ops/shape/scatter.cpp): copies of x with some elements replaced or increased ---
// x and source have the same type. If several values are written to one place, the last in row-major order is kept, and
// only it gets a gradient; sums are added in that order. Indices as for reading.

/// x with source[i][j] at [index[i][j]][j] for axis 0, as in torch.scatter. Error if an axis of index is longer than
/// that of source, or than that of x, except `axis` in x.
Tensor scatter(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);
Tensor scatter(const Tensor& x, int64_t axis, const Tensor& index, double value);
/// The same, but adds to the elements of x, as in torch.scatter_add.
Tensor scatter_add(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);
/// x with alpha times slice i of source added to slice index[i] along an axis. index is [n]; source has x's shape, with
/// size n along the axis.
Tensor index_add(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source, double alpha = 1);
/// x with slice index[i] along an axis replaced by slice i of source.
Tensor index_copy(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);
/// x with the slices at index [n] along an axis filled with a value.
Tensor index_fill(const Tensor& x, int64_t axis, const Tensor& index, double value);
/// x[i, j, ...] = values, or += with `accumulate`: `indices` as in index(); values broadcast to the shape of its
/// result.
Tensor index_put(const Tensor& x, std::span<const Tensor> indices, const Tensor& values, bool accumulate = false);
Tensor index_put(const Tensor& x, std::initializer_list<Tensor> indices, const Tensor& values, bool accumulate = false);

// --- order (ops/reduce/sort.cpp, ops/reduce/extreme.cpp, ops/reduce/scan.cpp): values and their positions ---

struct Sorted {
  Tensor values;
  Tensor indices;  ///< int64: positions of the values along the axis
};
/// x sorted along an axis. Stable; NaN sorts as the largest value. The gradient flows through `values`.
Sorted sort(const Tensor& x, int64_t axis = -1, bool descending = false);
/// The largest (smallest) element along an axis: the first of equal ones, or the first NaN. Only this element gets a
/// gradient. Error for no elements.
Sorted max(const Tensor& x, int64_t axis, bool keepdim = false);
Sorted min(const Tensor& x, int64_t axis, bool keepdim = false);
/// The running maximum (minimum) along an axis, in the shape of x: the last of equal elements so far, or the last NaN.
Sorted cummax(const Tensor& x, int64_t axis);
Sorted cummin(const Tensor& x, int64_t axis);
/// The median along an axis; for an even number of elements, the lower of the two in the middle. The index is that of
/// the element that a stable sort puts there. If there is a NaN, the first one is the result. Error for no elements and
/// for bool.
Sorted median(const Tensor& x, int64_t axis, bool keepdim = false);
/// The median of all elements. Elements equal to it share the gradient evenly. NaN for an empty floating tensor; Error
/// for an empty int64 tensor and for bool.
Tensor median(const Tensor& x);
/// The k largest (smallest) elements along an axis, sorted. Error unless k is between 0 and the size of the axis.
Sorted topk(const Tensor& x, int64_t k, int64_t axis = -1, bool largest = true);

// --- softmax (ops/attention/softmax.cpp), floating ---

/// exp(x) / sum(exp(x)) along an axis; zeros, with gradient 0, where all of x is -inf.
Tensor softmax(const Tensor& x, int64_t axis = -1);
/// The logarithm of softmax; -inf, with gradient 0, where all of x is -inf.
Tensor log_softmax(const Tensor& x, int64_t axis = -1);

// --- normalisation over the last axes (ops/norm/norm.cpp), fused, floating ---

/// (x - mean) / sqrt(var + eps) * weight + bias over the axes of `weight` and `bias`; over the last axis if both are
/// empty handles. Population variance. Ba, Kiros, Hinton 2016.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps = 1e-5);
/// gamma * (x - mean) / (std + eps) + beta, with the population standard deviation and eps outside the root, as in
/// tutorial 003, section 8.4.1.
Tensor layer_norm_std(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps = 1e-6);
/// x / sqrt(mean(x^2) + eps) * weight over the last axis. Zhang, Sennrich 2019.
Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps = 1e-6);

// --- normalisation per channel (ops/norm/batch_norm.cpp, ops/norm/group_norm.cpp), fused, floating ---
// x [N, C, ...]; weight and bias [C]; either may be an empty handle. A NaN or an infinity makes all elements NaN that
// are normalised together with it.

/// (x - mean) / sqrt(var + eps) * weight + bias with the given statistics [C]: the form for evaluation. The statistics
/// are constants; Error if they require gradients. Ioffe, Szegedy 2015.
Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);
struct BatchNormed {
  Tensor y;
  Tensor mean;  ///< [C], of the batch
  Tensor var;   ///< [C], the batch's sample variance (divided by n - 1), for the running statistics
};
/// The same with the mean and population variance of the batch: the form for training. Returns the statistics, so that
/// the caller can update running ones; no gradient flows through them. They are NaN for an empty batch. Error if a
/// channel has only one element.
BatchNormed batch_norm_training(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);
/// The same with the mean and population variance of each sample's groups of adjacent channels. Error unless
/// `num_groups` divides C, and if x has exactly `num_groups` elements. Wu, He 2018.
Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);
/// group_norm with one channel of x [N, C, L, ...] per group. Error if a channel of a sample has only one element.
/// Ulyanov, Vedaldi, Lempitsky 2016.
Tensor instance_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);

// --- dropout (ops/random/dropout.cpp), floating ---

/// In training, zeroes each element with probability p and multiplies the others by 1 / (1 - p). Draws one number per
/// element in row-major order, as PyTorch does for contiguous tensors (for transposed ones it follows their memory);
/// with p = 0 or 1, in evaluation and for empty tensors it draws nothing. Without a generator it uses the default one.
/// Error unless 0 <= p <= 1.
Tensor dropout(const Tensor& x, double p, bool training = true, Generator* generator = nullptr);

// --- attention (ops/attention/attention.cpp), fused, floating ---

struct AttentionOptions {
  Tensor mask = {};  ///< bool (true: may be attended to), or floating (added to the scores); broadcasts to [..., T, S]
  bool causal = false;               ///< query t attends to keys 0 .. t only
  double dropout = 0;                ///< probability, applied to the weights in training
  bool training = true;              ///< false: no dropout
  std::optional<double> scale = {};  ///< of the scores; default: 1 / sqrt(D)
  Generator* generator = nullptr;    ///< for dropout; nullptr: the default generator
  bool enable_gqa = false;           ///< query [..., H, T, D] may have more heads than key and value; see below
};
/// softmax(query key^T * scale + mask) value: query [..., T, D], key [..., S, D], value [..., S, E] -> [..., T, E];
/// leading axes broadcast. Zeros for a query whose keys are all masked. Vaswani et al. 2017. With enable_gqa
/// (grouped-query attention; Ainslie et al. 2023), key and value have K heads (axis -3), where K divides the query's H;
/// head h of the query uses head h K / H, rounded down, and no head is copied. Error for a floating mask that has only
/// ones and zeros, because it was probably meant to be bool; a mask of zeros only, or one that requires a gradient, is
/// accepted.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options = {});
/// The same, and the weights [..., T, S] before dropout, which are not recorded.
std::pair<Tensor, Tensor> attention_with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                                 const AttentionOptions& options = {});

// --- vectors along an axis (ops/reduce/vector_norm.cpp), floating ---

/// x / max(norm(x, p, axis), eps): vectors of norm 1.
Tensor normalize(const Tensor& x, double p = 2, int64_t axis = 1, double eps = 1e-12);
/// norm(a - b + eps, p) along the last axis; a and b broadcast.
Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p = 2, double eps = 1e-6, bool keepdim = false);
/// sum(a b) / (max(|a|, eps) max(|b|, eps)) along an axis, with 2-norms; a and b broadcast.
Tensor cosine_similarity(const Tensor& a, const Tensor& b, int64_t axis = 1, double eps = 1e-8);

// --- for the engine ---

/// x summed over the axes along which `shape` was broadcast to x's shape: the reverse of expand. bool counts as int64.
Tensor sum_to(const Tensor& x, const Shape& shape);
/// sum += x in place, for a tensor that is unique(); x broadcasts to it. Not recorded. float32 or float64, the same for
/// both.
void accumulate_into(Tensor& sum, const Tensor& x);
/// Copies x to y (contiguous; fresh, or owned by the caller), in row-major order; x broadcasts to y. Both have the same
/// type. Not recorded.
void copy_into(const Tensor& y, const Tensor& x);
/// Whether all elements are finite; true for int64 and bool.
bool all_finite(const Tensor& x);

}  // namespace tapegrad
