// The asymptotic series that the gamma function, its derivatives and its integrals share.
#pragma once

#include <tapegrad/autograd/ops/special/detail/two.h>

#include <array>
#include <cstddef>

namespace tapegrad::special {

/// The series below are accurate from this number on, with the terms up to B(2 kTerms).
template <class R>
inline constexpr double kFar = sizeof(R) == sizeof(double) ? 9 : 20;
template <class R>
inline constexpr int kTerms = sizeof(R) == sizeof(double) ? 9 : 16;

/// Bernoulli's numbers B2, B4, ...
struct Fraction {
  double above, below;
};
inline constexpr std::array<Fraction, 16> kBernoulli{{{1, 6},
                                                      {-1, 30},
                                                      {1, 42},
                                                      {-1, 30},
                                                      {5, 66},
                                                      {-691, 2730},
                                                      {7, 6},
                                                      {-3617, 510},
                                                      {43867, 798},
                                                      {-174611, 330},
                                                      {854513, 138},
                                                      {-236364091, 2730},
                                                      {8553103, 6},
                                                      {-23749461029, 870},
                                                      {8615841276005, 14322},
                                                      {-7709321041217, 510}}};
/// B(2k) / divisor for k = 1, 2, ...
template <class R>
R bernoulli(int k, double divisor) {
  const Fraction f = kBernoulli[static_cast<std::size_t>(k - 1)];
  return R(f.above) / (f.below * divisor);
}

/// log(Gamma(x)) for x > 0; x + log(x) must be below 2^60. The absolute error is that of rounding its largest term.
template <class R>
R log_gamma(R x) {
  R product = 1;
  while (rounded(x) < kFar<R>) {  // Gamma(x + 1) = x Gamma(x)
    product = product * x;
    x = x + 1;
  }
  const R z = R(1) / (x * x);
  R series = 0;
  for (int k = kTerms<R>; k > 0; --k) series = series * z + bernoulli<R>(k, 2.0 * k * (2 * k - 1));
  return (x - 0.5) * log_of(x) - x + constant<R>(kHalfLogTwoPi) + series / x - log_of(product);
}

/// Its derivative, for x > 2^-60.
template <class R>
R digamma_of_positive(R x) {
  R sum = 0;
  for (; rounded(x) < kFar<R>; x = x + 1) sum = sum + R(1) / x;
  const R z = R(1) / (x * x);
  R series = 0;
  for (int k = kTerms<R>; k > 0; --k) series = (series + bernoulli<R>(k, 2.0 * k)) * z;
  return log_of(x) - R(0.5) / x - series - sum;
}

}  // namespace tapegrad::special
