// Comparison and logic: results are bool and have no gradient.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/elementwise/compare.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/rows-inl.h>
#include <tapegrad/autograd/ops/detail/formula_simd.h>

#ifndef TAPEGRAD_COMPARE_FORMULAS
#define TAPEGRAD_COMPARE_FORMULAS
namespace tapegrad {

struct Comparison {
  MapKernel float32, float64;  // of two tensors
  MapKernel float32_number, float64_number;
};
template <class Bits>  // whether no element has an exponent of all ones, as infinities and NaN do
using AllFinite = bool (*)(const Bits* elements, int64_t n, Bits exponent);
struct Comparisons {
  Comparison eq, ne, lt, le, gt, ge;
  AllFinite<uint16_t> finite16;
  AllFinite<uint32_t> finite32;
  AllFinite<uint64_t> finite64;
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

template <class F, class T, bool kNumber>
void comparison_kernel(const void* const* x, void* y, int64_t n, const void* context) {
  const T* const a = static_cast<const T*>(x[0]);
  const T* const b = kNumber ? a : static_cast<const T*>(x[1]);
  bool* const out = static_cast<bool*>(y);
  const Vec<T> number = kNumber ? static_cast<T>(*static_cast<const double*>(context)) : T{0};
  each_span<T>(n, [=](auto s) { s.store_mask(F()(s.load(a), kNumber ? number : s.load(b)), out); });
}

template <class F>
constexpr Comparison comparison(F) {
  return {&comparison_kernel<F, float, false>, &comparison_kernel<F, double, false>, &comparison_kernel<F, float, true>,
          &comparison_kernel<F, double, true>};
}

template <class Bits>
bool all_finite_in(const Bits* bits, int64_t n, Bits exponent) {
  Bits found = 0;
  for (int64_t i = 0; i < n; ++i) found |= (bits[i] & exponent) == exponent ? 1 : 0;
  return found == 0;
}

const Comparisons& comparison_kernels() {
  static constexpr Comparisons kernels = {
      .eq = comparison([](auto a, auto b) { return a == b; }),
      .ne = comparison([](auto a, auto b) { return a != b; }),
      .lt = comparison([](auto a, auto b) { return a < b; }),
      .le = comparison([](auto a, auto b) { return a <= b; }),
      .gt = comparison([](auto a, auto b) { return a > b; }),
      .ge = comparison([](auto a, auto b) { return a >= b; }),
      .finite16 = all_finite_in<uint16_t>,
      .finite32 = all_finite_in<uint32_t>,
      .finite64 = all_finite_in<uint64_t>,
  };
  return kernels;
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/internal/fail.h>

#include <algorithm>
#include <atomic>
#include <cmath>

namespace tapegrad {
namespace {

HWY_EXPORT(comparison_kernels);

const Comparisons& comparisons() { return chosen<HWY_DISPATCH_TABLE(comparison_kernels)>(); }

// Names, not Ops: operations without a gradient are never recorded.
constexpr std::string_view kEq = "eq";
constexpr std::string_view kNe = "ne";
constexpr std::string_view kLt = "lt";
constexpr std::string_view kLe = "le";
constexpr std::string_view kGt = "gt";
constexpr std::string_view kGe = "ge";
constexpr std::string_view kAllTrue = "all";
constexpr std::string_view kAnyTrue = "any";

Tensor compare(std::string_view where, const Comparison& kernel, MapKernel integers, const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || widens_to_int64(a.dtype())) {
    const DType dtype = std::max(a.dtype(), b.dtype()) <= kInt64 ? kInt64 : result_type(a, b);
    return compare(where, kernel, integers, a.detach().to(dtype), b.detach().to(dtype));
  }
  Tensor y = Tensor::empty(shape_of(where, a, b), kBool);
  map(y, {&a, &b}, a.dtype() == kFloat32 ? kernel.float32 : a.dtype() == kFloat64 ? kernel.float64 : integers);
  return y;
}

Tensor compare(std::string_view where, const Comparison& kernel, MapKernel integers, const Tensor& a, Scalar b) {
  double number = b;
  if (a.dtype() <= kInt64 && !b.is_int64()) {
    // as float64 without rounding: fractions are below 2^52, other numbers beyond all of int64
    if (std::abs(number) >= 0x1p63) number = std::copysign(std::numeric_limits<double>::infinity(), number);
    return compare(where, kernel, integers, a.to(kFloat64), number);
  }
  if (!is_floating(a.dtype())) return compare(where, kernel, integers, a, promote_scalar(b));
  Tensor y = Tensor::empty(a.shape(), kBool);
  map(y, {&a}, a.dtype() == kFloat32 ? kernel.float32_number : kernel.float64_number, &number);
  return y;
}

using Int = int64_t;
constexpr MapKernel kEqIntegers = plain_loop<bool, Int, 2>([](Int a, Int b) { return a == b; });
constexpr MapKernel kNeIntegers = plain_loop<bool, Int, 2>([](Int a, Int b) { return a != b; });
constexpr MapKernel kLtIntegers = plain_loop<bool, Int, 2>([](Int a, Int b) { return a < b; });
constexpr MapKernel kLeIntegers = plain_loop<bool, Int, 2>([](Int a, Int b) { return a <= b; });
constexpr MapKernel kGtIntegers = plain_loop<bool, Int, 2>([](Int a, Int b) { return a > b; });
constexpr MapKernel kGeIntegers = plain_loop<bool, Int, 2>([](Int a, Int b) { return a >= b; });

Tensor logical(std::string_view where, MapKernel kernel, const Tensor& a, const Tensor& b) {
  require_bool(where, a, "operand");
  require_bool(where, b, "operand");
  Tensor y = Tensor::empty(shape_of(where, a, b), kBool);
  map(y, {&a, &b}, kernel);
  return y;
}

// Whether f holds for each element, as bool [shape]; `of_integers` for every element that is not floating.
template <class F>
Tensor classify(const Tensor& x, bool of_integers, F f) {
  if (is_half(x.dtype())) return classify(x.detach().to(kFloat32), of_integers, f);
  Tensor y = Tensor::empty(x.shape(), kBool);
  if (!is_floating(x.dtype())) {
    std::fill_n(y.mutable_data<bool>(), y.numel(), of_integers);
  } else {
    map(y, {&x}, x.dtype() == kFloat32 ? plain_loop<bool, float, 1>(F()) : plain_loop<bool, double, 1>(F()));
  }
  return y;
}

bool contains(const Tensor& x, bool value) {
  const Tensor all = packed(x);
  const bool* const from = all.data<bool>();
  return std::find(from, from + all.numel(), value) != from + all.numel();
}

// Whether `value` occurs along axes.
Tensor contains(std::string_view where, const Tensor& x, const Axes& axes, bool keepdim, bool value) {
  require_bool(where, x, "operand");
  if (axes.rank() == 1 && is_scalar_axis(x, axes[0])) return contains(where, x.reshape({1}), 0, false, value);
  const Tensor y = Tensor::empty(reduced_shape(where, x.shape(), axes, keepdim), kBool);
  bool reduced[kMaxRank] = {};
  for (const int64_t axis : axes) reduced[normal_axis(where, axis, x.shape())] = true;
  Dims order;
  for (const bool last : {false, true}) {
    for (int i = 0; i < x.dim(); ++i) {
      if ((axes.empty() || reduced[i]) == last) order.push_back(i);
    }
  }
  const Tensor all = packed(x.permute(order));
  const bool* const from = all.data<bool>();
  bool* const out = y.mutable_data<bool>();
  const int64_t row = y.numel() ? all.numel() / y.numel() : 0;
  for (int64_t j = 0; j < y.numel(); ++j) {
    const bool* const end = from + (j + 1) * row;
    out[j] = std::find(from + j * row, end, value) != end;
  }
  return y;
}

struct Tolerance {
  double rtol, atol;
  bool equal_nan;
};

double distance(double a, double b) { return std::fabs(a - b); }
float distance(float a, float b) { return std::fabs(a - b); }
double distance(int64_t a, int64_t b) {
  const auto least = static_cast<uint64_t>(std::min(a, b)), most = static_cast<uint64_t>(std::max(a, b));
  return static_cast<double>(most - least);
}

template <class T>
void isclose_loop(const void* const* x, void* y, int64_t n, const void* context) {
  const Tolerance& tolerance = *static_cast<const Tolerance*>(context);
  using R = decltype(distance(T(), T()));
  const R rtol = static_cast<R>(tolerance.rtol), atol = static_cast<R>(tolerance.atol);
  const T* const a = static_cast<const T*>(x[0]);
  const T* const b = static_cast<const T*>(x[1]);
  bool* const out = static_cast<bool*>(y);
  for (int64_t i = 0; i < n; ++i) {
    const R error = distance(a[i], b[i]);
    const bool near = error <= atol + std::fabs(rtol * static_cast<R>(b[i])) && error <= std::numeric_limits<R>::max();
    out[i] = a[i] == b[i] || near || (tolerance.equal_nan && a[i] != a[i] && b[i] != b[i]);
  }
}

Tensor isclose(std::string_view where, const Tensor& a, const Tensor& b, const Tolerance& tolerance) {
  require(tolerance.rtol >= 0 && tolerance.atol >= 0, where,
          "expected tolerances of 0 or more, got rtol {} and atol {}", tolerance.rtol, tolerance.atol);
  const DType later = promoted_type(a.dtype(), b.dtype()), dtype = is_half(later) ? kFloat32 : std::max(later, kInt64);
  const Tensor from = a.detach().to(dtype), to = b.detach().to(dtype);
  Tensor y = Tensor::empty(shape_of(where, a, b), kBool);
  map(y, {&from, &to},
      dtype == kInt64     ? isclose_loop<int64_t>
      : dtype == kFloat32 ? isclose_loop<float>
                          : isclose_loop<double>,
      &tolerance);
  return y;
}

}  // namespace

Tensor eq(const Tensor& a, const Tensor& b) { return compare(kEq, comparisons().eq, kEqIntegers, a, b); }
Tensor ne(const Tensor& a, const Tensor& b) { return compare(kNe, comparisons().ne, kNeIntegers, a, b); }
Tensor lt(const Tensor& a, const Tensor& b) { return compare(kLt, comparisons().lt, kLtIntegers, a, b); }
Tensor le(const Tensor& a, const Tensor& b) { return compare(kLe, comparisons().le, kLeIntegers, a, b); }
Tensor gt(const Tensor& a, const Tensor& b) { return compare(kGt, comparisons().gt, kGtIntegers, a, b); }
Tensor ge(const Tensor& a, const Tensor& b) { return compare(kGe, comparisons().ge, kGeIntegers, a, b); }
Tensor eq(const Tensor& a, Scalar b) { return compare(kEq, comparisons().eq, kEqIntegers, a, b); }
Tensor ne(const Tensor& a, Scalar b) { return compare(kNe, comparisons().ne, kNeIntegers, a, b); }
Tensor lt(const Tensor& a, Scalar b) { return compare(kLt, comparisons().lt, kLtIntegers, a, b); }
Tensor le(const Tensor& a, Scalar b) { return compare(kLe, comparisons().le, kLeIntegers, a, b); }
Tensor gt(const Tensor& a, Scalar b) { return compare(kGt, comparisons().gt, kGtIntegers, a, b); }
Tensor ge(const Tensor& a, Scalar b) { return compare(kGe, comparisons().ge, kGeIntegers, a, b); }

Tensor logical_and(const Tensor& a, const Tensor& b) {
  return logical("logical_and", plain_loop<bool, bool, 2>([](bool x, bool y) { return x && y; }), a, b);
}
Tensor logical_or(const Tensor& a, const Tensor& b) {
  return logical("logical_or", plain_loop<bool, bool, 2>([](bool x, bool y) { return x || y; }), a, b);
}
Tensor logical_xor(const Tensor& a, const Tensor& b) {
  return logical("logical_xor", plain_loop<bool, bool, 2>([](bool x, bool y) { return x != y; }), a, b);
}
Tensor logical_not(const Tensor& x) {
  require_bool("logical_not", x, "operand");
  Tensor y = Tensor::empty(x.shape(), kBool);
  map(y, {&x}, plain_loop<bool, bool, 1>([](bool v) { return !v; }));
  return y;
}

Tensor isnan(const Tensor& x) {
  return classify(x, false, [](auto v) { return v != v; });
}
Tensor isinf(const Tensor& x) {
  return classify(x, false, [](auto v) { return std::isinf(v); });
}
Tensor isfinite(const Tensor& x) {
  return classify(x, true, [](auto v) { return v - v == 0; });
}

Tensor isclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  return isclose("isclose", a, b, {rtol, atol, equal_nan});
}
bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  return all(isclose("allclose", a, b, {rtol, atol, equal_nan}));
}
bool equal(const Tensor& a, const Tensor& b) { return a.shape() == b.shape() && all(eq(a, b)); }

bool all(const Tensor& x) {
  require_bool(kAllTrue, x, "operand");
  return !contains(x, false);
}
bool any(const Tensor& x) {
  require_bool(kAnyTrue, x, "operand");
  return contains(x, true);
}
Tensor all(const Tensor& x, const Axes& axes, Flag keepdim) {
  return logical_not(contains(kAllTrue, x, axes, keepdim, false));
}
Tensor any(const Tensor& x, const Axes& axes, Flag keepdim) { return contains(kAnyTrue, x, axes, keepdim, true); }

bool all_finite(const Tensor& x) {
  if (x.dtype() <= kInt64) return true;
  const Tensor all = packed(x);
  const void* const data = all.raw_data();
  std::atomic<bool> finite{true};
  parallel_for(all.numel(), 65536, [&](int64_t begin, int64_t end) {
    const Comparisons& use = comparisons();
    const int64_t n = end - begin;
    const bool here = is_half(all.dtype())
                          ? use.finite16(static_cast<const uint16_t*>(data) + begin, n,
                                         all.dtype() == kFloat16 ? uint16_t{0x7c00u} : uint16_t{0x7f80u})
                      : all.dtype() == kFloat32
                          ? use.finite32(static_cast<const uint32_t*>(data) + begin, n, 0x7f800000u)
                          : use.finite64(static_cast<const uint64_t*>(data) + begin, n, uint64_t{0x7ff0000000000000u});
    if (!here) finite.store(false, std::memory_order_relaxed);
  });
  return finite.load(std::memory_order_relaxed);
}

}  // namespace tapegrad
#endif  // HWY_ONCE
