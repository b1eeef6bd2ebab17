// Double-double arithmetic, for special functions of single numbers: a number is the sum of two doubles.
//
// A function is one template of R: with R = double it is accurate enough for float32, with R = Two for float64. All of
// it is additions, multiplications, divisions and roots of IEEE 754, so results are bit-identical on every machine.
#pragma once

#include <tapegrad/autograd/internal/fixed_math.h>

#include <cmath>

namespace tapegrad::special {

/// The number high + low; `high` is that number, rounded. Factors of a product must be below 2^990.
struct Two {
  double high = 0, low = 0;
  constexpr Two() = default;
  constexpr Two(double h, double l = 0) : high(h), low(l) {}  // NOLINT: numbers convert
};

// Exact (Knuth 1969).
inline Two sum_of(double a, double b) {
  const double s = a + b, of_b = s - a;
  return {s, (a - (s - of_b)) + (b - of_b)};
}
// Exact for |a| >= |b| (Dekker 1971).
inline Two ordered_sum(double a, double b) {
  const double s = a + b;
  return {s, b - (s - a)};
}
// Exact where nothing underflows (Veltkamp 1968, Dekker 1971).
inline Two product_of(double a, double b) {
  const double c = a * 0x1.0000002p27, ah = c - (c - a), al = a - ah;
  const double d = b * 0x1.0000002p27, bh = d - (d - b), bl = b - bh;
  const double p = a * b;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

inline Two operator-(Two a) { return {-a.high, -a.low}; }
inline Two operator+(Two a, Two b) {
  const Two s = sum_of(a.high, b.high), t = sum_of(a.low, b.low);
  const Two u = ordered_sum(s.high, s.low + t.high);
  return ordered_sum(u.high, u.low + t.low);
}
inline Two operator-(Two a, Two b) { return a + -b; }
inline Two operator*(Two a, Two b) {
  const Two p = product_of(a.high, b.high);
  return ordered_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}
inline Two operator*(Two a, double b) {
  const Two p = product_of(a.high, b);
  return ordered_sum(p.high, p.low + a.low * b);
}
inline Two operator*(double a, Two b) { return b * a; }
inline Two operator/(Two a, double b) {
  const double q = a.high / b;
  const Two p = product_of(q, b);
  return ordered_sum(q, (((a.high - p.high) - p.low) + a.low) / b);
}
inline Two operator/(Two a, Two b) {
  const double q = a.high / b.high;
  const Two rest = a - b * q;
  const double next = rest.high / b.high;
  const Two last = rest - b * next;
  return ordered_sum(q, next) + Two(last.high / b.high);
}

inline double rounded(double x) { return x; }
inline double rounded(Two x) { return x.high + x.low; }

/// A constant in the precision of R.
template <class R>
constexpr R constant(Two c) {
  if constexpr (sizeof(R) == sizeof(double)) {
    return c.high;
  } else {
    return c;
  }
}

inline constexpr Two kPi{0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53};
inline constexpr Two kRootPi{0x1.c5bf891b4ef6bp+0, -0x1.618f13eb7ca89p-54};        // sqrt(pi)
inline constexpr Two kHalfLogTwoPi{0x1.d67f1c864beb5p-1, -0x1.65b5a1b7ff5dfp-55};  // log(2 pi) / 2
inline constexpr Two kEuler{0x1.2788cfc6fb619p-1, -0x1.6cb90701fbfabp-58};         // Euler's constant

/// 2^k x; x and the result may have any size.
inline Two scaled(Two x, int k) { return {std::ldexp(x.high, k), std::ldexp(x.low, k)}; }
inline double scaled(double x, int k) { return std::ldexp(x, k); }

/// 2^k (1 + expm1) = e^x, with |k log(2) - x| < 0.35. For |x| < 800.
struct Power {
  int k;
  Two expm1;
};
Power power_of(Two x);

/// e^x - 1, with the relative precision of R also near 0; e^x, which may overflow and underflow.
inline double expm1_of(double x) {
  return std::abs(x) < 1e-5 ? x + x * x * (0.5 + x / 6) : fixed::exp(x) - 1;  // within 1e-11
}
Two expm1_of(Two x);
inline double exp_of(double x) { return fixed::exp(x); }
Two exp_of(Two x);
/// The natural logarithm of a positive number.
inline double log_of(double x) { return fixed::log(x); }
Two log_of(Two x);
inline double root_of(double x) { return std::sqrt(x); }
Two root_of(Two x);

/// sin(pi x) and cos(pi x) for 0 <= x <= 1/2.
struct HalfTurn {
  Two sine, cosine;
};
HalfTurn half_turn(double x);

}  // namespace tapegrad::special
