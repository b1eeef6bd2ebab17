// Elementary functions on vectors; included by simd.h, once for each instruction set.
//
// All results are within three units in the last place of the exact value (most within one and a half). Signed zeros,
// infinities, NaN and denormals give what <cmath> gives. The polynomials are our own minimax fits; known algorithms are
// named. Circular and hyperbolic functions are in simd_trig.h.
#if defined(TAPEGRAD_AUTOGRAD_SIMD_MATH_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEGRAD_AUTOGRAD_SIMD_MATH_H_
#undef TAPEGRAD_AUTOGRAD_SIMD_MATH_H_
#else
#define TAPEGRAD_AUTOGRAD_SIMD_MATH_H_
#endif

#include <tapegrad/autograd/internal/fixed_math.h>

#include <cmath>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

/// -1, 0 or 1; 0 for NaN.
template <class T>
HWY_INLINE Vec<T> sign(Vec<T> x) {
  return where(x > 0, Vec<T>(1), where(x < 0, Vec<T>(-1), Vec<T>(0)));
}

namespace math {

template <class T>
inline constexpr bool kDouble = sizeof(T) == 8;
template <class T>
inline constexpr int kMantissa = kDouble<T> ? 52 : 23;
template <class T>
inline constexpr int kBias = kDouble<T> ? 1023 : 127;
template <class T>
inline constexpr T kInf = std::numeric_limits<T>::infinity();

template <class T>
using BitsTag = hn::RebindToUnsigned<hn::ScalableTag<T>>;
template <class T>
using Word = hn::TFromD<BitsTag<T>>;

/// A lane's bits as an unsigned integer of the same size.
template <class T>
HWY_INLINE auto bits(Vec<T> x) {
  return hn::BitCast(BitsTag<T>(), x.raw);
}
template <class T, class Bits>
HWY_INLINE Vec<T> from_bits(Bits b) {
  return Vec<T>(hn::BitCast(hn::ScalableTag<T>(), b));
}
template <class T>
HWY_INLINE auto word(Word<T> w) {
  return hn::Set(BitsTag<T>(), w);
}

/// c0 + c1 x + c2 x^2 + ...
template <class T>
HWY_INLINE Vec<T> poly(Vec<T>, T c) {
  return c;
}
template <class T, class... C>
HWY_INLINE Vec<T> poly(Vec<T> x, T c, C... rest) {
  return fma(x, poly(x, static_cast<T>(rest)...), Vec<T>(c));
}

// e^r - 1 for |r| <= ln(2) / 2.
template <class T>
HWY_INLINE Vec<T> expm1_reduced(Vec<T> r) {
  Vec<T> q;
  if constexpr (kDouble<T>) {
    q = poly(r, 0.5, 0.16666666666666677, 0.04166666666666662, 0.00833333333332146, 0.0013888888888916155,
             0.00019841269886496533, 2.4801587252679582e-05, 2.7557243873242287e-06, 2.7557340179469174e-07,
             2.5109145657899232e-08, 2.089333215254799e-09);
  } else {
    q = poly(r, 0.4999999701976776f, 0.1666654348373413f, 0.04166750609874725f, 0.008366541936993599f,
             0.0013864218490198255f);
  }
  return fma(r * r, q, r);
}

// e^x = 2^n e^r with |r| <= ln(2) / 2, as n and e^r - 1.
template <class T>
struct Exp {
  static constexpr T kShift = kDouble<T> ? T(0x1.8p52) : T(0x1.8p23);
  Vec<T> n_shifted;  // n + kShift: its lowest bits are n
  Vec<T> n;
  Vec<T> expm1_r;

  HWY_INLINE explicit Exp(Vec<T> x) : n_shifted(fma(x, Vec<T>(T(1.4426950408889634)), Vec<T>(kShift))) {
    n = n_shifted - kShift;
    Vec<T> r;  // ln 2 in two parts; n times the first is exact
    if constexpr (kDouble<T>) {
      r = fma(n, Vec<T>(-0x1.62e42fee00000p-1), x);
      r = fma(n, Vec<T>(-0x1.a39ef35793c76p-33), r);
    } else {
      r = fma(n, Vec<T>(-0x1.62ep-1f), x);
      r = fma(n, Vec<T>(-0x1.0bfbe8p-15f), r);
    }
    expm1_r = expm1_reduced(r);
  }
  /// 2^x = 2^n e^r.
  static HWY_INLINE Exp of_power(Vec<T> x) {
    Exp e;
    e.n_shifted = x + kShift;
    e.n = e.n_shifted - kShift;
    e.expm1_r = expm1_reduced((x - e.n) * T(0.69314718055994531));
    return e;
  }

  /// 2^(n + offset), which must be a normal number.
  HWY_INLINE Vec<T> power(int offset = 0) const {
    const auto biased = hn::Add(bits(n_shifted), word<T>(kBias<T> + offset));
    return from_bits<T>(hn::ShiftLeft<kMantissa<T>>(biased));
  }
  /// 2^n e^r.
  HWY_INLINE Vec<T> value() const { return times_power(expm1_r + 1); }
  /// 2^n y, 2^n in two factors, which may overflow or denormalise only at the end.
  HWY_INLINE Vec<T> times_power(Vec<T> y) const {
    const auto biased = hn::Add(hn::Sub(bits(n_shifted), bits(Vec<T>(kShift))), word<T>(2 * kBias<T>));
    const auto half = hn::ShiftRight<1>(biased);  // floor(n / 2) + bias
    const auto rest = hn::Sub(biased, half);
    return y * from_bits<T>(hn::ShiftLeft<kMantissa<T>>(half)) * from_bits<T>(hn::ShiftLeft<kMantissa<T>>(rest));
  }

 private:
  HWY_INLINE Exp() = default;
};

}  // namespace math

template <class T>
HWY_INLINE Vec<T> exp(Vec<T> x) {
  using namespace math;
  const Vec<T> lowest = kDouble<T> ? T(-746) : T(-104), highest = kDouble<T> ? T(710) : T(89);
  return Exp<T>(max(lowest, min(highest, x))).value();  // in this order NaN stays
}

template <class T>
HWY_INLINE Vec<T> exp2(Vec<T> x) {
  using namespace math;
  const Vec<T> lowest = kDouble<T> ? T(-1080) : T(-155), highest = kDouble<T> ? T(1025) : T(129);
  return Exp<T>::of_power(max(lowest, min(highest, x))).value();
}

template <class T>
HWY_INLINE Vec<T> expm1(Vec<T> x) {
  using namespace math;
  const Vec<T> lowest = kDouble<T> ? T(-40) : T(-20), highest = kDouble<T> ? T(710) : T(89);
  const Exp<T> e(max(lowest, min(highest, x)));
  const Vec<T> half = e.power(-1);  // 2^n itself may be too large
  const Vec<T> y = fma(half, e.expm1_r, half - T(0.5));
  return where(abs(x) < T(1e-30), x, y + y);
}

namespace math {

// e^x - 1, for -40 < x <= 0 in double and -20 < x <= 0 in float only.
template <class T>
HWY_INLINE Vec<T> expm1_negative(Vec<T> x) {
  const Exp<T> e(x);
  const Vec<T> power = e.power();
  return fma(power, e.expm1_r, power - 1);
}

// x = 2^n m with sqrt(1/2) <= m < sqrt(2), for 0 < x < infinity, and the parts of log(m).
template <class T>
struct Log {
  Vec<T> n, f, half_square, a, b;

  HWY_INLINE explicit Log(Vec<T> x) {
    const Vec<T> tiny = std::numeric_limits<T>::min();
    const T scale = kDouble<T> ? T(0x1p54) : T(0x1p25);
    const Mask<T> denormal = x < tiny;
    x = where(denormal, x * scale, x);
    const Vec<T> root = T(0.70710678118654752);
    const auto biased = hn::Add(bits(x), hn::Sub(bits(Vec<T>(1)), bits(root)));
    const auto mantissa = hn::And(biased, word<T>((Word<T>(1) << kMantissa<T>)-1));
    const Vec<T> m = from_bits<T>(hn::Add(mantissa, bits(root)));
    const Vec<T> shift = kDouble<T> ? T(0x1p52) : T(0x1p23);  // an integer in its lowest bits is added to it
    const Vec<T> n_biased = from_bits<T>(hn::Or(hn::ShiftRight<kMantissa<T>>(biased), bits(shift))) - shift;
    n = n_biased - where(denormal, Vec<T>(kBias<T> + (kDouble<T> ? 54 : 25)), Vec<T>(kBias<T>));
    f = m - 1;
    half_square = T(0.5) * f * f;
    if constexpr (kDouble<T>) {
      // log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)) with s = f / (2 + f), as in FreeBSD's msun
      const Vec<T> s = f / (f + 2), z = s * s;
      a = s;
      b = half_square + z * poly(z, 0.6666666666666735, 0.3999999999941045, 0.28571428743272836, 0.22222198485068326,
                                 0.1818356884106448, 0.1531393554141426, 0.14797102712127688);
    } else {
      a = f * f * f;
      b = poly(f, 0.3333333134651184f, -0.250008225440979f, 0.2000124752521515f, -0.16623330116271973f,
               0.1420145332813263f, -0.1316015124320984f, 0.12762926518917084f, -0.07635807991027832f);
    }
  }
  /// log(m) + rest, the rest being small.
  HWY_INLINE Vec<T> mantissa_plus(Vec<T> rest) const { return f - (half_square - fma(a, b, rest)); }
};

// log(x) + rest for 0 < x < infinity.
template <class T>
HWY_INLINE Vec<T> log_plus(Vec<T> x, Vec<T> rest) {
  const Log<T> log(x);
  const T high = kDouble<T> ? T(0x1.62e42fee00000p-1) : T(0x1.62ep-1f);  // n times it is exact
  const T low = kDouble<T> ? T(0x1.a39ef35793c76p-33) : T(0x1.0bfbe8p-15f);
  return fma(log.n, Vec<T>(high), log.mantissa_plus(fma(log.n, Vec<T>(low), rest)));
}

// The special cases that log_plus(x) leaves out.
template <class T>
HWY_INLINE Vec<T> log_edges(Vec<T> x, Vec<T> y) {
  y = where(x == kInf<T>, x, y);
  return where(x > 0, y, where(x == 0, Vec<T>(-kInf<T>), Vec<T>(std::numeric_limits<T>::quiet_NaN())));
}

}  // namespace math

template <class T>
HWY_INLINE Vec<T> log(Vec<T> x) {
  return math::log_edges(x, math::log_plus(x, Vec<T>(0)));
}

/// Exact for powers of two.
template <class T>
HWY_INLINE Vec<T> log2(Vec<T> x) {
  using namespace math;
  const Log<T> log(x);
  const Vec<T> m = log.mantissa_plus(Vec<T>(0));
  const Vec<T> high = T(1.4426950408889634), low = kDouble<T> ? T(0x1.777d0ffda0d24p-56) : T(0x1.4ae0c00000000p-26f);
  return log_edges(x, log.n + fma(m, high, m * low));
}

template <class T>
HWY_INLINE Vec<T> log10(Vec<T> x) {
  using namespace math;
  const Log<T> log(x);
  const Vec<T> m = log.mantissa_plus(Vec<T>(0));
  const Vec<T> high = T(0.43429448190325183), low = kDouble<T> ? T(0x1.95355baaafad3p-57) : T(-0x1.5b235e0000000p-27f);
  const T two_high = kDouble<T> ? T(0x1.34413509f7800p-2) : T(0x1.3442000000000p-2f);  // n times it is exact
  const T two_low = kDouble<T> ? T(0x1.fef311f12b358p-46) : T(-0x1.95ec100000000p-19f);
  return log_edges(x, fma(log.n, Vec<T>(two_high), fma(m, high, fma(m, low, log.n * two_low))));
}

template <class T>
HWY_INLINE Vec<T> log1p(Vec<T> x) {
  const Vec<T> u = x + 1;
  const Vec<T> lost = where(x < 1, x - (u - 1), 1 - (u - x));  // 1 + x = u + lost
  const Vec<T> y = math::log_edges(u, math::log_plus(u, where(u > 0, lost / u, Vec<T>(0))));
  return where(u == 1, x, y);
}

template <class T>
HWY_INLINE Vec<T> tanh(Vec<T> x) {
  // tanh |x| = -t / (t + 2) with t = e^(-2 |x|) - 1
  const Vec<T> t = math::expm1_negative(min(Vec<T>(math::kDouble<T> ? T(19.5) : T(9.5)), abs(x)) * T(-2));
  return copysign(t / (t + 2), x);
}

template <class T>
HWY_INLINE Vec<T> sigmoid(Vec<T> x) {
  const Vec<T> e = exp(-abs(x));
  return where(x < 0, e, Vec<T>(1)) / (1 + e);
}

template <class T>
HWY_INLINE Vec<T> silu(Vec<T> x) {
  return x * sigmoid(x);
}

template <class T>
HWY_INLINE Vec<T> erf(Vec<T> x) {
  using namespace math;
  const Vec<T> a = abs(x), z = a * a;
  if constexpr (kDouble<T>) {
    const Vec<T> small =
        poly(z, 0.12837916709551256, -0.3761263890318346, 0.11283791670942674, -0.026866170642934877,
             0.005223977604968696, -0.0008548325883480176, 0.0001205529240146814, -1.4924692513394981e-05,
             1.6446914085366854e-06, -1.6204811185168046e-07, 1.3705057044293911e-08, -7.769306523608002e-10);
    // 1 - erf(b) = e^(-b^2) h((b - 3) / (b + 3)) on 1 <= b <= 6
    const Vec<T> b = min(Vec<T>(6), a), t = (b - 3) / (b + 3);
    const Vec<T> h = poly(t, 0.17900115118139004, -0.32623356004316256, 0.24560380170778529, -0.15011593654638253,
                          0.0716658374292463, -0.024392490080138725, 0.0042692320004552526, 0.0007083023586603565,
                          -0.00059500952630641, 5.0199946417557346e-05, 7.160064665923022e-05, -6.457897979610789e-06,
                          -6.584792196572055e-06);
    const Vec<T> large = 1 - (1 + expm1_negative(b * b * T(-1))) * h;
    return copysign(where(a < 1, fma(a, small, a), large), x);
  } else {
    const Vec<T> small =
        poly(z, 0.12837916612625122f, -0.3761262595653534f, 0.1128358244895935f, -0.026853643357753754f,
             0.005187963135540485f, -0.0008006803691387177f, 7.842346531106159e-05f);
    // erf(b) = 1 - e^(-g(b - 1)) on 1 <= b <= 4
    const Vec<T> g = poly(min(Vec<T>(4), a) - 1, 1.8496055603027344f, 2.6389641761779785f, 0.843150794506073f,
                          0.04135885462164879f, -0.009626713581383228f, 0.001613183761946857f, -0.0001250470377271995f);
    return copysign(where(a < 1, fma(a, small, a), -expm1_negative(-g)), x);
  }
}

/// log(1 + e^x).
template <class T>
HWY_INLINE Vec<T> softplus(Vec<T> x) {
  return max(x, Vec<T>(0)) + log1p(exp(-abs(x)));  // NaN is in the second term
}

/// f of every lane, with <cmath>: as accurate, and as slow.
template <class T, class F, class... Rest>
HWY_INLINE Vec<T> lane_by_lane(F f, Vec<T> x, Rest... rest) {
  constexpr int kOperands = 1 + sizeof...(rest);
  HWY_ALIGN T lanes[kOperands][kLanes<T>];
  int operand = 0;
  for (const Vec<T>& v : {x, rest...}) store(v, lanes[operand++]);
  for (int64_t i = 0; i < kLanes<T>; ++i) {
    if constexpr (kOperands == 1) {
      lanes[0][i] = f(lanes[0][i]);
    } else {
      lanes[0][i] = f(lanes[0][i], lanes[1][i]);
    }
  }
  return load(lanes[0]);
}

template <class T>
HWY_INLINE Vec<T> pow(Vec<T> x, Vec<T> exponent) {
  return lane_by_lane([](T a, T b) { return fixed::pow(a, b); }, x, exponent);
}

/// a - trunc(a / b) b, exactly, with the sign of a.
template <class T>
HWY_INLINE Vec<T> fmod(Vec<T> a, Vec<T> b) {
  // The quotient is off by one at most, and the remainder of either quotient is a number of the type.
  const Vec<T> x = abs(a), y = abs(b), q = trunc(x / y);
  Vec<T> r = fma(-q, y, x);
  r = where(r < 0, r + y, r);
  r = copysign(where(r >= y, r - y, r), a);
  const Mask<T> exact = (q < (math::kDouble<T> ? T(0x1p52) : T(0x1p23))) & (r == r);
  if (HWY_LIKELY(!any(!exact))) return r;
  return where(exact, r, lane_by_lane([](T one, T other) { return std::fmod(one, other); }, a, b));
}

/// a - floor(a / b) b, with the sign of b.
template <class T>
HWY_INLINE Vec<T> remainder(Vec<T> a, Vec<T> b) {
  const Vec<T> r = fmod(a, b);
  return where((r != 0) & ((r < 0) ^ (b < 0)), r + b, r);
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the include guard of this instruction set
