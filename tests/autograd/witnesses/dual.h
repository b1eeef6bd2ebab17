// Dual numbers, v + s e with e^2 = 0, in which formulas of kernels compute exact derivatives, and the functions by
// which a file of formulas makes its tables of them.
//
// A file of formulas (autograd/ops/elementwise/elementwise.cpp) is included after this header, and so compiled once
// more, for an instruction set that is named N_DUAL and whose Vec<T> is a dual number of T. Instead of kernels its
// tables then have the value formulas on Vec<Number> (Formula::float32) and on Vec<Vec<Number>> (Formula::float64, for
// second derivatives). The written derivatives are left out: nothing here is computed from them.
//
// The rule of each elementary function is written here from a table of derivatives, not from the library.
#pragma once

#include <tapegrad/autograd/fuse.h>
#include <tapegrad/autograd/kernels/simd/simd_targets.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/formula.h>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// The files of formulas have nothing of Highway but these names. Their part that is compiled once stays out.
#define HWY_NAMESPACE N_DUAL
#define HWY_BEFORE_NAMESPACE() static_assert(true)
#define HWY_AFTER_NAMESPACE() static_assert(true)
#define HWY_INLINE inline
#define HWY_ATTR
#define HWY_ONCE 0
#define TAPEGRAD_AUTOGRAD_OPS_FORMULA_SIMD_H_
#define TAPEGRAD_AUTOGRAD_OPS_ROWS_INL_H_
#define TAPEGRAD_AUTOGRAD_KERNELS_POWER_INL_H_

namespace tapegrad::N_DUAL {

// Eleven bits more than double (on x86): what cancels in a formula must not spoil its derivative.
using Number = long double;

// A number without its slopes, and whether nothing of it is there.
auto plain(std::floating_point auto x) { return x; }
bool is_zero(std::floating_point auto x) { return x == 0; }
template <std::floating_point T>
void set_plain(T& x, T value) {
  x = value;
}

using std::erf, std::pow, std::fmod, std::atan2, std::floor, std::ceil, std::trunc, std::abs;
using std::exp, std::expm1, std::exp2, std::log, std::log1p, std::log2, std::log10, std::sqrt, std::sin, std::cos;
using std::tan, std::asin, std::acos, std::atan, std::sinh, std::cosh, std::tanh, std::asinh, std::acosh, std::atanh;
auto round(std::floating_point auto x) { return std::nearbyint(x); }

inline constexpr Number kLogOf2 = 0.693147180559945309417232121458176568L;
inline constexpr Number kLogOf10 = 2.302585092994045684017991454684364208L;
inline constexpr Number kTwoOverRootOfPi = 1.128379167095512573896158903121545172L;

// 1 - x^2, without cancellation, and so that neither its derivatives cancel.
auto rest_of_square(auto x) { return std::abs(plain(x)) < 0.5 ? 1 - x * x : (1 - x) * (1 + x); }

struct Truth {
  bool is;
};
// Named after T, so that where() is found.
template <class T>
struct Mask : Truth {
  friend Mask operator&(Mask a, Mask b) { return {a.is && b.is}; }
  friend Mask operator|(Mask a, Mask b) { return {a.is || b.is}; }
  friend Mask operator^(Mask a, Mask b) { return {a.is != b.is}; }
  friend Mask operator!(Mask a) { return {!a.is}; }
};

template <class T>
struct Vec {
  T value{}, slope{};

  Vec() = default;
  Vec(T v) : value(v) {}  // NOLINT: a constant
  template <class S>
  requires(std::is_arithmetic_v<S> && !std::is_same_v<S, T>) Vec(S v) : value(static_cast<T>(v)) {}  // NOLINT
  Vec(T v, T s) : value(v), slope(s) {}

  friend auto plain(const Vec& x) { return plain(x.value); }
  friend bool is_zero(const Vec& x) { return is_zero(x.value) && is_zero(x.slope); }
  friend void set_plain(Vec& x, auto v) { set_plain(x.value, v); }

  friend Vec operator+(Vec a, Vec b) { return {a.value + b.value, a.slope + b.slope}; }
  friend Vec operator-(Vec a, Vec b) { return {a.value - b.value, a.slope - b.slope}; }
  friend Vec operator-(Vec a) { return {-a.value, -a.slope}; }
  friend Vec operator*(Vec a, Vec b) { return {a.value * b.value, times(b.value, a) + times(a.value, b)}; }
  friend Vec operator/(Vec a, Vec b) {
    const T quotient = a.value / b.value;
    return {quotient, times(1 / b.value, a) - times(quotient / b.value, b)};
  }

  friend Mask<T> operator<(Vec a, Vec b) { return {plain(a) < plain(b)}; }
  friend Mask<T> operator<=(Vec a, Vec b) { return {plain(a) <= plain(b)}; }
  friend Mask<T> operator>(Vec a, Vec b) { return {plain(a) > plain(b)}; }
  friend Mask<T> operator>=(Vec a, Vec b) { return {plain(a) >= plain(b)}; }
  friend Mask<T> operator==(Vec a, Vec b) { return {plain(a) == plain(b)}; }
  friend Mask<T> operator!=(Vec a, Vec b) { return {plain(a) != plain(b)}; }
  friend Vec where(Mask<T> m, Vec a, Vec b) { return m.is ? a : b; }
  friend Vec minimum(Vec a, Vec b) { return (a > b).is ? b : a; }
  friend Vec maximum(Vec a, Vec b) { return (a < b).is ? b : a; }
  friend Vec copysign(Vec a, Vec sign) { return std::signbit(plain(a)) == std::signbit(plain(sign)) ? a : -a; }

  // factor times the slope of x; nothing where x is a constant, whatever the factor is.
  friend T times(T factor, const Vec& x) { return is_zero(x.slope) ? T(0) : factor * x.slope; }

  // Elementary functions: {f(x), f'(x) x'}.
  friend Vec exp(Vec x) { return {exp(x.value), times(exp(x.value), x)}; }
  friend Vec expm1(Vec x) { return {expm1(x.value), times(exp(x.value), x)}; }
  friend Vec exp2(Vec x) { return {exp2(x.value), times(exp2(x.value) * kLogOf2, x)}; }
  friend Vec log(Vec x) { return {log(x.value), times(1 / x.value, x)}; }
  friend Vec log1p(Vec x) { return {log1p(x.value), times(1 / (1 + x.value), x)}; }
  friend Vec log2(Vec x) { return {log2(x.value), times(1 / (x.value * kLogOf2), x)}; }
  friend Vec log10(Vec x) { return {log10(x.value), times(1 / (x.value * kLogOf10), x)}; }
  friend Vec sqrt(Vec x) { return {sqrt(x.value), times(1 / (2 * sqrt(x.value)), x)}; }
  friend Vec rsqrt(Vec x) { return 1 / sqrt(x); }
  friend Vec sin(Vec x) { return {sin(x.value), times(cos(x.value), x)}; }
  friend Vec cos(Vec x) { return {cos(x.value), times(-sin(x.value), x)}; }
  friend Vec tan(Vec x) {
    const T c = cos(x.value);
    return {tan(x.value), times(1 / (c * c), x)};
  }
  friend Vec asin(Vec x) { return {asin(x.value), times(1 / sqrt(rest_of_square(x.value)), x)}; }
  friend Vec acos(Vec x) { return {acos(x.value), times(-1 / sqrt(rest_of_square(x.value)), x)}; }
  friend Vec atan(Vec x) { return {atan(x.value), times(1 / (1 + x.value * x.value), x)}; }
  friend Vec sinh(Vec x) { return {sinh(x.value), times(cosh(x.value), x)}; }
  friend Vec cosh(Vec x) { return {cosh(x.value), times(sinh(x.value), x)}; }
  friend Vec tanh(Vec x) {
    const T c = cosh(x.value);
    return {tanh(x.value), std::abs(plain(x)) < 5000 ? times(1 / (c * c), x) : T(0)};
  }
  friend Vec asinh(Vec x) { return {asinh(x.value), times(1 / sqrt(x.value * x.value + 1), x)}; }
  friend Vec acosh(Vec x) { return {acosh(x.value), times(1 / sqrt((x.value - 1) * (x.value + 1)), x)}; }
  friend Vec atanh(Vec x) { return {atanh(x.value), times(1 / rest_of_square(x.value), x)}; }
  friend Vec erf(Vec x) { return {erf(x.value), times(kTwoOverRootOfPi * exp(-(x.value * x.value)), x)}; }
  friend Vec pow(Vec a, Vec b) {
    const T y = pow(a.value, b.value);
    Vec power = y;
    if (!is_zero(a.slope)) power.slope = power.slope + b.value * pow(a.value, b.value - 1) * a.slope;
    if (!is_zero(b.slope)) power.slope = power.slope + y * log(a.value) * b.slope;
    return power;
  }
  friend Vec atan2(Vec y, Vec x) {
    const T square = x.value * x.value + y.value * y.value;
    return {atan2(y.value, x.value), times(x.value / square, y) - times(y.value / square, x)};
  }
  friend Vec abs(Vec x) { return plain(x) < 0 ? -x : x; }

  // Constant between jumps.
  friend Vec floor(Vec x) { return T(floor(x.value)); }
  friend Vec ceil(Vec x) { return T(ceil(x.value)); }
  friend Vec trunc(Vec x) { return T(trunc(x.value)); }
  friend Vec round(Vec x) { return T(round(x.value)); }
  friend Vec sign(Vec x) { return T((plain(x) > 0) - (plain(x) < 0)); }

  // a - n b with a whole number n.
  friend Vec fmod(Vec a, Vec b) {
    const auto left = std::fmod(plain(a), plain(b)), n = std::nearbyint((plain(a) - left) / plain(b));
    Vec y = a - Vec(n) * b;
    set_plain(y, left);
    return y;
  }
  friend Vec remainder(Vec a, Vec b) {
    const Vec left = fmod(a, b);
    return where((left != 0) & ((left < 0) ^ (b < 0)), left + b, left);
  }

  // Functions that the library's formulas have as one.
  friend Vec sigmoid(Vec x) {
    const Vec e = exp(-abs(x));
    return where(x < 0, e, Vec(1)) / (1 + e);
  }
  friend Vec silu(Vec x) { return x * sigmoid(x); }
  friend Vec softplus(Vec x) { return maximum(x, Vec(0)) + log1p(exp(-abs(x))); }
};

// --- tables ---

// A value formula that a file of formulas has made.
struct Made {
  MapKernel first;  // on Vec<Number>
  std::string_view type;
};
inline std::vector<Made>& made() {
  static std::vector<Made> all;
  return all;
}

template <class F, class T, int kOperands, int kScalars>
void dual_row(const void* const* x, void* y, int64_t n, const void* context) {
  const auto* const s = static_cast<const double*>(context);
  const auto at = [&]<std::size_t... X, std::size_t... S>(int64_t i, std::index_sequence<X...>,
                                                          std::index_sequence<S...>)
                      ->Vec<T> {
    static_cast<void>(s);
    return F()(static_cast<const Vec<T>*>(x[X])[i]..., Vec<T>(s[S])...);
  };
  for (int64_t i = 0; i < n; ++i)
    static_cast<Vec<T>*>(y)[i] = at(i, std::make_index_sequence<kOperands>(), std::make_index_sequence<kScalars>());
}

template <class F>
std::string_view type_of() {
  return __PRETTY_FUNCTION__;
}
// Enters a formula in made() when the program starts.
template <class F, int kOperands, int kScalars>
struct Entry {
  static inline const bool entered =
      (made().push_back({&dual_row<F, Number, kOperands, kScalars>, type_of<F>()}), true);
};

template <int kOperands, int kScalars = 0, class F>
constexpr Formula value_of(F) {
  static_cast<void>(&Entry<F, kOperands, kScalars>::entered);
  return {&dual_row<F, Number, kOperands, kScalars>, &dual_row<F, Vec<Number>, kOperands, kScalars>};
}
template <int kOperands, int kScalars = 0, class F>
constexpr Formula derivative_of(F) {
  return {};
}
template <int kOperands, int kScalars = 0, class F>
constexpr Formula fusible_derivative_of(F) {
  return {};
}
template <int kScalars = 0, class F, class G>
constexpr Unary from_y(F value, G) {
  return {value_of<1, kScalars>(value), {}, true};
}
template <int kScalars = 0, class F, class G>
constexpr Unary from_x(F value, G) {
  return {value_of<1, kScalars>(value), {}, false};
}

// Gates have no table of formulas, but functions of rows; such a function leaves the formula that it was made of here.
inline Formula last_mapped;  // NOLINT

template <class T, class F>
void map_row(int64_t, T*, F f, const T*, const T*) {
  last_mapped = value_of<2>(f);
}
template <class T, class F>
void each_span(int64_t, F) {}  // of gradients, which are not computed here

namespace math {
template <class V, class... C>
V poly(V x, C... c);  // of a kernel for float32
}  // namespace math

}  // namespace tapegrad::N_DUAL
