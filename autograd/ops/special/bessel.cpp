// Modified Bessel functions of the first kind, of orders 0 and 1, of single numbers in float64.
//
// Up to 30 by their power series, and above by their expansion for large numbers (Abramowitz, Stegun 1964, 9.6.10 and
// 9.7.1).
// build: -O2
#include <tapegrad/autograd/ops/special/detail/numbers.h>
#include <tapegrad/autograd/ops/special/detail/two.h>

#include <limits>

namespace tapegrad::special {
namespace {

constexpr double kFarOut = 30;

// (x / 2)^order (1 / order! + (x^2 / 4) / (1! (1 + order)!) + ...)
Two power_series(int order, double x) {
  const Two half = x / 2, z = half * half;
  Two term = order == 0 ? Two(1) : half, sum = term;
  for (int k = 1; rounded(term) > 1e-20 * rounded(sum); ++k) {
    term = term * z / (static_cast<double>(k) * (k + order));
    sum = sum + term;
  }
  return sum;
}

// sqrt(x) e^-x times the function, for x > kFarOut.
Two far_series(int order, double x) {
  const double square = 4.0 * order * order;
  Two term = 1, sum = 1;
  for (int k = 1; k < 40 && std::abs(rounded(term)) > 1e-20; ++k) {
    const double odd = 2.0 * k - 1;
    term = term * ((odd * odd - square) / (8.0 * k)) / x;
    sum = sum + term;
  }
  return sum * Two(0x1.9884533d43651p-2, -0x1.cbc0d30ebfd15p-56);  // 1 / sqrt(2 pi)
}

// I(x), or e^-x I(x), for x >= 0.
Two bessel(int order, double x, bool times_exp) {
  if (!(x < std::numeric_limits<double>::infinity())) return x != x ? x : times_exp ? 0 : x;
  if (x <= kFarOut) {
    const Two y = power_series(order, x);
    return times_exp ? y * exp_of(Two(-x)) : y;
  }
  const Two y = far_series(order, x) / root_of(Two(x));
  if (times_exp) return y;
  const Two root = exp_of(Two(x * 0.5));  // the exponential itself may be too large
  return rounded(root) < 1e155 ? y * root * root : Two(std::numeric_limits<double>::infinity());
}

double signed_bessel(int order, double x, bool times_exp) {
  const double y = rounded(bessel(order, std::abs(x), times_exp));
  return order == 1 ? std::copysign(y, x) : y;
}

}  // namespace

double i0(double x) { return signed_bessel(0, x, false); }
double i0e(double x) { return signed_bessel(0, x, true); }
double i1(double x) { return signed_bessel(1, x, false); }
double i1e(double x) { return signed_bessel(1, x, true); }

}  // namespace tapegrad::special
