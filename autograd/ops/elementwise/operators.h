// Arithmetic, comparisons, logic and selection, elementwise, with the operators of C++.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <concepts>
#include <optional>

namespace tapegrad {

// --- elementwise: arithmetic (autograd/ops/elementwise/arithmetic.cpp, composed.cpp) ---
// Integers wrap around. With a number as one operand, a floating tensor keeps its type; an int64 or bool tensor becomes
// int64 if the number is whole, float32 otherwise. Whole numbers are exact up to the ends of int64 (scalar.h).

/// a + b; for two bools, logical or.
Tensor add(const Tensor& a, const Tensor& b);
Tensor add(const Tensor& a, Scalar b);
/// a - b. Error for two bools.
Tensor sub(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, Scalar b);
Tensor sub(Scalar a, const Tensor& b);
/// a * b; for two bools, logical and.
Tensor mul(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, Scalar b);
/// a / b, true division: int64 and bool become float32.
Tensor div(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, Scalar b);
Tensor div(Scalar a, const Tensor& b);
/// How a quotient is rounded: not at all, towards zero, or towards minus infinity.
enum class Rounding { none, trunc, floor };
/// a / b, rounded, as torch.div with rounding_mode: int64 operands give int64. Rounded down, a finite a over an
/// infinite b is 0 or -1, and an infinite a gives NaN. Error for a zero int64 divisor and for two bools; gradient 0.
Tensor div(const Tensor& a, const Tensor& b, Rounding rounding);
Tensor div(const Tensor& a, Scalar b, Rounding rounding);
/// div(a, b, Rounding::floor), as Python's a // b. Exact, also where a / b would round up to the next integer.
Tensor floor_divide(const Tensor& a, const Tensor& b);
Tensor floor_divide(const Tensor& a, Scalar b);
/// a^b. The gradient of b is 0 where a is 0 and b >= 0, as in PyTorch. Error for a negative int64 exponent.
Tensor pow(const Tensor& a, const Tensor& b);
Tensor pow(const Tensor& a, Scalar exponent);
Tensor pow(Scalar base, const Tensor& exponent);
/// -x. Error for bool.
Tensor neg(const Tensor& x);
/// The larger (smaller) of a and b; NaN if either is NaN. If they are equal, each operand gets half of the gradient.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, Scalar b);
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, Scalar b);
/// x limited to [low, high]; gradient 0 for elements outside the bounds. NaN stays NaN. Error if both bounds are
/// missing.
Tensor clamp(const Tensor& x, std::optional<Scalar> low, std::optional<Scalar> high = {});
/// x limited to [low, high] element by element; all of them broadcast. Either bound may be an empty handle, but not
/// both. With one bound, this is maximum(x, low) or minimum(x, high). With two, high counts where low > high, x and a
/// bound that it is equal to get half of the gradient each (but x all of it where low = high), and NaN in any of the
/// three gives NaN.
Tensor clamp(const Tensor& x, const Tensor& low, const Tensor& high = {});
Tensor clamp_min(const auto& x, auto low) = delete;   // write clamp(x, low)
Tensor clamp_max(const auto& x, auto high) = delete;  // write clamp(x, {}, high)
/// The remainder of a / b: fmod has the sign of a, as in C; remainder has the sign of b, as in Python. NaN for b = 0
/// and for infinite a. Error for a zero int64 divisor and for two bools. The gradient is dy for a, and -dy times the
/// integer quotient for b.
Tensor fmod(const Tensor& a, const Tensor& b);
Tensor fmod(const Tensor& a, Scalar b);
Tensor remainder(const Tensor& a, const Tensor& b);
Tensor remainder(const Tensor& a, Scalar b);
/// The angle of the point (x, y), in [-pi, pi]. The signs of x and y select the quadrant, including the signs of zeros.
/// float32 or float64, the same for both. The gradient at (0, 0) is 0.
Tensor atan2(const Tensor& y, const Tensor& x);
/// a + weight (b - a), computed from the nearer end, so that it is exact for weights 0 and 1. float32 or float64, the
/// same for all operands, which broadcast.
Tensor lerp(const Tensor& a, const Tensor& b, const Tensor& weight);
Tensor lerp(const Tensor& a, const Tensor& b, double weight);

/// x + value * a * b.
Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, Scalar value = 1);
/// x + value * a / b. Error if neither a nor b is floating.
Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, Scalar value = 1);
/// log(exp(a) + exp(b)) without overflow. float32 and float64. Where a and b are the same infinity, so is the result;
/// the gradient is 0 for -inf, as that of logsumexp, and 1/2 for each inf. (PyTorch: NaN.)
Tensor logaddexp(const Tensor& a, const Tensor& b);
Tensor logaddexp2(const Tensor& a, const Tensor& b);  ///< log2(2^a + 2^b)
/// x log(y); 0 where x is 0, unless y is NaN. int64 and bool become float32. The gradient of x is 0 where x = 0 and y
/// <= 0, that of y where both are 0.
Tensor xlogy(const Tensor& x, const Tensor& y);
Tensor xlog1py(const Tensor& x, const Tensor& y);  ///< x log(1 + y), with the same rules for y + 1

/// The operations add, sub, mul, div and neg.
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator+(const Tensor& a, Scalar b) { return add(a, b); }
inline Tensor operator+(Scalar a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(const Tensor& a, Scalar b) { return sub(a, b); }
inline Tensor operator-(Scalar a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, Scalar b) { return mul(a, b); }
inline Tensor operator*(Scalar a, const Tensor& b) { return mul(b, a); }
inline Tensor operator/(const Tensor& a, Scalar b) { return div(a, b); }
inline Tensor operator/(Scalar a, const Tensor& b) { return div(a, b); }
inline Tensor operator-(const Tensor& x) { return neg(x); }

/// x = x + y: the handle x gets a new tensor, while other handles keep the old one, and gradients flow. Error if the
/// result has another shape or type than x, and for a leaf, which an optimiser or nn::Parameter::set changes.
Tensor& operator+=(Tensor& x, const Tensor& y);
Tensor& operator-=(Tensor& x, const Tensor& y);
Tensor& operator*=(Tensor& x, const Tensor& y);
Tensor& operator/=(Tensor& x, const Tensor& y);
Tensor& operator+=(Tensor& x, Scalar y);
Tensor& operator-=(Tensor& x, Scalar y);
Tensor& operator*=(Tensor& x, Scalar y);
Tensor& operator/=(Tensor& x, Scalar y);
template <std::same_as<Tensor> X>
void operator+=(X&& x, const auto& y) = delete;  // x[0] += y would be lost: write x(0) += y, x a name that is not const
template <std::same_as<Tensor> X>
void operator-=(X&& x, const auto& y) = delete;
template <std::same_as<Tensor> X>
void operator*=(X&& x, const auto& y) = delete;
template <std::same_as<Tensor> X>
void operator/=(X&& x, const auto& y) = delete;

// --- comparison and logic: bool results, no gradient (autograd/ops/elementwise/compare.cpp) ---

/// Elementwise comparisons. If either operand is NaN, only `ne` is true. Integers are compared with numbers exactly.
Tensor eq(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);
Tensor eq(const Tensor& a, Scalar b);
Tensor ne(const Tensor& a, Scalar b);
Tensor lt(const Tensor& a, Scalar b);
Tensor le(const Tensor& a, Scalar b);
Tensor gt(const Tensor& a, Scalar b);
Tensor ge(const Tensor& a, Scalar b);
/// Logical operations on bool tensors. Error for other types.
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& x);
/// True where x is NaN, infinite, or neither. Any type, also halves.
Tensor isnan(const Tensor& x);
Tensor isinf(const Tensor& x);
Tensor isfinite(const Tensor& x);
/// True where |a - b| <= atol + rtol |b|. Equal infinities are close; NaN is close to NaN only with equal_nan. int64
/// and bool are compared exactly. Error for a negative tolerance.
Tensor isclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
/// Whether isclose is true for all elements; true if there are none.
bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
/// Whether shapes and all elements are equal. NaN is not equal to NaN; types may differ.
bool equal(const Tensor& a, const Tensor& b);
/// Whether all elements (any element) of a bool tensor are true; true (false) for an empty tensor. Error for other
/// types.
bool all(const Tensor& x);
bool any(const Tensor& x);
/// The same along axes, which are removed, or kept with size 1; along all of them if none is given.
Tensor all(const Tensor& x, const Axes& axes, Flag keepdim = false);
Tensor any(const Tensor& x, const Axes& axes, Flag keepdim = false);

/// The operations eq, ne, lt, le, gt and ge, and logical_and, logical_or and logical_not.
inline Tensor operator==(const Tensor& a, const Tensor& b) { return eq(a, b); }
inline Tensor operator!=(const Tensor& a, const Tensor& b) { return ne(a, b); }
inline Tensor operator<(const Tensor& a, const Tensor& b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return ge(a, b); }
inline Tensor operator==(const Tensor& a, Scalar b) { return eq(a, b); }
inline Tensor operator!=(const Tensor& a, Scalar b) { return ne(a, b); }
inline Tensor operator<(const Tensor& a, Scalar b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, Scalar b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, Scalar b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, Scalar b) { return ge(a, b); }
inline Tensor operator==(Scalar a, const Tensor& b) { return eq(b, a); }
inline Tensor operator!=(Scalar a, const Tensor& b) { return ne(b, a); }
inline Tensor operator<(Scalar a, const Tensor& b) { return gt(b, a); }
inline Tensor operator<=(Scalar a, const Tensor& b) { return ge(b, a); }
inline Tensor operator>(Scalar a, const Tensor& b) { return lt(b, a); }
inline Tensor operator>=(Scalar a, const Tensor& b) { return le(b, a); }
inline Tensor operator&&(const Tensor& a, const Tensor& b) { return logical_and(a, b); }
inline Tensor operator||(const Tensor& a, const Tensor& b) { return logical_or(a, b); }
inline Tensor operator!(const Tensor& x) { return logical_not(x); }

// --- selection (autograd/ops/elementwise/select.cpp) ---

/// a where the bool condition is true, b elsewhere; all three broadcast.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, Scalar b);
Tensor where(const Tensor& condition, Scalar a, const Tensor& b);
/// Of two numbers: float32, or int64 if both are integers.
inline Tensor where(const Tensor& condition, double a, double b) { return where(condition, scalar(a), Scalar(b)); }
Tensor where(const Tensor& condition, Integer auto a, Integer auto b) {
  return where(condition, scalar(a, kInt64), Scalar(b));
}
/// `value` where the bool mask is true, x elsewhere; both broadcast. Error if x is int64 and the value is not an
/// integer.
Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value);
/// x [..., m, n] with zeros above (below) a diagonal of the last two axes: 0 is the main diagonal, 1 the next one above
/// it.
Tensor tril(const Tensor& x, int64_t diagonal = 0);
Tensor triu(const Tensor& x, int64_t diagonal = 0);

// --- for the engine ---

/// sum += x in place, for a tensor that is unique(); x broadcasts to it. Not recorded. float32 or float64, the same for
/// both.
void accumulate_into(Tensor& sum, const Tensor& x);
/// Whether all elements are finite; true for int64 and bool.
bool all_finite(const Tensor& x);

}  // namespace tapegrad
