// Powers of floats on vectors, faster than in simd_math.h, and rough ones; included by kernel files, once for each
// instruction set.
#if defined(TAPEGRAD_AUTOGRAD_KERNELS_POWER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEGRAD_AUTOGRAD_KERNELS_POWER_INL_H_
#undef TAPEGRAD_AUTOGRAD_KERNELS_POWER_INL_H_
#else
#define TAPEGRAD_AUTOGRAD_KERNELS_POWER_INL_H_
#endif

#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/kernels/simd/simd.h>

#include <limits>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// e^(y log(x)) of half a vector, in double, for x >= 0: within 2^-43 of its size, where a float holds it. NaN for 0
// times infinity.
template <class Half>
HWY_INLINE Vec<double> rough_power(Half x, Half y) {
  const hn::ScalableTag<double> wide;
  const Vec<double> p = Vec<double>(hn::PromoteTo(wide, y)) * log(Vec<double>(hn::PromoteTo(wide, x)));
  const math::Exp<double> e(max(Vec<double>(-200), min(Vec<double>(200), p)));  // beyond, a float is 0 or infinite
  return (e.expm1_r + 1) * e.power();
}

// fixed::pow to the bit. That rounds a double once more, so where all doubles near the rough power round to the same
// float, this is the result; elsewhere, once in 2^16 numbers, fixed::pow computes it. Too large to be inlined.
template <class T>
HWY_NOINLINE Vec<T> float_power(Vec<T> x, Vec<T> y) {
  const hn::ScalableTag<T> d;
  const hn::Half<decltype(d)> half;
  const Vec<T> size = abs(x), half_y = y * T(0.5);
  const Vec<double> low = rough_power(hn::LowerHalf(half, size.raw), hn::LowerHalf(half, y.raw)),
                    high = rough_power(hn::UpperHalf(half, size.raw), hn::UpperHalf(half, y.raw));
  const auto rounded = [&](double factor) HWY_ATTR {
    return Vec<T>(hn::Combine(d, hn::DemoteTo(half, (high * factor).raw), hn::DemoteTo(half, (low * factor).raw)));
  };
  Vec<T> power = rounded(1 - 0x1p-42);
  const Mask<T> unclear = rounded(1 + 0x1p-42) > power;
  if (HWY_UNLIKELY(any(unclear))) {
    power = where(unclear, lane_by_lane([](T a, T b) { return fixed::pow(a, b); }, size, y), power);
  }
  const Mask<T> whole = trunc(y) == y, odd = whole & (trunc(half_y) != half_y);
  const Mask<T> negative = (x < 0) & (x > -math::kInf<T>);
  power = where(size == 1, Vec<T>(1), power);  // also where y is infinite
  power = where(odd, copysign(power, x), power);
  power = where(negative & !whole, Vec<T>(std::numeric_limits<T>::quiet_NaN()), power);
  power = where((x != x) | (y != y), x + y, power);
  return where((y == 0) | (x == 1), Vec<T>(1), power);
}

/// fixed::pow, to the bit.
HWY_INLINE Vec<float> pow(Vec<float> x, Vec<float> exponent) { return float_power(x, exponent); }

/// A finite power of two near 1 / sqrt(x), by the exponent of x >= 0.
template <class T>
HWY_INLINE Vec<T> rough_inverse_root(Vec<T> x) {
  using namespace math;
  const auto twice = hn::Sub(word<T>(3 * kBias<T>), hn::ShiftRight<kMantissa<T>>(bits(x)));
  return from_bits<T>(hn::ShiftLeft<kMantissa<T>>(hn::ShiftRight<1>(twice)));
}
/// The same of tensors and symbols.
template <class X>
X rough_inverse_root(const X& x) {
  return exp2(round(-0.5 * log2(where(x > 0, where(x < INFINITY, x, 1), 1))));
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the include guard of this instruction set
