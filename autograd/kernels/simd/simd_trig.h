// Circular and hyperbolic functions and their inverses on vectors; included by simd.h, once for each instruction set.
//
// As accurate as those of simd_math.h: within three units in the last place, also near zeros and poles.
#if defined(TAPEGRAD_AUTOGRAD_SIMD_TRIG_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEGRAD_AUTOGRAD_SIMD_TRIG_H_
#undef TAPEGRAD_AUTOGRAD_SIMD_TRIG_H_
#else
#define TAPEGRAD_AUTOGRAD_SIMD_TRIG_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// ---- sin, cos, tan ----

namespace math {

// x = n pi/2 + r with |r| <= pi/4 (n may be off by one); for |x| < kTrigLimit.
inline constexpr double kTrigLimit = 1e6;

HWY_INLINE Vec<double> quarter_turns(Vec<double> x) { return round(x * 0.63661977236758138); }

HWY_INLINE Vec<double> reduce_turns(Vec<double> x, Vec<double> n) {
  // pi/2 in parts of 33 bits, as in FreeBSD's msun: n times the first two is exact
  return fma(n, Vec<double>(-2.02226624871116645580e-21),
             fma(n, Vec<double>(-6.07710050630396597660e-11), fma(n, Vec<double>(-1.57079632673412561417e+00), x)));
}

// sin and cos of r + n pi/2, before n exchanges and negates them.
template <class T>
struct Turned {
  Vec<T> s, c;  // sin(r), cos(r)
  Vec<T> half;  // n / 2

  HWY_INLINE Turned(Vec<T> r, Vec<T> n) : half(n * T(0.5)) {
    const Vec<T> z = r * r;
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
  }
  HWY_INLINE Mask<T> even() const { return half == floor(half); }
  HWY_INLINE Vec<T> sine() const {
    const Vec<T> quarter = floor(half) * T(0.5), y = where(even(), s, c);
    return where(quarter == floor(quarter), y, -y);
  }
  HWY_INLINE Vec<T> tangent() const {
    const Mask<T> is_even = even();
    const Vec<T> y = where(is_even, s, c) / where(is_even, c, s);
    return where(is_even, y, -y);
  }
};

// f(Turned of x + offset pi/2); `each` does the lanes that are too large to be reduced here.
HWY_INLINE Vec<double> turn(Vec<double> x, double offset, auto f, auto each) {
  const Mask<double> small = abs(x) < kTrigLimit;
  const Vec<double> n = quarter_turns(where(small, x, Vec<double>(0)));
  const Vec<double> y = f(Turned<double>(reduce_turns(x, n), n + offset));
  return HWY_LIKELY(!any(!small)) ? y : where(small, y, lane_by_lane(each, x));
}
HWY_INLINE Vec<float> turn(Vec<float> x, float offset, auto f, auto each) {
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
  const Vec<float> y = f(Turned<float>(r, narrow(n_low, n_high) + offset));
  return HWY_LIKELY(!any(!small)) ? y : where(small, y, lane_by_lane(each, x));
}

}  // namespace math

template <class T>
HWY_INLINE Vec<T> sin(Vec<T> x) {
  const Vec<T> y = math::turn(
      x, T(0), [](const auto& turned) HWY_ATTR { return turned.sine(); }, [](T lane) { return fixed::sin(lane); });
  return where(x == 0, x, y);
}
template <class T>
HWY_INLINE Vec<T> cos(Vec<T> x) {
  return math::turn(
      x, T(1), [](const auto& turned) HWY_ATTR { return turned.sine(); }, [](T lane) { return fixed::cos(lane); });
}
template <class T>
HWY_INLINE Vec<T> tan(Vec<T> x) {
  const Vec<T> y = math::turn(
      x, T(0), [](const auto& turned) HWY_ATTR { return turned.tangent(); }, [](T lane) { return fixed::tan(lane); });
  return where(x == 0, x, y);
}

// ---- asin, acos, atan, atan2 ----

namespace math {

// pi/2 = kQuarter + kQuarterLow
template <class T>
inline constexpr T kQuarter = kDouble<T> ? T(0x1.921fb54442d18p+0) : T(0x1.921fb6p+0f);
template <class T>
inline constexpr T kQuarterLow = kDouble<T> ? T(0x1.1a62633145c07p-54) : T(-0x1.777a5cp-25f);

// asin(x) / x - 1 for z = x^2 <= 1/4.
template <class T>
HWY_INLINE Vec<T> asin_part(Vec<T> z) {
  if constexpr (kDouble<T>) {
    return z * poly(z, 0.16666666666665383, 0.07500000000342931, 0.044642856823560575, 0.030381959328456602,
                    0.02237175358277145, 0.01735977030524954, 0.01388460554401577, 0.012173238043140442,
                    0.0065110109072366576, 0.01957352805954238, -0.016293557409681535, 0.03195866074419836);
  } else {
    return z * poly(z, 0.16666753590106964f, 0.07495252043008804f, 0.045476034283638f, 0.024152157828211784f,
                    0.042211659252643585f);
  }
}

// asin(sqrt(z)) for z <= 1/4 as high + low; `high` has half of the bits, and twice it leaves pi/2 exactly.
template <class T>
struct AsinOfRoot {
  Vec<T> high, low;
  HWY_INLINE explicit AsinOfRoot(Vec<T> z) {
    const Vec<T> s = sqrt(z);
    constexpr int kCut = kDouble<T> ? 27 : 12;
    high = from_bits<T>(hn::And(bits(s), word<T>(~((Word<T>(1) << kCut) - 1))));
    const Vec<T> lost = (z - high * high) / max(s + high, Vec<T>(std::numeric_limits<T>::min()));
    low = fma(s, asin_part(z), lost);
  }
};

// atan(t) for 0 <= t <= 1.
template <class T>
HWY_INLINE Vec<T> atan_unit(Vec<T> t) {
  const Vec<T> z = t * t;
  Vec<T> p;
  if constexpr (kDouble<T>) {
    p = poly(z, -0.3333333333333307, 0.19999999999951748, -0.14285714282587963, 0.11111111007337636,
             -0.09090907007711772, 0.07692279887813161, -0.06666404413838826, 0.05880529749777108,
             -0.052535265190599305, 0.04722347480023222, -0.04219241320363346, 0.03664311557541461,
             -0.02990567982847569, 0.021986997918101835, -0.013902504318462816, 0.007197833088815412,
             -0.002885581933843256, 0.0008315495534291634, -0.00015220890959707415, 1.3229771986471742e-05);
  } else {
    p = poly(z, -0.33333298563957214f, 0.1999852955341339f, -0.14264044165611267f, 0.10951302200555801f,
             -0.08401626348495483f, 0.05794312059879303f, -0.031182212755084038f, 0.010927452705800533f,
             -0.001798825804144144f);
  }
  return fma(t * z, p, t);
}

}  // namespace math

template <class T>
HWY_INLINE Vec<T> asin(Vec<T> x) {
  using namespace math;
  const Vec<T> a = abs(x);
  const Mask<T> small = a < T(0.5);
  // asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2))
  const AsinOfRoot<T> rest(T(0.5) * (1 - a));
  const Vec<T> large = (kQuarter<T> - 2 * rest.high) - (2 * rest.low - kQuarterLow<T>);
  return copysign(where(small, fma(a, asin_part(a * a), a), large), x);
}

template <class T>
HWY_INLINE Vec<T> acos(Vec<T> x) {
  using namespace math;
  const Vec<T> a = abs(x);
  const AsinOfRoot<T> rest(T(0.5) * (1 - a));
  const Vec<T> middle = kQuarter<T> - (x - (kQuarterLow<T> - x * asin_part(x * x)));
  const Vec<T> right = 2 * (rest.high + rest.low);  // near 1
  const Vec<T> left = 2 * (kQuarter<T> - (rest.high + (rest.low - kQuarterLow<T>)));
  return where(a < T(0.5), middle, where(x < 0, left, right));
}

template <class T>
HWY_INLINE Vec<T> atan(Vec<T> x) {
  using namespace math;
  const Vec<T> a = abs(x);
  const Mask<T> steep = a > 1;
  const Vec<T> y = atan_unit(where(steep, 1 / a, a));
  return copysign(where(steep, kQuarter<T> - (y - kQuarterLow<T>), y), x);
}

/// The angle of the point (x, y).
template <class T>
HWY_INLINE Vec<T> atan2(Vec<T> y, Vec<T> x) {
  using namespace math;
  const Vec<T> ax = abs(x), ay = abs(y), shorter = min(ax, ay), longer = max(ax, ay);
  // equal sides, infinite ones too, give 1; a zero divided by a zero counts as 0
  const Vec<T> t = where(shorter == longer, where(longer == 0, Vec<T>(0), Vec<T>(1)), shorter / longer);
  const Vec<T> r = atan_unit(t);
  const Mask<T> steep = ay > ax, left = copysign(Vec<T>(1), x) < 0;
  // pi/2 - r and pi/2 + r above the diagonals, r and pi - r to their sides
  const Vec<T> quarters = where(steep, Vec<T>(1), where(left, Vec<T>(2), Vec<T>(0)));
  const Vec<T> turned = where(steep ^ left, -r, r);
  const Vec<T> angle = fma(quarters, Vec<T>(kQuarter<T>), fma(quarters, Vec<T>(kQuarterLow<T>), turned));
  return where((x != x) | (y != y), x + y, copysign(angle, y));
}

// ---- sinh, cosh and the inverses ----

namespace math {

// e^x / 4 for x >= 0, NaN included; infinite where cosh is.
template <class T>
HWY_INLINE Vec<T> quarter_exp(Vec<T> x) {
  const Exp<T> e(min(Vec<T>(kDouble<T> ? T(711) : T(90)), x));
  return e.power(-2) * (e.expm1_r + 1);
}

// log(1 + x), or log(x) + ln 2 where x is `huge`.
template <class T>
HWY_INLINE Vec<T> log1p_or_double(Vec<T> x, Mask<T> huge) {
  const Vec<T> u = where(huge, x, x + 1);
  const Vec<T> lost = where(x < 1, x - (u - 1), 1 - (u - x));  // 1 + x = u + lost
  const Vec<T> rest = where(huge, Vec<T>(T(0.69314718055994531)), where(u > 0, lost / u, Vec<T>(0)));
  return where(u == 1, x, log_edges(u, log_plus(u, rest)));
}

template <class T>
inline constexpr T kHuge = kDouble<T> ? T(0x1p28) : T(0x1p13);  // from here on x^2 + 1 and x^2 have the same root

}  // namespace math

template <class T>
HWY_INLINE Vec<T> sinh(Vec<T> x) {
  using namespace math;
  const Vec<T> a = abs(x), z = a * a;
  Vec<T> p;
  if constexpr (kDouble<T>) {
    p = poly(z, 0.16666666666666666, 0.00833333333333357, 0.00019841269841066548, 2.755731930708622e-06,
             2.5052090215487515e-08, 1.6061227929381528e-10, 7.51097824065419e-13, 6.26371265720901e-15);
  } else {
    p = poly(z, 0.1666666716337204f, 0.008333311416208744f, 0.00019842635083477944f, 2.7839253107231343e-06f);
  }
  const Vec<T> e = quarter_exp(a);
  const Vec<T> large = 2 * (e - T(0.0625) / e);
  return copysign(where(a < 1, fma(a * z, p, a), large), x);
}

template <class T>
HWY_INLINE Vec<T> cosh(Vec<T> x) {
  const Vec<T> e = math::quarter_exp(abs(x));
  return 2 * (e + T(0.0625) / e);
}

template <class T>
HWY_INLINE Vec<T> asinh(Vec<T> x) {
  // log(a + sqrt(a^2 + 1)) = log1p(a + a^2 / (1 + sqrt(a^2 + 1)))
  const Vec<T> a = abs(x), z = a * a;
  const Mask<T> huge = a > math::kHuge<T>;
  const Vec<T> w = where(huge, a, a + z / (1 + sqrt(z + 1)));
  return copysign(math::log1p_or_double(w, huge), x);
}

template <class T>
HWY_INLINE Vec<T> acosh(Vec<T> x) {
  // log(x + sqrt(x^2 - 1)) = log1p(t + sqrt(t^2 + 2t)) with t = x - 1
  const Vec<T> t = x - 1;
  const Mask<T> huge = x > math::kHuge<T>;
  const Vec<T> w = where(huge, x, t + sqrt(t * (t + 2)));
  const Vec<T> y = math::log1p_or_double(w, huge);
  return where(x < 1, Vec<T>(std::numeric_limits<T>::quiet_NaN()), y);
}

template <class T>
HWY_INLINE Vec<T> atanh(Vec<T> x) {
  const Vec<T> a = abs(x);
  return copysign(T(0.5) * log1p((a + a) / (1 - a)), x);
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the include guard of this instruction set
