// Elementary functions of single numbers, for learning rates, tables of positions, random numbers and the scalar parts
// of kernels. They replace those of <cmath>, whose last bit depends on the version of the C library. They consist of
// additions, multiplications, divisions and square roots alone, which IEEE 754 defines, so their results are
// bit-identical on every machine.
//
// Results are within 0.58 units in the last place of the exact value (erf: 2, erfc: 6, erfinv: 10), as good as glibc's;
// special values are as in <cmath>. Not here, because their results are exact in any library: sqrt, fma, fmod,
// floor, ldexp.
#pragma once

namespace tapegrad::fixed {

double exp(double x);
double log(double x);
double pow(double x, double y);
double sin(double x);
double cos(double x);
double tan(double x);
double hypot(double x, double y);
double erf(double x);
double erfc(double x);
/// The x with erf(x) = y; NaN outside [-1, 1].
double erfinv(double y);

/// Computed in double and rounded once: within 0.5001 units in the last place of a float.
float exp(float x);
float log(float x);
inline float pow(float x, float y) { return static_cast<float>(pow(static_cast<double>(x), static_cast<double>(y))); }
inline float sin(float x) { return static_cast<float>(sin(static_cast<double>(x))); }
inline float cos(float x) { return static_cast<float>(cos(static_cast<double>(x))); }
inline float tan(float x) { return static_cast<float>(tan(static_cast<double>(x))); }
float hypot(float x, float y);

}  // namespace tapegrad::fixed
