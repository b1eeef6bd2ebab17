// Logarithms that are only compared or rounded to a whole number: an approximation is enough, unless the answer is
// within its error.
#pragma once

#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/internal/log_table.h>

#include <cmath>
#include <limits>

namespace tapegrad::fixed {

/// log(x) within 2^-37; NaN unless x is a normal number above 0.
inline double rough_log(double x) {
  if (!(x >= std::numeric_limits<double>::min() && x <= std::numeric_limits<double>::max())) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const Reduced f = reduced(x);
  // log(1 + r) with |r| <= 1 / 32 up to r^6
  const double r = f.m * f.entry->c - 1, square = r * r;
  const double rest = (-1.0 / 2 + r * (1.0 / 3)) + square * ((-1.0 / 4 + r * (1.0 / 5)) - square * (1.0 / 6));
  return (f.k * 0x1.62e42fefa39efp-1 + f.entry->high) + (r + square * rest);
}

/// A number with the sign of sum(fixed::log). `sum` takes the logarithm function to use; sum(rough_log) must be within
/// `error` of sum(fixed::log).
double with_sign_of(auto sum, double error) {
  const double rough = sum([](double x) { return rough_log(x); });
  return std::abs(rough) > error ? rough : sum([](double x) { return log(x); });
}

/// ceil(log(x) / by).
inline double ceil_of_quotient(double x, double by) {
  const double inverse = 1 / by, rough = rough_log(x) * inverse, whole = std::ceil(rough);
  const double error = 0x1p-36 * std::abs(inverse) + 0x1p-50 * std::abs(rough);
  return whole - rough > error && rough - (whole - 1) > error ? whole : std::ceil(log(x) / by);
}

}  // namespace tapegrad::fixed
