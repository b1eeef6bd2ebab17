// The integral of the normal density, and the inverse of erf, of single numbers.
// build: -O2
#include <tapegrad/autograd/ops/special/detail/fraction.h>
#include <tapegrad/autograd/ops/special/detail/numbers.h>

#include <limits>

namespace tapegrad::special {
namespace {

// erf(x) = 2 / sqrt(pi) e^(-x^2) (x + 2 x^3 / 3 + 4 x^5 / (3 * 5) + ...), for |x| < 3.
template <class R>
R erf_series(R x) {
  const R z = x * x * 2.0;
  R term = x, sum = x;
  for (int k = 1; std::abs(rounded(term)) > 1e-24 * std::abs(rounded(sum)); ++k) {
    term = term * z / (2.0 * k + 1);
    sum = sum + term;
  }
  return exp_of(x * x * -1.0) * sum * 2.0 / constant<R>(kRootPi);
}

Two erfinv_of(double y) {
  if (y < 1e-8) return kRootPi * (y / 2 + y * y * y * 0.1308996938995747);  // pi / 24
  const double x = fixed::erfinv(y);
  const Two error = y < 0.5 ? erf_series(Two(x)) - y : Two(1 - y) - erfc_of(Two(x));
  return Two(x) - rounded(error) * fixed::exp(x * x) * (kRootPi.high / 2);  // Newton's step
}

}  // namespace

template <class R>
R erfc_of(R x) {
  if (rounded(x) < 2.6) return rounded(x) > -2.6 ? R(1) - erf_series(x) : R(2) - erfc_of(x * -1.0);
  if (rounded(x) > 28) return 0;
  // Gamma(1/2, x^2) / sqrt(pi)
  const R z = x * x;
  return exp_of(z * -1.0) * x * upper_fraction(R(0.5), z) / constant<R>(kRootPi);
}
template double erfc_of(double);
template Two erfc_of(Two);

double erfc(double x) {
  if (!(std::abs(x) < HUGE_VAL)) return x > 0 ? 0 : x < 0 ? 2 : x;
  return rounded(erfc_of(Two(x)));
}

double erfinv(double y) {
  const double a = std::abs(y);
  if (!(a < 1)) return a == 1 ? std::copysign(HUGE_VAL, y) : std::numeric_limits<double>::quiet_NaN();
  return std::copysign(rounded(erfinv_of(a)), y);
}

}  // namespace tapegrad::special
