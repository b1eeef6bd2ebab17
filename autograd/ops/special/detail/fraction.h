// The upper tails of the gamma integral and of the normal distribution: erfc is a case of the former.
#pragma once

#include <tapegrad/autograd/ops/special/detail/two.h>

#include <initializer_list>

namespace tapegrad::special {

/// The integral of t^(a-1) e^-t from x to infinity, divided by e^-x x^a, for x > a + 3 sqrt(a) + 4: its continued
/// fraction (Abramowitz, Stegun 1964, 6.5.31).
template <class R>
R upper_fraction(R a, R x) {
  constexpr double kEnough = sizeof(R) == sizeof(double) ? 1e-13 : 1e-20;
  R b = x + 1 - a, above = b, above_before = 1, below = 1, below_before = 0, f = 0;
  for (int n = 1; n < 4000; ++n) {
    const R step = (a - static_cast<double>(n)) * static_cast<double>(n);
    b = b + 2;
    const R next_above = b * above + step * above_before, next_below = b * below + step * below_before;
    above_before = above, above = next_above;
    below_before = below, below = next_below;
    if (rounded(above) > 0x1p400) {
      for (R* part : {&above, &above_before, &below, &below_before}) *part = scaled(*part, -400);
    }
    if (n % 8 != 0) continue;
    const R last = f;
    f = below / above;
    if (std::abs(rounded(f - last)) < kEnough * rounded(f)) break;
  }
  return f;
}

/// 1 - erf(x), of any finite x.
template <class R>
R erfc_of(R x);
extern template double erfc_of(double);
extern template Two erfc_of(Two);

}  // namespace tapegrad::special
