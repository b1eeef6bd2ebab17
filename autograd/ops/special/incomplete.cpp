// The integral of the gamma density and its complement, of single numbers.
//
// P(a, x) by its series below a + 3 sqrt(a) + 4, Q(a, x) = 1 - P(a, x) by its continued fraction above. For large a and
// x near a both by the uniform expansion of Temme 1979, whose coefficients follow from DLMF 8.12.
// build: -O2
#include <tapegrad/autograd/ops/special/detail/fraction.h>
#include <tapegrad/autograd/ops/special/detail/numbers.h>
#include <tapegrad/autograd/ops/special/detail/stirling.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

namespace tapegrad::special {
namespace {

template <class R>
struct Parts {
  R lower, upper;  // P and Q
};

// x^a e^-x / Gamma(a + 1)
Two density_over_a(double a, double x) { return exp_of(log_of(Two(x)) * a - Two(x) - log_gamma(Two(a) + 1)); }

Parts<Two> by_series(double a, double x) {
  const Two first = density_over_a(a, x);
  if (rounded(first) == 0) return {0, 1};
  Two term = 1, sum = 1;
  const double enough = 1e-24 * std::min(1.0, a);  // of Q, which may be about a
  for (int k = 1; rounded(term) > enough * rounded(sum); ++k) {
    term = term * x / (Two(a) + static_cast<double>(k));
    sum = sum + term;
  }
  const Two p = first * sum;
  return {p, Two(1) - p};
}

Parts<Two> by_fraction(double a, double x) {
  const Two first = density_over_a(a, x) * a;
  if (rounded(first) == 0) return {1, 0};
  const Two q = first * upper_fraction(Two(a), Two(x));
  return {Two(1) - q, q};
}

// For a below 1e-9, where Q is a times a number, and x < 5: P = x^a / Gamma(a + 1) (1 + a S) with
// S = -x / (1! (a + 1)) + x^2 / (2! (a + 2)) - ..., and log(x^a / Gamma(a + 1)) = a L.
[[gnu::cold]] Parts<Two> by_small_a(double a, double x) {
  const Two l = log_of(Two(x)) + kEuler - 0.8224670334241132 * a;  // pi^2 / 12
  Two power = 1, s = 0;
  for (int k = 1; k < 60; ++k) {
    power = -(power * x / static_cast<double>(k));
    s = s + power / (Two(a) + static_cast<double>(k));
  }
  const Two u = l * a;
  const Two q = -(l * (u * (u / 6 + 0.5) + 1) + s * (u * (u / 2 + 1) + 1)) * a;
  return {Two(1) - q, q};
}

// The rows are the coefficients of a^0, a^-1, ... as polynomials in eta.
constexpr std::array<std::array<double, 18>, 7> kUniform{{
    {{-0.3333333333333333, 0.08333333333333333, -0.014814814814814815, 0.0011574074074074073, 0.0003527336860670194,
      -0.0001787551440329218, 3.919263178522438e-05, -2.185448510679992e-06, -1.85406221071516e-06,
      8.296711340953087e-07, -1.7665952736826078e-07, 6.707853543401498e-09, 1.0261809784240309e-08,
      -4.382036018453353e-09, 9.14769958223679e-10, -2.5514193994946248e-11, -5.830772132550426e-11,
      2.4361948020667415e-11}},
    {{-0.001851851851851852, -0.003472222222222222, 0.0026455026455026454, -0.0009902263374485596,
      0.00020576131687242798, -4.018775720164609e-07, -1.8098550334489977e-05, 7.64916091608111e-06,
      -1.6120900894563446e-06, 4.647127802807434e-09, 1.378633446915721e-07, -5.752545603517705e-08,
      1.1951628599778148e-08, -1.7543241719747647e-11, -1.0091543710600413e-09, 4.162792991842583e-10,
      -8.56390702649298e-11, 6.067215101604758e-14}},
    {{0.004133597883597883, -0.0026813271604938273, 0.0007716049382716049, 2.0093878600823047e-06,
      -0.0001073665322636516, 5.2923448829120125e-05, -1.2760635188618728e-05, 3.423578734096138e-08,
      1.3721957309062934e-06, -6.298992138380055e-07, 1.4280614206064242e-07, -2.0477098421990866e-10,
      -1.409252991086752e-08, 6.228974084922022e-09, -1.3670488396617114e-09, 9.428356159014678e-13,
      1.2872252400089318e-10, -5.5645956134363323e-11}},
    {{0.0006494341563786008, 0.00022947209362139917, -0.0004691894943952557, 0.00026772063206283885,
      -7.561801671883977e-05, -2.396505113867297e-07, 1.1082654115347302e-05, -5.6749528269915965e-06,
      1.4230900732435883e-06, -2.7861080291528143e-11, -1.6958404091930278e-07, 8.099464905388083e-08,
      -1.9111168485973655e-08, 2.3928620439808118e-12, 2.0620131815488797e-09, -9.460496661855133e-10,
      2.1541049775774907e-10, -1.388823336813903e-14}},
    {{-0.0008618882909167117, 0.0007840392217200666, -0.0002990724803031902, -1.4638452578843418e-06,
      6.641498215465122e-05, -3.968365047179435e-05, 1.1375726970678419e-05, 2.507497226237533e-10,
      -1.6954149536558305e-06, 8.907507532205309e-07, -2.292934834000805e-07, 2.956794137544049e-11,
      2.8865829742708783e-08, -1.4189739437803219e-08, 3.4463580499464896e-09, -2.3024517174528067e-13,
      -3.9409233028046403e-10, 1.86023389685045e-10}},
    {{-0.00033679855336635813, -6.972813758365857e-05, 0.0002772753244959392, -0.00019932570516188847,
      6.797780477937208e-05, 1.419062920643967e-07, -1.3594048189768693e-05, 8.018470256334202e-06,
      -2.291481176508095e-06, -3.252473551298454e-10, 3.4652846491085265e-07, -1.8447187191171344e-07,
      4.8240967037894184e-08, -1.7989466721743514e-14, -6.306194500013523e-09, 3.162417628774568e-09,
      -7.840924253697429e-10, 5.192679165254041e-15}},
    {{0.0005313079364639922, -0.0005921664373536939, 0.0002708782096718045, 7.902353232660328e-07,
      -8.153969367561969e-05, 5.61168275310625e-05, -1.8329116582843375e-05, -3.0796134506033047e-09,
      3.465155368803609e-06, -2.0291327396058603e-06, 5.788792863149004e-07, 2.338630673826657e-13,
      -8.828600746330484e-08, 4.7435958880408125e-08, -1.2545415020710383e-08, 8.649648858010293e-14,
      1.6846058979264062e-09, -8.575492823577594e-10}},
}};

// eta^2 / 2 = mu - log(1 + mu), mu = (x - a) / a.
template <class R>
R half_square_of(R mu) {
  if (std::abs(rounded(mu)) >= 0.02) return mu - log_of(mu + 1);
  R half_square = 0;
  for (int k = 14; k > 1; --k) half_square = (R(1) / static_cast<double>(k) - half_square) * mu;
  return half_square * mu;
}

bool is_uniform(double a, double x) { return a >= 200 && std::abs(x - a) < 0.3 * a; }

template <class R>
Parts<R> by_uniform(double a, double x) {
  const R half_square = half_square_of((R(x) - a) / a);
  const bool below = x < a;
  const R eta = root_of(half_square * 2) * (below ? -1.0 : 1.0);
  double sum = 0;
  for (std::size_t k = kUniform.size(); k-- > 0;) {
    double row = 0;
    for (std::size_t n = kUniform[k].size(); n-- > 0;) row = row * rounded(eta) + kUniform[k][n];
    sum = sum / a + row;
  }
  const R exponent = half_square * a;
  const R rest = exp_of(exponent * -1.0) * (sum / std::sqrt(a)) * 0.3989422804014327;  // 1 / sqrt(2 pi)
  const R half = erfc_of(root_of(exponent)) * 0.5;
  if (below) return {half - rest, R(1) - (half - rest)};
  return {R(1) - (half + rest), half + rest};
}

// For a > 0 and x > 0.
Parts<Two> parts_of(double a, double x) {
  if (a > 1e36) return x < a ? Parts<Two>{0, 1} : x > a ? Parts<Two>{1, 0} : Parts<Two>{0.5, 0.5};
  if (x > 1e40) return {1, 0};
  if (is_uniform(a, x)) return by_uniform<Two>(a, x);
  return x < a + 3 * std::sqrt(a) + 4 ? by_series(a, x) : by_fraction(a, x);
}

// P(a, x) or Q(a, x) in the precision of T.
template <class T>
T gamma_part(T a, T x, bool upper) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity(), kNaN = std::numeric_limits<T>::quiet_NaN();
  if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (a == kInfinity && x == kInfinity)) return kNaN;
  if (a == 0 || x == kInfinity) return upper ? 0 : 1;
  if (x == 0 || a == kInfinity) return upper ? 1 : 0;
  if (a < T(1e-9) && x < 5) {
    const Parts<Two> parts = by_small_a(a, x);
    return static_cast<T>(rounded(upper ? parts.upper : parts.lower));
  }
  if (sizeof(T) == sizeof(float) && a < T(1e4) && is_uniform(a, x)) {
    const Parts<double> parts = by_uniform<double>(a, x);
    return static_cast<T>(upper ? parts.upper : parts.lower);
  }
  const Parts<Two> parts = parts_of(a, x);
  return static_cast<T>(rounded(upper ? parts.upper : parts.lower));
}

// --- dx / da of x with a fixed P(a, x): -(dP / da) over the density (Figurnov, Mohamed, Mnih 2018) ---

// P is the sum of x^(a+k) e^-x / Gamma(a + k + 1), so this is x / a times the sum of t(k) (psi(a + k + 1) - log(x))
// with t(k) = x^k / ((a + 1) ... (a + k)).
double slope_by_series(double a, double x) {
  Two of = digamma_of_positive(Two(a) + 1) - log_of(Two(x)), term = 1, sum = of;
  for (int k = 1; k < 100'000; ++k) {
    const Two next = Two(a) + static_cast<double>(k);
    term = term * x / next;
    of = of + Two(1) / next;
    const Two part = term * of;
    sum = sum + part;
    if (rounded(next) > x && std::abs(rounded(part)) < 1e-24 * std::abs(rounded(sum))) break;
  }
  return rounded(sum * x / a);
}

bool is_far_above(double a, double x) { return x > a + 6 * std::sqrt(a) + 30; }

// For x far above a, where P is 1 to the last digit: 1 - P is the density times S = 1 + (a - 1) / x +
// (a - 1) (a - 2) / x^2 + ..., and the derivative of the density's logarithm is log(x) - psi(a).
double slope_far_above(double a, double x) {
  double term = 1, term_slope = 0, sum = 1, slope = 0;
  for (int k = 1; k < 1000 && std::abs(term) + std::abs(term_slope) > 1e-18 && k < a + x; ++k) {
    term_slope = (term_slope * (a - k) + term) / x;
    term *= (a - k) / x;
    sum += term, slope += term_slope;
  }
  return (fixed::log(x) - digamma(a)) * sum + slope;
}

// The derivative of the uniform expansion.
double slope_by_uniform(double a, double x) {
  const Two mu = (Two(x) - a) / a, half_square = half_square_of(mu);
  const double log = rounded(mu - half_square);  // of x / a
  const double eta = rounded(root_of(half_square * 2)) * (x < a ? -1 : 1);
  const double eta_slope = (eta == 0 ? -1 : -rounded(mu) / eta) / a;
  double sum = 0, slope = 0;  // of the coefficients, and its derivative
  double power = 1;
  for (std::size_t k = 0; k < kUniform.size(); ++k, power /= a) {
    double row = 0, row_slope = 0;
    for (std::size_t n = kUniform[k].size(); n-- > 0;) {
      row_slope = row_slope * eta + row;
      row = row * eta + kUniform[k][n];
    }
    sum += row * power;
    slope += (row_slope * eta_slope - static_cast<double>(k) * row / a) * power;
  }
  const double main = eta_slope + eta / (2 * a), rest = (log * sum - sum / (2 * a) + slope) / a;
  const double stirling = 1 + (1.0 / 12 + (1.0 / 288 - (139.0 / 51840 + 571.0 / 2488320 / a) / a) / a) / a;
  return -x * stirling * (main - rest);
}

}  // namespace

double gamma_slope(double a, double x) {
  if (!(a > 0 && x > 0) || !(a < 1e36 && x < 1e36)) return std::numeric_limits<double>::quiet_NaN();
  if (is_uniform(a, x)) return slope_by_uniform(a, x);
  return is_far_above(a, x) ? slope_far_above(a, x) : slope_by_series(a, x);
}

double gamma_density(double a, double x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
  if (!(a >= 0 && x >= 0) || (a == kInfinity && x == kInfinity)) return kNaN;
  if (x == 0) return a < 1 ? kInfinity : a == 1 ? 1 : 0;
  if (a == 0 || a > 1e36 || x > 1e36) return 0;
  // with the power of a - 1, which may be far from the density's size, in the exponent
  const Two exponent = log_of(Two(x)) * (Two(a) - 1) - Two(x) - (a < 1 ? log_gamma(Two(a) + 1) : log_gamma(Two(a)));
  return a < 1 ? rounded(exp_of(exponent) * a) : rounded(exp_of(exponent));
}
float gamma_density(float a, float x) { return static_cast<float>(gamma_density(double{a}, double{x})); }

double igamma(double a, double x) { return gamma_part(a, x, false); }
float igamma(float a, float x) { return gamma_part(a, x, false); }
double igammac(double a, double x) { return gamma_part(a, x, true); }
float igammac(float a, float x) { return gamma_part(a, x, true); }

}  // namespace tapegrad::special
