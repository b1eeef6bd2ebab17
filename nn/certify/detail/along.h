// The derivative of a function along a line, by differences whose error is measured.
#pragma once

#include <tapegrad/nn/certificate.h>

#include <functional>
#include <limits>
#include <string>

namespace tapegrad::nn::detail {

/// The rounding error of a number of size 1.
inline constexpr double kEps = std::numeric_limits<double>::epsilon();

/// A derivative, and its comparison with differences.
struct Measured {
  double analytic = 0;   ///< by backward
  double numerical = 0;  ///< by differences
  double error = 0;      ///< of `numerical`, measured: truncation and rounding
  double terms = 0;      ///< sum of the absolute values of the terms of `analytic`
  Verdict verdict = Verdict::right;
  std::string reason = {};  ///< of an unknown verdict: "at a kink: slopes 0 and 1"

  double gap() const;
  /// Whether the analytic value, which was accepted, would have been rejected if it had been `wrong`.
  bool would_find(double wrong) const;
};

/// How f(t) is measured: all steps, or a few with the rounding error of f from an earlier measurement.
struct Steps {
  int first = 3, last = 10;  ///< 2^-first to 2^-last
  double rounding = 0;       ///< of f; 0: measured, by steps of 2^-17 to 2^-19
};
/// The rounding error of f near 0, by its third and fourth differences: they also show terms that cancel in f.
double rounding_of(const std::function<double(double)>& f);

/// The derivative of f(t) at t = 0 by differences of fourth order. Their error is measured: what changes with half the
/// step, and rounding errors. Where they disagree with `analytic`, steps from 8 to 2^-42 look for kinks. `terms`: as
/// in Measured.
Measured along(const std::function<double(double)>& f, double analytic, double terms, const Steps& steps = {});

/// "analytic 0.25, numerical 0.25, 11.2 of 12.0 digits".
CertificateLine line_of(std::string what, const Measured& m);

}  // namespace tapegrad::nn::detail
