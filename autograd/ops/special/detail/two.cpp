// Exponentials, logarithms, roots and sines of sums of two doubles.
// build: -O2
#include <tapegrad/autograd/ops/special/detail/two.h>

#include <algorithm>

namespace tapegrad::special {

Power power_of(Two x) {
  constexpr Two kLn2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
  if (std::isnan(x.high)) return {0, x};
  const double k = std::clamp(std::nearbyint(x.high * 0x1.71547652b82fep+0), -5000.0, 5000.0);  // also of infinities
  constexpr int kHalvings = 8;
  const Two r = scaled(x - kLn2 * k, -kHalvings);  // |r| < 0.0014
  Two term = r, e = r;
  for (int i = 2; i < 12; ++i) {
    term = term * r / static_cast<double>(i);
    e = e + term;
  }
  for (int i = 0; i < kHalvings; ++i) e = e * 2 + e * e;  // (1 + e)^2 - 1
  return {static_cast<int>(k), e};
}

Two expm1_of(Two x) {
  const Power p = power_of(x);
  return p.k == 0 ? p.expm1 : exp_of(x) - 1;
}

Two exp_of(Two x) {
  if (x.high < -760) return 0;
  if (x.high > 710) return HUGE_VAL;
  const Power p = power_of(x);
  return scaled(p.expm1 + 1, p.k);
}

Two log_of(Two x) {
  const int k = x.high < 0x1p-100 || x.high > 0x1p100 ? std::ilogb(x.high) : 0;
  if (k != 0) x = scaled(x, -k);
  constexpr Two kLn2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
  const double y = fixed::log(x.high);
  const Two step = x * exp_of(Two(-y)) - 1;  // Newton's, from y
  const Two log = Two(y) + step - step * step * 0.5;
  return k == 0 ? log : log + kLn2 * k;
}

Two root_of(Two x) {
  if (x.high == 0) return 0;
  const double y = std::sqrt(x.high);
  return Two(y) + (x - product_of(y, y)) / (2 * y);
}

HalfTurn half_turn(double x) {
  const bool steep = x > 0.25;
  const Two r = kPi * (steep ? 0.5 - x : x), z = r * r;
  Two sine = r, cosine = 1, odd = r, even = 1;
  for (int i = 2; i < 28; i += 2) {
    even = -(even * z / static_cast<double>((i - 1) * i));
    odd = -(odd * z / static_cast<double>(i * (i + 1)));
    cosine = cosine + even;
    sine = sine + odd;
  }
  return steep ? HalfTurn{cosine, sine} : HalfTurn{sine, cosine};
}

}  // namespace tapegrad::special
