// Elementary functions on vectors; included by simd.h, once for each instruction set.
//
// All results are within three units in the last place of the exact value (most within one and a half), also those of
// sin and cos near their zeros. Signed zeros, infinities, NaN and denormals give what <cmath> gives. The polynomials
// are our own minimax fits; known algorithms are named.
#if defined(TAPEGRAD_AUTOGRAD_SIMD_MATH_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEGRAD_AUTOGRAD_SIMD_MATH_H_
#undef TAPEGRAD_AUTOGRAD_SIMD_MATH_H_
#else
#define TAPEGRAD_AUTOGRAD_SIMD_MATH_H_
#endif

#include <cmath>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

template <class T>
HWY_INLINE Vec<T> abs(Vec<T> x) {
  return hn::Abs(x.raw);
}
template <class T>
HWY_INLINE Vec<T> sqrt(Vec<T> x) {
  return hn::Sqrt(x.raw);
}
template <class T>
HWY_INLINE Vec<T> rsqrt(Vec<T> x) {
  return 1 / sqrt(x);
}
template <class T>
HWY_INLINE Vec<T> floor(Vec<T> x) {
  return hn::Floor(x.raw);
}
template <class T>
HWY_INLINE Vec<T> ceil(Vec<T> x) {
  return hn::Ceil(x.raw);
}
template <class T>
HWY_INLINE Vec<T> trunc(Vec<T> x) {
  return hn::Trunc(x.raw);
}
/// To the nearest integer, halves to even.
template <class T>
HWY_INLINE Vec<T> round(Vec<T> x) {
  return hn::Round(x.raw);
}
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

// x = n ln 2 + r with |r| <= ln(2) / 2, and e^r - 1.
template <class T>
struct Exp {
  Vec<T> n_shifted;  // n + 1.5 * 2^mantissa: its lowest bits are n
  Vec<T> n;
  Vec<T> expm1_r;

  HWY_INLINE explicit Exp(Vec<T> x) {
    const T shift = kDouble<T> ? T(0x1.8p52) : T(0x1.8p23);
    n_shifted = fma(x, Vec<T>(T(1.4426950408889634)), Vec<T>(shift));
    n = n_shifted - shift;
    if constexpr (kDouble<T>) {
      Vec<T> r = fma(n, Vec<T>(-0x1.62e42fee00000p-1), x);  // ln 2 in two parts; n times the first is exact
      r = fma(n, Vec<T>(-0x1.a39ef35793c76p-33), r);
      const Vec<T> q =
          poly(r, 0.5, 0.16666666666666677, 0.04166666666666662, 0.00833333333332146, 0.0013888888888916155,
               0.00019841269886496533, 2.4801587252679582e-05, 2.7557243873242287e-06, 2.7557340179469174e-07,
               2.5109145657899232e-08, 2.089333215254799e-09);
      expm1_r = fma(r * r, q, r);
    } else {
      Vec<T> r = fma(n, Vec<T>(-0x1.62ep-1f), x);
      r = fma(n, Vec<T>(-0x1.0bfbe8p-15f), r);
      const Vec<T> q = poly(r, 0.4999999701976776f, 0.1666654348373413f, 0.04166750609874725f, 0.008366541936993599f,
                            0.0013864218490198255f);
      expm1_r = fma(r * r, q, r);
    }
  }

  /// 2^(n + offset), which must be a normal number.
  HWY_INLINE Vec<T> power(int offset = 0) const {
    const auto biased = hn::Add(bits(n_shifted), word<T>(kBias<T> + offset));
    return from_bits<T>(hn::ShiftLeft<kMantissa<T>>(biased));
  }
};

}  // namespace math

template <class T>
HWY_INLINE Vec<T> exp(Vec<T> x) {
  using namespace math;
  const Vec<T> lowest = kDouble<T> ? T(-746) : T(-104), highest = kDouble<T> ? T(710) : T(89);
  const Exp<T> e(max(lowest, min(highest, x)));  // in this order NaN stays
  // 2^n in two factors, which may overflow or denormalise only at the end
  const auto n = hn::Sub(bits(e.n_shifted), bits(Vec<T>(kDouble<T> ? T(0x1.8p52) : T(0x1.8p23))));
  const auto half = hn::ShiftRight<1>(hn::Add(n, word<T>(2 * kBias<T>)));  // floor(n / 2) + bias
  const auto rest = hn::Sub(hn::Add(n, word<T>(2 * kBias<T>)), half);
  const Vec<T> y = e.expm1_r + 1;
  return y * from_bits<T>(hn::ShiftLeft<kMantissa<T>>(half)) * from_bits<T>(hn::ShiftLeft<kMantissa<T>>(rest));
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

// log(x) + rest for 0 < x < infinity.
template <class T>
HWY_INLINE Vec<T> log_plus(Vec<T> x, Vec<T> rest) {
  const Vec<T> tiny = std::numeric_limits<T>::min();
  const T scale = kDouble<T> ? T(0x1p54) : T(0x1p25);
  const Mask<T> denormal = x < tiny;
  x = where(denormal, x * scale, x);
  // x = 2^n m with sqrt(1/2) <= m < sqrt(2)
  const Vec<T> root = T(0.70710678118654752);
  const auto biased = hn::Add(bits(x), hn::Sub(bits(Vec<T>(1)), bits(root)));
  const auto mantissa = hn::And(biased, word<T>((Word<T>(1) << kMantissa<T>)-1));
  const Vec<T> m = from_bits<T>(hn::Add(mantissa, bits(root)));
  const Vec<T> shift = kDouble<T> ? T(0x1p52) : T(0x1p23);  // an integer in its lowest bits is added to it
  const Vec<T> n_biased = from_bits<T>(hn::Or(hn::ShiftRight<kMantissa<T>>(biased), bits(shift))) - shift;
  const Vec<T> n = n_biased - where(denormal, Vec<T>(kBias<T> + (kDouble<T> ? 54 : 25)), Vec<T>(kBias<T>));
  const Vec<T> f = m - 1;
  const Vec<T> half_square = T(0.5) * f * f;
  if constexpr (kDouble<T>) {
    // log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)) with s = f / (2 + f), as in FreeBSD's msun
    const Vec<T> s = f / (f + 2), z = s * s;
    const Vec<T> r = z * poly(z, 0.6666666666666735, 0.3999999999941045, 0.28571428743272836, 0.22222198485068326,
                              0.1818356884106448, 0.1531393554141426, 0.14797102712127688);
    const Vec<T> low = fma(s, half_square + r, fma(n, Vec<T>(0x1.a39ef35793c76p-33), rest));
    return fma(n, Vec<T>(0x1.62e42fee00000p-1), f - (half_square - low));
  } else {
    const Vec<T> p = poly(f, 0.3333333134651184f, -0.250008225440979f, 0.2000124752521515f, -0.16623330116271973f,
                          0.1420145332813263f, -0.1316015124320984f, 0.12762926518917084f, -0.07635807991027832f);
    const Vec<T> low = fma(f * f * f, p, fma(n, Vec<T>(0x1.0bfbe8p-15f), rest));
    return fma(n, Vec<T>(0x1.62ep-1f), f - (half_square - low));
  }
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

namespace math {

// x = n pi/2 + r with |r| <= pi/4 (n may be off by one); for |x| < kTrigLimit.
inline constexpr double kTrigLimit = 1e6;

HWY_INLINE Vec<double> quarter_turns(Vec<double> x) { return round(x * 0.63661977236758138); }

HWY_INLINE Vec<double> reduce_turns(Vec<double> x, Vec<double> n) {
  // pi/2 in parts of 33 bits, as in FreeBSD's msun: n times the first two is exact
  return fma(n, Vec<double>(-2.02226624871116645580e-21),
             fma(n, Vec<double>(-6.07710050630396597660e-11), fma(n, Vec<double>(-1.57079632673412561417e+00), x)));
}

// sin(r) and cos(r) chosen by the lowest two bits of n.
template <class T>
HWY_INLINE Vec<T> sin_quarter(Vec<T> r, Vec<T> n) {
  const Vec<T> z = r * r;
  Vec<T> s, c;
  if constexpr (kDouble<T>) {
    s = poly(z, -0.16666666666666632, 0.00833333333332249, -0.00019841269829857068, 2.7557313706450967e-06,
             -2.5050760109685996e-08, 1.5896899152591307e-10);
    c = poly(z, 0.0416666666666666, -0.0013888888888874483, 2.4801587289679248e-05, -2.7557314403508156e-07,
             2.0875729624319433e-09, -1.1359951596241341e-11);
  } else {
    s = poly(z, -0.1666666716337204f, 0.008333377540111542f, -0.00019852157856803387f, 2.8225290407135617e-06f);
    c = poly(z, 0.04166664555668831f, -0.0013887311797589064f, 2.443276571284514e-05f);
  }
  s = fma(r * z, s, r);
  const Vec<T> h = T(0.5) * z, w = 1 - h;
  c = w + fma(z * z, c, (1 - w) - h);
  const Vec<T> half = n * T(0.5), quarter = floor(half) * T(0.5);
  const Vec<T> y = where(half == floor(half), s, c);
  return where(quarter == floor(quarter), y, -y);
}

template <class T, class Each>
HWY_INLINE Vec<T> lane_by_lane(Vec<T> x, Each each) {
  HWY_ALIGN T lanes[kLanes<T>];
  store(x, lanes);
  for (T& lane : lanes) lane = each(lane);
  return load(lanes);
}

// sin(x + offset pi/2); `each` does the lanes that are too large to be reduced here.
template <class Each>
HWY_INLINE Vec<double> sin_turned(Vec<double> x, double offset, Each each) {
  const Mask<double> small = abs(x) < kTrigLimit;
  const Vec<double> n = quarter_turns(where(small, x, Vec<double>(0)));
  const Vec<double> y = sin_quarter(reduce_turns(x, n), n + offset);
  return HWY_LIKELY(!any(!small)) ? y : where(small, y, lane_by_lane(x, each));
}
template <class Each>
HWY_INLINE Vec<float> sin_turned(Vec<float> x, float offset, Each each) {
  const Mask<float> small = abs(x) < float(kTrigLimit);
  const hn::ScalableTag<float> d;
  const hn::Half<decltype(d)> dh;
  const hn::ScalableTag<double> dd;
  const Vec<float> safe = where(small, x, Vec<float>(0));
  const Vec<double> low = hn::PromoteTo(dd, hn::LowerHalf(dh, safe.raw)),
                    high = hn::PromoteTo(dd, hn::UpperHalf(dh, safe.raw));
  const Vec<double> n_low = quarter_turns(low), n_high = quarter_turns(high);
  const auto narrow = [](Vec<double> a, Vec<double> b) HWY_ATTR {
    const hn::ScalableTag<float> d;
    const hn::Half<decltype(d)> dh;
    return Vec<float>(hn::Combine(d, hn::DemoteTo(dh, b.raw), hn::DemoteTo(dh, a.raw)));
  };
  const Vec<float> r = narrow(reduce_turns(low, n_low), reduce_turns(high, n_high));
  const Vec<float> y = sin_quarter(r, narrow(n_low, n_high) + offset);
  return HWY_LIKELY(!any(!small)) ? y : where(small, y, lane_by_lane(x, each));
}

}  // namespace math

template <class T>
HWY_INLINE Vec<T> sin(Vec<T> x) {
  const Vec<T> y = math::sin_turned(x, T(0), [](T lane) { return std::sin(lane); });
  return where(x == 0, x, y);
}
template <class T>
HWY_INLINE Vec<T> cos(Vec<T> x) {
  return math::sin_turned(x, T(1), [](T lane) { return std::cos(lane); });
}

/// Lane by lane with <cmath>: as accurate, and as slow.
template <class T>
HWY_INLINE Vec<T> pow(Vec<T> x, Vec<T> exponent) {
  HWY_ALIGN T base[kLanes<T>], by[kLanes<T>];
  store(x, base);
  store(exponent, by);
  for (int64_t i = 0; i < kLanes<T>; ++i) base[i] = std::pow(base[i], by[i]);
  return load(base);
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the include guard of this instruction set
