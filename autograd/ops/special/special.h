// Special functions: the gamma function's relatives, the integral of the normal density, Bessel functions.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <cstdint>

namespace tapegrad {

// Elementwise, float32 and float64; Error for other types. Results are within 3 units in the last place of the exact
// value, for most arguments within one, and are bit-identical on every machine. (Next to the zeros of digamma below
// -20 and of polygamma below 0, the absolute error counts instead.) In float32 one element takes about 1 - 4 ns in
// functions of one operand (polygamma: 0.1 - 0.7 us), in float64 1 - 5 us; igamma up to 20 us.

// --- the gamma function ---

/// log |gamma(x)|; infinite at 0, -1, -2, ...
Tensor lgamma(const Tensor& x);
/// The derivative of lgamma; NaN at -1, -2, ..., and -inf, inf at 0, -0.
Tensor digamma(const Tensor& x);
/// The n-th derivative of digamma; infinite at 0, -1, -2, ... Error unless 0 <= n <= 1000.
Tensor polygamma(int64_t n, const Tensor& x);
/// The regularised lower incomplete gamma function P(a, x): the probability of less than x in a gamma distribution of
/// shape a and rate 1. a and x broadcast; NaN unless both are >= 0. Not differentiable with respect to a, as in
/// PyTorch: Error if a has a gradient.
Tensor igamma(const Tensor& a, const Tensor& x);
/// 1 - igamma(a, x), with all digits where it is small. The same rules.
Tensor igammac(const Tensor& a, const Tensor& x);
/// The density of that distribution, x^(a - 1) e^-x / gamma(a); NaN unless a and x are >= 0.
Tensor gamma_density(const Tensor& a, const Tensor& x);
/// x, as a number sampled from that distribution: its derivative with respect to a is the derivative of the number
/// whose igamma(a, x) stays constant, and x itself is a constant (implicit reparameterisation; Figurnov, Mohamed, Mnih
/// 2018). Not differentiable twice. x may be float64 where a is float32: the derivative has the digits of a.
/// dist::Gamma, Beta, Dirichlet and StudentT are made of it.
Tensor implicit_gamma(const Tensor& a, const Tensor& x);

// --- the normal distribution ---

/// 1 - erf(x), with all digits where it is small.
Tensor erfc(const Tensor& x);
/// The x with erf(x) = y; infinite at -1 and 1, NaN beyond.
Tensor erfinv(const Tensor& y);

// --- modified Bessel functions of the first kind ---

Tensor i0(const Tensor& x);   ///< of order 0; even
Tensor i1(const Tensor& x);   ///< of order 1; odd
Tensor i0e(const Tensor& x);  ///< e^-|x| i0(x)
Tensor i1e(const Tensor& x);  ///< e^-|x| i1(x)

}  // namespace tapegrad
