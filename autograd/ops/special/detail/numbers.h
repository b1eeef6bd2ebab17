// Special functions of single numbers: the operations of special.h, element by element. Those of one operand in
// float32 are kernels (float_kernels.h).
//
// Results are within one unit in the last place of the exact value, next to zeros too, except next to the zeros of
// lgamma, digamma and polygamma below -20, where the absolute error is below 1e-29 times the largest term.
#pragma once

#include <cstdint>

namespace tapegrad::special {

double lgamma(double x);
double digamma(double x);
/// 1 <= n <= kLargestOrder.
inline constexpr int64_t kLargestOrder = 1000;
double polygamma(int64_t n, double x);
float polygamma(int64_t n, float x);

double erfc(double x);
double erfinv(double y);

double igamma(double a, double x);
float igamma(float a, float x);
double igammac(double a, double x);
float igammac(float a, float x);
/// x^(a - 1) e^-x / Gamma(a).
double gamma_density(double a, double x);
float gamma_density(float a, float x);
/// dx / da along x(a) with a constant igamma(a, x).
double gamma_slope(double a, double x);

double i0(double x);
double i0e(double x);
double i1(double x);
double i1e(double x);

}  // namespace tapegrad::special
