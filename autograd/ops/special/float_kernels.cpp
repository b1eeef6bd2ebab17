// Special functions of float32: polynomials instead of the series of detail/numbers.h, most on vectors of doubles.
//
// The polynomials are our own: those through a function's values, computed with 50 digits, at the zeros of a Chebyshev
// polynomial. Those of doubles are within 2^-42 of their functions, most within 2^-48.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/special/float_kernels.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/simd/simd.h>
#include <tapegrad/autograd/ops/special/detail/float_kernels.h>
#include <tapegrad/autograd/ops/special/detail/numbers.h>

#include <algorithm>
#include <cstddef>
#include <limits>

#ifndef TAPEGRAD_SPECIAL_POLYNOMIALS
#define TAPEGRAD_SPECIAL_POLYNOMIALS
namespace tapegrad::special {

// lgamma(x) / ((x - 1) (x - 2)) for 1 <= x <= 3, in x - 2.
constexpr double kLgamma[] = {
    0.4227843350984665,     -0.10031730167435363,    0.03296500062133358,    -0.012384192193457294,
    0.004998641156259031,   -0.002108130829872506,   0.0009153770785665488,  -0.0004057074731484343,
    0.00018255114930835727, -8.309440541585384e-05,  3.817722380545098e-05,  -1.7665709404383975e-05,
    8.192828765584198e-06,  -3.833116287646882e-06,  1.8755509317635744e-06, -8.855951686326325e-07,
    3.018395891270956e-07,  -1.4236105253537717e-07, 1.904119884592213e-07,  -9.149733061118459e-08,
    -3.757408128677482e-08, 1.826501857734655e-08,   2.2205818811586364e-08, -1.0720306768374289e-08};
// x (lgamma(x) - (x - 1/2) log(x) + x - log(2 pi) / 2) for x >= 3, in 1 / x^2.
constexpr double kLgammaFar[] = {0.08333333333333333,    -0.002777777777767353, 0.0007936507891020488,
                                 -0.0005952373063227016, 0.000841678862598761,  -0.0019135564194573535,
                                 0.006266355072207451,   -0.02591763548428459,  0.11229667461420963,
                                 -0.41302940091672014,   1.0364376287210755,    -1.2591741378706647};
// digamma(x) / (x - x0) for 1 <= x <= 3, in x - 2; x0 is where digamma is 0.
constexpr double kDigamma[] = {
    0.7853075386040924,     -0.26073895468299496,    0.10899991702132192,    -0.04955103291952073,
    0.023447309422278285,   -0.011338432465610813,   0.005552257421456544,   -0.0027395745082172728,
    0.0013581112124276902,  -0.0006752978808744095,  0.0003366057453492554,  -0.0001679018715697189,
    8.31682461339327e-05,   -4.154052062420647e-05,  2.2300286225784885e-05, -1.1145352778935261e-05,
    3.1256871708305266e-06, -1.5623184076630917e-06, 3.3382638417970947e-06, -1.669069968780665e-06,
    -8.613656235914447e-07, 4.306871556809184e-07,   4.307044915998365e-07,  -2.1535080139361084e-07};
// x^2 (log(x) - 1 / (2 x) - digamma(x)) for x >= 3, in 1 / x^2.
constexpr double kDigammaFar[] = {0.08333333333333326,   -0.008333333333142599, 0.003968253884920039,
                                  -0.004166652178650307, 0.00757443060881869,   -0.02101916489697652,
                                  0.08064047398067098,   -0.37430045081725144,  1.7458633558768843,
                                  -6.706334097588544,    17.261883761190983,    -21.29861333701341};
// sin(pi d) / d and pi d cot(pi d) for 0 <= d <= 1/2, in d^2.
constexpr double kSine[] = {3.1415926535897927,  -5.1677127800497855,    2.5501640398618677,    -0.599264528825224,
                            0.08214587881631043, -0.0073703643265304155, 0.0004659870158043378, -2.113362735205297e-05};
constexpr double kCotangent[] = {1.000000000000075,   -3.289868133782829,  -2.1646464510252788, -2.0346873383304875,
                                 -2.0081084546405386, -2.0030231468948814, -1.985944318473544,  -2.133516614220896,
                                 -1.196458855519489,  -5.115770107384778,  5.280785254574036,   -10.561574711207378};
// A Bessel function up to 8.5 (over x, for order 1) in x^2 / 4, and sqrt(x) e^-x times it from there on, in 17 / x - 1.
struct Bessel {
  double near[16], far[16];
  bool odd;
};
inline constexpr Bessel kOrder0{
    {0.9999999999999998, 1.0000000000000064, 0.24999999999997008, 0.027777777777833374, 0.001736111111056893,
     6.944444447639224e-05, 1.929012333333789e-06, 3.936760218364246e-08, 6.151181069232952e-10, 7.594144823382504e-12,
     7.593184766977064e-14, 6.28253913861987e-16, 4.3239853786846694e-18, 2.7069727257164656e-20,
     1.0028979864253054e-22, 1.023372176318983e-24},
    {0.4019792990019523, 0.0031478974532913816, 0.00011894687629699713, 9.00722884850052e-06, 1.0991281855350363e-06,
     1.984189124738452e-07, 5.156533566807843e-08, 1.975064813173865e-08, 1.1265474704621095e-08, 5.530744727457063e-09,
     -1.9058322271894715e-09, -4.646180801942098e-09, -1.0139207712087587e-09, 1.2497945373786452e-09,
     3.2014248130219e-10, -1.498621616041764e-10},
    false};
inline constexpr Bessel kOrder1{
    {0.5, 0.25000000000000017, 0.04166666666666581, 0.0034722222222238136, 0.00017361111110955887,
     5.787037037951791e-06, 1.3778659576639848e-07, 2.460475025011331e-09, 3.417324499876752e-11,
     3.7970539743332275e-13, 3.4515942459702064e-15, 2.616886553973767e-17, 1.6664252762721985e-19,
     9.578579067337172e-22, 3.484483423080537e-24, 3.096694378061225e-26},
    {0.3899712080046252, -0.009151942951946426, -0.00019188422822927293, -1.2187511954942461e-05,
     -1.3632595194147003e-06, -2.3334937701210934e-07, -5.8428688183927745e-08, -2.1739638257233965e-08,
     -1.2152421920448784e-08, -6.006845151038403e-09, 1.8308438011370344e-09, 4.8369878584036645e-09,
     1.1469399747810318e-09, -1.2583070471176634e-09, -3.4792286214832246e-10, 1.4528095194309211e-10},
    true};

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
// Below this size a result, which has cancelled, is computed again.
inline constexpr double kCancels = 1e-4;

}  // namespace tapegrad::special
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

using Doubles = Vec<double>;
using Lanes = Mask<double>;

// c[0] + c[1] x + c[2] x^2 + ..., as four polynomials in x^4, whose steps do not wait for each other. It, exp and log
// are compiled once, not where they are called, which is less code and takes about as long.
HWY_NOINLINE Doubles sum_of_powers(const double* c, const double* end, Doubles x) {
  const Doubles square = x * x, fourth = square * square;
  Doubles p0, p1, p2, p3;
  for (const double* k = end - 4; k >= c; k -= 4) {
    p0 = fma(p0, fourth, Doubles(k[0]));
    p1 = fma(p1, fourth, Doubles(k[1]));
    p2 = fma(p2, fourth, Doubles(k[2]));
    p3 = fma(p3, fourth, Doubles(k[3]));
  }
  return fma(square, fma(x, p3, p2), fma(x, p1, p0));
}
template <std::size_t N>
HWY_INLINE Doubles polynomial(const double (&c)[N], Doubles x) {
  static_assert(N % 4 == 0);
  return sum_of_powers(c, c + N, x);
}
HWY_NOINLINE Doubles exp_of(Doubles x) { return exp(x); }
HWY_NOINLINE Doubles log_of(Doubles x) { return log(x); }

// y, with f(x) in some lanes.
HWY_NOINLINE Doubles again(Lanes lanes, Doubles y, Doubles x, double (*f)(double)) {
  bool chosen[kLanes<double>];
  HWY_ALIGN double from[kLanes<double>], to[kLanes<double>];
  store_mask(lanes, chosen);
  store(x, from);
  store(y, to);
  for (int64_t i = 0; i < kLanes<double>; ++i) {
    if (chosen[i]) to[i] = f(from[i]);
  }
  return load(to);
}

// --- the gamma function ---

// The distance of a >= 0 from the next integer below or above, whichever is nearer.
struct Nearest {
  Doubles distance;
  Lanes below;  // that integer is below a

  HWY_INLINE explicit Nearest(Doubles a) : distance(a - floor(a)), below(distance <= 0.5) {
    distance = where(below, distance, 1 - distance);
  }
};

Doubles lgamma_of(Doubles x) {
  const Doubles a = abs(x), log_a = log_of(a);
  const Lanes far = a >= 3, below_one = a < 1, negative = x < 0;
  // with lgamma(a) = lgamma(a + 1) - log(a) below 1
  const Doubles from_one = where(below_one, a, a - 1), from_two = from_one - 1;
  Doubles y = from_one * from_two * polynomial(special::kLgamma, from_two) - where(below_one, log_a, Doubles(0));
  if (any(far)) {
    const Doubles inverse = 1 / a, rest = inverse * polynomial(special::kLgammaFar, inverse * inverse);
    y = where(far, (a - 0.5) * log_a - a + 0.91893853320467274 + rest, y);  // log(2 pi) / 2
  }
  if (any(negative)) {  // Gamma(x) Gamma(-x) = -pi / (x sin(pi x))
    const Doubles d = Nearest(a).distance, sine = d * polynomial(special::kSine, d * d);
    y = where(negative, -(log_of(sine * a * 0.31830988618379067) + y), y);  // 1 / pi
    const Lanes cancelled = negative & (abs(y) < special::kCancels);
    if (any(cancelled)) y = again(cancelled, y, x, special::lgamma);
  }
  return where(a < special::kInf, y + 0, x * x);  // not -0
}

Doubles digamma_of(Doubles x) {
  const Doubles a = abs(x), inverse = 1 / a;
  const Lanes far = a >= 3, below_one = a < 1, negative = x < 0;
  // of a, or of a + 1 below 1
  const Doubles from_two = where(below_one, a - 1, a - 2);
  const Doubles from_zero =
      where(below_one, a - 0x1.d8b618d5af8fcp-2, a - 0x1.762d86356be3fp+0) - 0x1.b86a722197829p-54;
  Doubles y = from_zero * polynomial(special::kDigamma, from_two);
  if (any(far)) {
    const Doubles z = inverse * inverse;
    y = where(far, log_of(a) - 0.5 * inverse - z * polynomial(special::kDigammaFar, z), y);
  }
  y = y + where(below_one ^ negative, where(negative, inverse, -inverse), Doubles(0));
  if (any(negative)) {  // psi(-a) = psi(a) + 1 / a + pi cot(pi a)
    const Nearest near(a);
    const Doubles d = near.distance, cotangent = polynomial(special::kCotangent, d * d) / d;
    const Lanes pole = d == 0;
    y = where(negative, y + where(near.below, cotangent, -cotangent), y);
    y = where(negative & pole, Doubles(special::kNotANumber), y);
    const Lanes cancelled = negative & (abs(y) < special::kCancels);
    if (any(cancelled)) y = again(cancelled, y, x, special::digamma);
  }
  y = where(x == 0, copysign(Doubles(special::kInf), -x), y);
  return where((x == x) & (x != -special::kInf), y, Doubles(special::kNotANumber));
}

// --- Bessel functions ---

HWY_NOINLINE Doubles bessel_of(const special::Bessel& of, bool times_exp, Doubles x) {
  const Doubles a = abs(x);
  const Lanes far = a > 8.5;
  Doubles y = polynomial(of.near, a * a * 0.25);
  if (of.odd) y *= a;
  const Doubles power = exp_of(times_exp ? -a : where(far, a, Doubles(0)));
  if (times_exp) y *= power;
  if (any(far)) {
    const Doubles root = polynomial(of.far, 17 / a - 1) / sqrt(a);
    y = where(far, times_exp ? root : root * power, y);
  }
  y = where(a < special::kInf, y, where(x != x, x, times_exp ? Doubles(0) : a));
  return of.odd ? copysign(y, x) : y;
}

// y[i] = f(x[i]), in double.
HWY_NOINLINE void function_row(Doubles (*f)(Doubles), const float* from, float* to, int64_t n) {
  constexpr int64_t kWidth = kLanes<double>;
  const Doubles::Tag wide;
  const hn::Rebind<float, Doubles::Tag> narrow;
  float last[kWidth] = {};
  for (; n > 0; n -= kWidth, from += kWidth, to += kWidth) {
    const bool whole = n >= kWidth;
    if (!whole) std::copy_n(from, n, last);
    const Doubles value = f(Doubles(hn::PromoteTo(wide, hn::LoadU(narrow, whole ? from : last))));
    hn::StoreU(hn::DemoteTo(narrow, value.raw), narrow, whole ? to : last);
    if (!whole) std::copy_n(last, n, to);
  }
}

template <Doubles (*kFunction)(Doubles)>
void row_of(const void* const* x, void* y, int64_t n, const void*) {
  function_row(kFunction, static_cast<const float*>(x[0]), static_cast<float*>(y), n);
}

// --- the normal distribution, on vectors of floats ---

HWY_INLINE Vec<float> erfc_of(Vec<float> x) {
  const Vec<float> a = min(Vec<float>(10.5f), abs(x));  // it is 0 in float32 from 10.1 on
  // 1 - a - a (erf(a) / a - 1) up to 1, in a^2
  const Vec<float> near = fma(-a,
                              math::poly(a * a, 0.128379166f, -0.37612626f, 0.112835944f, -0.0268542115f,
                                         0.00518908724f, -0.00080168643f, 7.87587487e-05f),
                              1 - a);
  // e^(-a^2) h from there on, the square in two floats; h in a up to 2.5, then a h in 1 / a^2
  const Vec<float> square = a * a, rest = fma(a, a, -square);
  Vec<float> h = math::poly(a - 1.75f, 0.28497225f, -0.130976349f, 0.0557635203f, -0.0222599637f, 0.00840588566f,
                            -0.00302142696f, 0.00103148783f, -0.000341304927f, 0.000124815328f, -3.81819082e-05f);
  const Mask<float> far = a >= 2.5f;
  const bool any_far = any(far);
  if (any_far) {
    const Vec<float> inverse = 1 / a;
    h = where(far,
              math::poly(inverse * inverse, 0.564189553f, -0.282088995f, 0.422678232f, -1.0391134f, 3.26248074f,
                         -10.0730619f, 22.8096352f, -25.4458714f),
              h);
  }
  const math::Exp<float> power(-square);
  h = fma(h, fma(-rest, power.expm1_r + 1, power.expm1_r), h);
  if (any_far) h = where(far, h / a, h);
  const Vec<float> y = where(a < 1, near, power.times_power(h));
  return where(x < 0, 2 - y, y);
}

HWY_INLINE Vec<float> erfinv_of(Vec<float> y) {
  // y times a polynomial in w = -log(1 - y^2) up to 5, in its root from there on
  const Vec<float> w = -math::log_plus(fma(-y, y, Vec<float>(1)), Vec<float>(0));
  Vec<float> ratio = math::poly(w, 0.886226952f, 0.232013717f, 0.0115491655f, -0.00233527063f, -0.000126539468f,
                                4.40488038e-05f, 4.15066324e-06f, -2.00827139e-06f, 2.24304301e-07f, -8.93192631e-09f);
  const Mask<float> far = w > 5;
  if (HWY_UNLIKELY(any(far))) {
    const Vec<float> root =
        math::poly(sqrt(w) - 3.15f, 2.98341751f, 1.00406134f, 0.00666640559f, -0.00493655726f, 0.00347051863f,
                   -0.00233822176f, 0.00126943912f, -0.000335814519f, -0.0001572623f, 0.000116571522f);
    ratio = where(far, root, ratio);
  }
  const Vec<float> a = abs(y), edge = where(a == 1, copysign(Vec<float>(math::kInf<float>), y),
                                            Vec<float>(std::numeric_limits<float>::quiet_NaN()));
  return where(a < 1, y * ratio, edge);
}

template <Vec<float> (*kFunction)(Vec<float>)>
void row_of_floats(const void* const* x, void* y, int64_t n, const void*) {
  map_row<float>(n, static_cast<float*>(y), kFunction, static_cast<const float*>(x[0]));
}

template <const special::Bessel& kOrder, bool kTimesExp>
Doubles bessel(Doubles x) {
  return bessel_of(kOrder, kTimesExp, x);
}

const special::FloatKernels& special_kernels() {
  using special::kOrder0, special::kOrder1;
  static constexpr special::FloatKernels kernels = {
      .lgamma = row_of<lgamma_of>,
      .digamma = row_of<digamma_of>,
      .erfc = row_of_floats<erfc_of>,
      .erfinv = row_of_floats<erfinv_of>,
      .i0 = row_of<bessel<kOrder0, false>>,
      .i1 = row_of<bessel<kOrder1, false>>,
      .i0e = row_of<bessel<kOrder0, true>>,
      .i1e = row_of<bessel<kOrder1, true>>,
  };
  return kernels;
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {
namespace {

HWY_EXPORT(special_kernels);

}  // namespace

const special::FloatKernels& special::float_kernels() { return chosen<HWY_DISPATCH_TABLE(special_kernels)>(); }

}  // namespace tapegrad
#endif  // HWY_ONCE
