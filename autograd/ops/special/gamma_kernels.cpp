// Functions next to the gamma function of float32, on vectors of doubles.
//
// Each kernel computes a number in double, with a bound of its error. Where all doubles within the bound round to one
// float, that is the result; elsewhere, and for arguments that a series is not made for, detail/numbers.h computes it,
// one element at a time. So the results are those of numbers.h, to the last bit.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/special/gamma_kernels.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/simd/simd.h>
#include <tapegrad/autograd/ops/special/detail/float_kernels.h>
#include <tapegrad/autograd/ops/special/detail/numbers.h>

#include <algorithm>

#ifndef TAPEGRAD_SPECIAL_ASYMPTOTIC
#define TAPEGRAD_SPECIAL_ASYMPTOTIC
namespace tapegrad::special {

// Coefficients of 1 / x^2 in the series of detail/stirling.h for x >= 9, of which eight terms are within 1e-16.
constexpr double kLgammaTail[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                  1.0 / 1188, -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400};
constexpr double kDigammaTail[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                   1.0 / 132, -691.0 / 32760, 1.0 / 12,  -3617.0 / 8160};
constexpr double kTrigammaTail[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                    5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};

// The same functions, one element at a time.
inline double one_igamma(double a, double x) { return igamma(static_cast<float>(a), static_cast<float>(x)); }
inline double one_igammac(double a, double x) { return igammac(static_cast<float>(a), static_cast<float>(x)); }
inline double one_density(double a, double x) { return gamma_density(static_cast<float>(a), static_cast<float>(x)); }
inline double one_trigamma(double x, double) { return polygamma(1, static_cast<float>(x)); }

}  // namespace tapegrad::special
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

using Wide = Vec<double>;
using WideMask = Mask<double>;

// A number and a bound of its error, where `fits` is set.
struct Rough {
  Wide value, error;
  WideMask fits;
};

HWY_INLINE Wide tail_of(const double (&c)[8], Wide z) {
  Wide y = c[7];
  for (int k = 6; k >= 0; --k) y = fma(y, z, Wide(c[k]));
  return y;
}
Wide exp_of(Wide x), log_of(Wide x);  // in float_kernels.cpp

// x, or x + 8 where x < 9; then the functions of x follow from the eight numbers between.
struct Shifted {
  WideMask low;
  Wide x, inverse, z;  // 1 / x, 1 / x^2
  HWY_INLINE explicit Shifted(Wide from)
      : low(from < 9), x(where(low, from + 8, from)), inverse(1 / x), z(inverse * inverse) {}
};
// n / d is the sum of two such fractions.
struct Quotient {
  Wide n, d;
  friend HWY_INLINE Quotient operator+(Quotient a, Quotient b) { return {fma(a.n, b.d, b.n * a.d), a.d * b.d}; }
};
// f(x) + f(x + 2) + f(x + 4) + f(x + 6)
HWY_INLINE Quotient four_of(auto f, Wide x) { return (f(x) + f(x + 2)) + (f(x + 4) + f(x + 6)); }

// log(Gamma(x)) for x >= 1; `size` is about that of the largest term.
HWY_NOINLINE Wide log_gamma_of(Wide x, Wide* size) {
  const Shifted s(x);
  const Wide large = (s.x - 0.5) * log_of(s.x);
  *size = large;
  Wide y = large - s.x + 0.91893853320467274 + s.inverse * tail_of(special::kLgammaTail, s.z);  // log(2 pi) / 2
  if (any(s.low)) {
    const Wide pairs = (x * (x + 1)) * ((x + 2) * (x + 3)), others = ((x + 4) * (x + 5)) * ((x + 6) * (x + 7));
    y -= where(s.low, log_of(pairs * others), Wide(0));
  }
  return y;
}

// Its derivative for x >= 1.
HWY_NOINLINE Wide digamma_from_one(Wide x) {
  const Shifted s(x);
  Wide y = log_of(s.x) - 0.5 * s.inverse - s.z * tail_of(special::kDigammaTail, s.z);
  if (any(s.low)) {
    const Quotient sum = four_of([](Wide t) HWY_ATTR { return Quotient{t + t + 1, t * (t + 1)}; }, x);
    y -= where(s.low, sum.n / sum.d, Wide(0));
  }
  return y;
}

// The second derivative.
Rough trigamma_of(Wide x, Wide) {
  const Shifted s(x);
  Wide y = s.inverse + s.z * (0.5 + s.inverse * tail_of(special::kTrigammaTail, s.z));
  if (any(s.low)) {
    // 1 / t^2 + 1 / (t + 1)^2
    const auto pair = [](Wide t) HWY_ATTR {
      const Wide product = t * (t + 1);
      return Quotient{product + product + 1, product * product};
    };
    const Quotient sum = four_of(pair, x);
    y += where(s.low, sum.n / sum.d, Wide(0));
  }
  return {y, y * 0x1p-45, (x > 0x1p-100) & (x < 0x1p100)};
}

// --- integrals of the gamma density ---

// x^b e^-x / Gamma(a + 1), and a bound of its relative error.
HWY_NOINLINE Wide power_over_gamma(Wide a, Wide x, Wide b, Wide* error) {
  Wide size;
  const Wide log_x = log_of(x), below = log_gamma_of(a + 1, &size), power = b * log_x;
  *error = 0x1p-42 + 0x1p-49 * (abs(power) + x + size);
  return exp_of(power - x - below);
}

Rough density_of(Wide a, Wide x) {
  Wide error;
  const Wide y = a * power_over_gamma(a, x, a - 1, &error);
  return {y, y * error, (a > 0x1p-100) & (x > 0x1p-100) & (a < 1e4) & (x < 1e4)};
}

WideMask is_uniform_lane(Wide a, Wide x) { return (a >= 200) & (abs(x - a) < 0.3 * a); }

// 1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ..., two terms per division. Clears `fits` where it does not end.
HWY_NOINLINE Wide lower_series(Wide a, Wide x, WideMask* fits) {
  const Wide enough = 0x1p-46 * min(Wide(1), a), square = x * x;
  Wide term = 1, sum = 1, next = a + 1;
  WideMask goes_on = term > 0;
  for (int k = 0; k < 200 && any(goes_on); ++k) {
    const Wide after = next + 1, inverse = 1 / (next * after);
    sum += term * (x * inverse * (after + x));
    term *= square * inverse;
    next = after + 1;
    goes_on = term > enough * sum;
  }
  *fits = *fits & !goes_on;
  return sum;
}

// The continued fraction of detail/fraction.h.
HWY_NOINLINE Wide upper_fraction_of(Wide a, Wide x, WideMask* fits) {
  Wide b = x + 1 - a, above = b, above_before = 1, below = 1, below_before, f;
  WideMask goes_on = x > 0;
  for (int n = 1; n < 400 && any(goes_on); ++n) {
    const Wide step = (a - n) * static_cast<double>(n);
    b += 2;
    const Wide next_above = fma(b, above, step * above_before), next_below = fma(b, below, step * below_before);
    above_before = above, above = next_above;
    below_before = below, below = next_below;
    const WideMask large = above > 0x1p400;
    if (any(large)) {
      const Wide factor = where(large, Wide(0x1p-400), Wide(1));
      above *= factor, above_before *= factor, below *= factor, below_before *= factor;
    }
    if (n % 8 != 0) continue;
    const Wide last = f;
    f = below / above;
    goes_on = abs(f - last) > 1e-13 * f;
  }
  *fits = *fits & !goes_on;
  return f;
}

HWY_NOINLINE Rough gamma_part_of(Wide a, Wide x, bool upper) {
  WideMask fits = (a > 1e-3) & (a < 1e4) & (x > 0x1p-100) & (x < 1e6) & !is_uniform_lane(a, x);
  const WideMask series = fits & (x < a + 3 * sqrt(a) + 4), fraction = fits & !series;
  Wide error;
  const Wide first = power_over_gamma(a, x, a, &error);
  Wide direct;
  if (any(series)) direct = first * lower_series(a, where(series, x, Wide(0)), &fits);
  if (any(fraction)) {
    const Wide f = upper_fraction_of(where(fraction, a, Wide(1)), where(fraction, x, Wide(1e6)), &fits);
    direct = where(fraction, first * a * f, direct);
  }
  const WideMask of_direct = upper ? fraction : series;
  return {where(of_direct, direct, 1 - direct), fma(direct, error, where(of_direct, Wide(0), Wide(0x1p-52))), fits};
}
Rough igamma_of(Wide a, Wide x) { return gamma_part_of(a, x, false); }
Rough igammac_of(Wide a, Wide x) { return gamma_part_of(a, x, true); }

// As slope_by_series of incomplete.cpp, two terms per division. A lane that has ended is left as it is: its term is 0.
HWY_NOINLINE Rough slope_of(Wide a, Wide x) {
  WideMask fits = (a > 0x1p-100) & (x > 0x1p-100) & (x < 1e6) & (x <= a + 6 * sqrt(a) + 30) & !is_uniform_lane(a, x);
  const Wide log_x = log_of(x), psi = digamma_from_one(a + 1);
  Wide of = psi - log_x, sum = of, size = 1 + abs(of), term = where(fits, Wide(1), Wide(0)), next = a + 1;
  Wide error = (0x1p-45 * (1 + abs(log_x) + abs(psi))) * size;
  WideMask goes_on = fits;
  int k = 1;
  for (; k < 400 && any(goes_on); k += 2) {
    const Wide after = next + 1, both = 1 / (next * after), inverse = after * both, inverse_after = next * both;
    const Wide first = term * (x * inverse), first_of = of + inverse;
    term = first * (x * inverse_after);
    of = first_of + inverse_after;
    const Wide last = term * of;
    sum += fma(first, first_of, last);
    error += (0x1p-49 * (k + 12)) * (1 + abs(log_x)) * (first * (1 + abs(first_of)) + term * (1 + abs(of)));
    goes_on = goes_on & !((after > x) & (abs(last) < 1e-14 * abs(sum)));
    term = where(goes_on, term, Wide(0));
    next = after + 1;
  }
  const Wide ratio = x / a;
  return {sum * ratio, error * ratio, fits & !goes_on};
}

// --- rows ---

// The rough number, with one(a, x) in the lanes where a float is not certain.
HWY_NOINLINE Wide certain(const Rough& rough, Wide a, Wide x, double (*one)(double, double)) {
  const hn::Rebind<float, Wide::Tag> narrow;
  const auto low = hn::DemoteTo(narrow, (rough.value - rough.error).raw);
  const auto high = hn::DemoteTo(narrow, (rough.value + rough.error).raw);
  const Wide::Tag wide;
  const WideMask sure = rough.fits & (Wide(hn::PromoteTo(wide, low)) == Wide(hn::PromoteTo(wide, high)));
  if (HWY_LIKELY(!any(!sure))) return rough.value;
  bool chosen[kLanes<double>];
  double from_a[kLanes<double>], from_x[kLanes<double>], to[kLanes<double>];
  store_mask(sure, chosen);
  store(a, from_a);
  store(x, from_x);
  store(rough.value, to);
  for (int64_t i = 0; i < kLanes<double>; ++i) {
    if (!chosen[i]) to[i] = one(from_a[i], from_x[i]);
  }
  return load(to);
}

using RoughFunction = Rough (*)(Wide a, Wide x);
HWY_NOINLINE void gamma_row(RoughFunction f, double (*one)(double, double), const float* a, const float* x, float* y,
                            int64_t n) {
  constexpr int64_t kWidth = kLanes<double>;
  const Wide::Tag wide;
  const hn::Rebind<float, Wide::Tag> narrow;
  float last[2][kWidth];
  std::fill_n(last[0], 2 * kWidth, 1.0F);
  for (; n > 0; n -= kWidth, a += kWidth, x += kWidth, y += kWidth) {
    const bool whole = n >= kWidth;
    if (!whole) std::copy_n(a, n, last[0]), std::copy_n(x, n, last[1]);
    const Wide from_a = hn::PromoteTo(wide, hn::LoadU(narrow, whole ? a : last[0]));
    const Wide from_x = hn::PromoteTo(wide, hn::LoadU(narrow, whole ? x : last[1]));
    const Wide value = certain(f(from_a, from_x), from_a, from_x, one);
    hn::StoreU(hn::DemoteTo(narrow, value.raw), narrow, whole ? y : last[0]);
    if (!whole) std::copy_n(last[0], n, y);
  }
}

template <RoughFunction kFunction, double (*kOne)(double, double)>
void pairs_of(const void* const* in, void* y, int64_t n, const void*) {
  gamma_row(kFunction, kOne, static_cast<const float*>(in[0]), static_cast<const float*>(in[1]), static_cast<float*>(y),
            n);
}

void trigamma_row(const void* const* in, void* y, int64_t n, const void*) {
  const auto* const x = static_cast<const float*>(in[0]);
  gamma_row(trigamma_of, special::one_trigamma, x, x, static_cast<float*>(y), n);
}

// Of doubles, in the digits of a float.
void slope_row(const void* const* in, void* y, int64_t n, const void*) {
  map_row(
      n, static_cast<double*>(y),
      [](Wide a, Wide x) HWY_ATTR { return certain(slope_of(a, x), a, x, special::gamma_slope); },
      static_cast<const double*>(in[0]), static_cast<const double*>(in[1]));
}

const special::GammaKernels& special_gamma_kernels() {
  static constexpr special::GammaKernels kernels = {
      .trigamma = trigamma_row,
      .igamma = pairs_of<igamma_of, special::one_igamma>,
      .igammac = pairs_of<igammac_of, special::one_igammac>,
      .density = pairs_of<density_of, special::one_density>,
      .slope = pairs_of<slope_of, special::gamma_slope>,
      .slope_of_doubles = slope_row,
  };
  return kernels;
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {
namespace {

HWY_EXPORT(special_gamma_kernels);

}  // namespace

const special::GammaKernels& special::gamma_kernels() { return chosen<HWY_DISPATCH_TABLE(special_gamma_kernels)>(); }

}  // namespace tapegrad
#endif  // HWY_ONCE
