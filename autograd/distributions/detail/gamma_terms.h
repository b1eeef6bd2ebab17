// Terms of densities and divergences that have gamma functions: in float64, and without differences of large numbers.
//
// lgamma(x) is (x - 1/2) log(x) - x + log(2 pi) / 2 + rest(x), with a small rest. The large first terms of several
// lgamma in one density cancel, so they are combined by hand; what is left is of the size of the result.
#pragma once

#include <tapegrad/autograd/ops.h>

namespace tapegrad::dist {

/// In float64: results are rounded to the distribution's type at the end.
inline Tensor wide(const Tensor& x) { return x.defined() ? x.to(kFloat64) : x; }

/// rest(x) for x > 0, differentiable; for x >= 10 by Stirling's series.
Tensor lgamma_rest(const Tensor& x);
/// Its derivative, digamma(x) - log(x) + 1 / (2 x).
Tensor digamma_rest(const Tensor& x);
/// rest(b) - rest(a) - (b - a) rest'(a).
Tensor rest_divergence(const Tensor& a, const Tensor& b);
/// a log(a) - a - lgamma(a).
Tensor gamma_scale(const Tensor& a);
/// lgamma(a + 1/2) - lgamma(a) - log(a) / 2, about -1 / (8 a) for large a; half_step_slope: its derivative + 1 / (2 a).
Tensor half_step(const Tensor& a);
Tensor half_step_slope(const Tensor& a);
/// The entropy of a gamma distribution with rate 1.
Tensor gamma_entropy(const Tensor& a);

/// log(1 + apart / y), which is log(x / y) for apart = x - y; `far` is its value where x and y are not near each other.
Tensor log_ratio(const Tensor& apart, const Tensor& y, const Tensor& far);
/// x / y - 1 - log(x / y), for x, y > 0.
Tensor excess(const Tensor& x, const Tensor& y);
/// x log(x / y) - x + y, for x, y >= 0 with these logarithms, which are not used where x is 0.
Tensor relative_entropy(const Tensor& x, const Tensor& y, const Tensor& log_x, const Tensor& log_y);
/// a log(x t / a) - log(x), where apart = x t - a; at x = 0 the limit of (a - 1) log(x), plus a log(t / a).
Tensor power_term(const Tensor& x, const Tensor& t, const Tensor& a, const Tensor& apart);

}  // namespace tapegrad::dist
