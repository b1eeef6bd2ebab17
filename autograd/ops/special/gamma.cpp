// The logarithm of the gamma function, and its derivatives, of single numbers.
//
// Stirling's series, and the recurrence and reflection formulas that lead to it: Abramowitz, Stegun 1964, chapter 6.
// Polygamma functions are the series 1 / x^(n+1) + 1 / (x + 1)^(n+1) + ..., summed by Euler and Maclaurin's formula.
// build: -O2
#include <tapegrad/autograd/ops/special/detail/numbers.h>
#include <tapegrad/autograd/ops/special/detail/stirling.h>

#include <array>
#include <limits>
#include <span>

namespace tapegrad::special {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

double poly(double, double c) { return c; }
template <class... C>
double poly(double x, double c, C... rest) {
  return c + x * poly(x, rest...);
}

// Next to a zero, where everything else cancels: Taylor's polynomial.
struct Zero {
  Two at;
  std::array<double, 5> c;  // from the first power on
};
constexpr std::array<Zero, 7> kLgammaZeros{{
    {{-0x1.3a7fc9600f86cp+1, -0x1.55f64f98af8d0p-55},
     {1.5156034480216574, 4.8583209516339965, 1.41129114307798, 8.7217825838153455, 5.8004145665998728}},
    {{-0x1.5fb410a1bd901p+1, 0x1.a19a96d2e6f85p-54},
     {-1.9143501856115988, 9.5751894757096672, -20.095134916842603, 62.627282713513715, -194.76615530344623}},
    {{-0x1.9260dbc9e59afp+1, -0x1.f717cd335a7b3p-53},
     {7.781884658131351, 25.831338372387957, 112.268986297176, 588.89074223800139, 3277.1937854953417}},
    {{-0x1.fa471547c2fe5p+1, -0x1.70d4561291237p-56},
     {-20.725060845803707, 251.71468258688941, -3730.6047156806126, 62588.08191876606, -1119991.5016655221}},
    {{-0x1.0284e78599581p+2, 0x1.e78c1e9e43cfep-53},
     {26.790480886140593, 324.25532293784715, 5465.6918207771341, 104145.55520145541, 2116669.4175775349}},
    {{-0x1.3f7577a6eeafdp+2, 0x1.5de5eab7f12cfp-53},
     {-116.53578161624363, 6995.235954894064, -551419.99785128841, 48911582.709059045, -4627747171.7392492}},
    {{-0x1.4086a57f0b6d9p+2, -0x1.95262b72ca9cap-55},
     {123.3621845633534, 7404.762432228682, 600556.16845281096, 54807486.356655858, 5335250743.3843851}},
}};
constexpr std::array<Zero, 21> kDigammaZeros{{
    {{0x1.762d86356be3fp+0, 0x1.b86a722197829p-54},
     {0.9676722454476212, -0.44276316898359208, 0.25849976095565103, -0.16394270544240652, 0.10782405069126237}},
    {{-0x1.02172b05ee260p-1, -0x1.2cd704405bff6p-57},
     {8.939798558792134, -0.80934546253065065, 32.258572064915505, -2.7610116487908281, 128.27342343090902}},
    {{-0x1.92d0cbc289d4ap+0, -0x1.2262d144a30e4p-56},
     {9.9415136159241762, -7.8025939747826278, 39.911910808498966, -54.820932871627427, 194.4376179574295}},
    {{-0x1.4e2c19f679e5ap+1, 0x1.c7b999bd14f47p-54},
     {10.84832879920919, -12.770725694247192, 51.217352382808855, -100.20363231920889, 306.843080795829}},
    {{-0x1.d1514b041b2a8p+1, 0x1.f71449c2a5446p-55},
     {11.650939359651861, -16.938337607821335, 63.16205964241572, -145.45199182008608, 440.37818718162464}},
    {{-0x1.29cea5c1ccbd0p+2, -0x1.25e92119a56a9p-52},
     {12.369637994669782, -20.636997462381604, 75.167012785774475, -191.19880243991764, 588.28388979266924}},
    {{-0x1.6ab2ca18e6ce3p+2, -0x1.da7ecae62c5bdp-59},
     {13.021406387509394, -24.010833566989898, 87.05344839974758, -237.41817939113608, 747.11491279047459}},
    {{-0x1.ab6b34398a4ffp+2, 0x1.9027e5b26e237p-52},
     {13.618851904195759, -27.138720475450622, 98.756290293919548, -283.98893609712138, 914.67248397411583}},
    {{-0x1.ec04b952a5368p+2, -0x1.37a62af51caacp-53},
     {14.171340633241149, -30.070057845407266, 110.25217734518726, -330.79280729792112, 1089.4014901692478}},
    {{-0x1.1643b3352a3f5p+3, -0x1.7ad951453a497p-52},
     {14.685967981672645, -32.83860036635177, 121.53535734197339, -377.731730126488, 1270.1370712167277}},
    {{-0x1.367c4b1f635e4p+3, -0x1.776d89f6e1950p-52},
     {15.168227153977934, -35.468840042171799, 132.60808169720988, -424.727902889821, 1455.9737802412419}},
    {{-0x1.56ae014434848p+3, -0x1.6a6ede6ee3df8p-51},
     {15.622457622439102, -37.97933883319623, 143.47631957847452, -471.72039977460884, 1646.1890422024633}},
    {{-0x1.76da2d93df103p+3, 0x1.efa7c6ac12c96p-51},
     {16.052149399699143, -40.384634336499815, 154.14769585798456, -518.6616407332815, 1840.1945779698208}},
    {{-0x1.9701cf864ba95p+3, -0x1.11f3c0c1a3c48p-51},
     {16.460153754774325, -42.696407680757993, 164.63045003699818, -565.51444187822801, 2037.5037766896562}},
    {{-0x1.b725a99120b77p+3, 0x1.05099936de9a6p-51},
     {16.848832388781286, -44.924239255556067, 174.9328972708079, -612.24970359698216, 2237.7088441714745}},
    {{-0x1.d74652d341c14p+3, -0x1.51bec0981dfc3p-55},
     {17.220165296986988, -47.07611954114229, 185.06314913501024, -658.84463535158307, 2440.4642728894241}},
    {{-0x1.f76442d8ce088p+3, 0x1.e69f83449d240p-54},
     {17.575830292043431, -49.158806944888887, 195.02897371403668, -705.28139839028722, 2645.474571637983}},
    {{-0x1.0bbfecd60fcd2p+4, -0x1.5b03d79730b50p-50},
     {17.917262680194938, -51.178086014783638, 204.83773220783959, -751.54606523671453, 2852.4849610979586}},
    {{-0x1.1bccb2c0db753p+4, -0x1.277b1b18b6e89p-51},
     {18.245700765693552, -53.13895848640481, 214.49635803319106, -797.62781746009057, 3061.2741906759297}},
    {{-0x1.2bd89365e9bbcp+4, 0x1.bf2dff73ec7d7p-51},
     {18.562221053975328, -55.045787687327447, 224.01135944078396, -843.51832282521889, 3271.6489069981685}},
    {{-0x1.3be3a99ba082fp+4, 0x1.7706c7df831a0p-51},
     {18.867765844131249, -56.902409718374784, 233.38883483201724, -889.21124812715641, 3483.4391793657678}},
}};

// Whether x is next to one of the zeros; `y` is the value.
bool next_to_zero(std::span<const Zero> zeros, double x, double* y) {
  for (const Zero& zero : zeros) {
    const double d = (x - zero.at.high) - zero.at.low;
    const auto& c = zero.c;
    if (std::abs(d) > 1e-5 || std::abs(d * c[1]) > 1e-5 * std::abs(c[0])) continue;
    *y = d * poly(d, c[0], c[1], c[2], c[3], c[4]);
    return true;
  }
  return false;
}

bool is_whole(double x) { return std::floor(x) == x; }

// The distance of a >= 0, which is not whole, from the next integer below or above, whichever is nearer.
struct Nearest {
  double distance;
  bool below;  // that integer is below a
};
Nearest fraction_of(double a) {
  const double above = std::ceil(a) - a, below = a - std::floor(a);
  return below <= 0.5 ? Nearest{below, true} : Nearest{above, false};
}

// --- lgamma ---

// Series around 1 and 2, where the function is 0. |t| <= 1 / 64.
double lgamma_of_one_plus(double t) {
  const double rest =
      poly(t, 0.8224670334241132, -0.40068563438653143, 0.27058080842778454, -0.20738555102867398, 0.16955717699740819,
           -0.14404989676884611, 0.12550966952474304, -0.11133426586956469, 0.10009945751278181, -0.090954017145829041);
  return -t * kEuler.high + (t * t * rest - t * kEuler.low);
}
double lgamma_of_two_plus(double t) {
  const double rest = poly(t, 0.3224670334241132, -0.067352301053198102, 0.020580808427784546, -0.0073855510286739857,
                           0.0028905103307415234, -0.001192753911703261, 0.00050966952474304245,
                           -0.00022315475845357939, 9.9457512781808531e-05, -4.4926236738133142e-05);
  return t * 0x1.b0ee6072093cep-2 + t * t * rest;
}

Two lgamma_of(double x) {
  constexpr double kSmall = 1.0 / 64, kLarge = 0x1p60;
  if (std::abs(x - 1) <= kSmall) return lgamma_of_one_plus(x - 1);
  if (std::abs(x - 2) <= kSmall) return lgamma_of_two_plus(x - 2);
  if (x > 2.6e305) return kInfinity;
  if (x > kLarge) return scaled((log_of(Two(x)) - 1) * std::ldexp(x, -60), 60);
  if (x > 0) return log_gamma(Two(x));
  const double a = -x;
  if (is_whole(a)) return kInfinity;
  if (a < 1 / kLarge) return -fixed::log(a);
  double y = 0;
  if (next_to_zero(kLgammaZeros, x, &y)) return y;
  // Gamma(x) Gamma(-x) = -pi / (x sin(pi x))
  const Two sine = half_turn(fraction_of(a).distance).sine;
  return -(log_of(sine * a / kPi) + log_gamma(Two(a)));
}

// --- digamma ---

Two digamma_of(double x) {
  constexpr double kLarge = 0x1p60;
  if (x == 0) return std::copysign(kInfinity, -x);
  if (std::abs(x) < 1 / kLarge) return -1 / x;
  if (x > kLarge) return fixed::log(x);
  double y = 0;
  if (next_to_zero(kDigammaZeros, x, &y)) return y;
  if (x > 0) return digamma_of_positive(Two(x));
  const double a = -x;
  if (is_whole(a)) return kNaN;
  // psi(-a) = psi(a) + 1 / a + pi cot(pi a)
  const auto [distance, below] = fraction_of(a);
  const HalfTurn turn = half_turn(distance);
  const Two cotangent = kPi * turn.cosine / turn.sine;
  return digamma_of_positive(Two(a)) + Two(1) / a + (below ? cotangent : -cotangent);
}

// --- polygamma ---

// n! / x^(n + 1)
template <class R>
R power_term(int64_t n, R x) {
  const R inverse = R(1) / x;
  R y = inverse;
  for (int64_t j = n; j > 0 && rounded(y) != 0; --j) {
    if (rounded(y) > 1e280) return kInfinity;
    y = y * (inverse * static_cast<double>(j));
  }
  return y;
}

// The sum of n! / (x + k)^(n + 1) over k >= 0, for x > 0.
template <class R>
R power_sum(int64_t n, R x) {
  if (!(rounded(x) > 0x1p-900)) return kInfinity;
  const auto s = static_cast<double>(n + 1);
  R sum = 0;
  for (const double far = kFar<R> + 0.75 * s; rounded(x) < far; x = x + 1) {
    const R term = power_term(n, x);
    if (!(rounded(term) < kInfinity)) return kInfinity;
    sum = sum + term;
    if (rounded(term) < 1e-36 * rounded(sum)) return sum;
  }
  // (n-1)! / x^n (1 + n / x (1/2 + s B2 / 2! / x + s (s+1) (s+2) B4 / 4! / x^3 + ...)); n! / x^s may underflow
  const R last = power_term(n - 1, x), inverse = R(1) / x;
  R tail = 0.5, factor = inverse * s;
  for (int k = 1; k <= kTerms<R>; ++k) {
    factor = factor / (2.0 * k * (2 * k - 1));
    tail = tail + factor * bernoulli<R>(k, 1);
    factor = factor * inverse * (s + 2 * k - 1) * inverse * (s + 2 * k);
  }
  return sum + last * (tail * (inverse * static_cast<double>(n)) + 1.0);
}

// The same for every x that is not a pole.
template <class R>
R power_sum_anywhere(int64_t n, double x) {
  if (x > 0) return power_sum<R>(n, R(x));
  // With x = f - m, 0 < f < 1: the terms from f on, and the m terms before, which are those from 1 - f to m - f.
  const double low = x - std::floor(x), high = std::ceil(x) - x;
  const R f = low < 0.5 ? R(low) : R(1) - high, g = low < 0.5 ? R(1) - low : R(high);
  const R from_f = power_sum<R>(n, f), from_g = power_sum<R>(n, g);
  if (!(rounded(from_f) < kInfinity)) return kInfinity;
  if (!(rounded(from_g) < kInfinity)) return n % 2 == 1 ? kInfinity : -kInfinity;
  const R before = from_g - power_sum<R>(n, R(1) - x);
  return n % 2 == 1 ? from_f + before : from_f - before;
}

template <class R>
R polygamma_of(int64_t n, double x) {
  if (x <= 0 && is_whole(x)) return n % 2 == 1 ? kInfinity : -kInfinity;
  if (x == kInfinity) return 0;
  if (x > 1e280) return n == 1 ? 1 / x : 0;  // (n - 1)! / x^n
  const R sum = power_sum_anywhere<R>(n, x);
  return n % 2 == 1 ? sum : -sum;
}

float narrow(double y) { return static_cast<float>(y); }

}  // namespace

double lgamma(double x) {
  if (!(std::abs(x) < kInfinity)) return x * x;
  return rounded(lgamma_of(x));
}

double digamma(double x) {
  if (!(std::abs(x) < kInfinity)) return x > 0 ? x : kNaN;
  return rounded(digamma_of(x));
}

double polygamma(int64_t n, double x) {
  if (!(x > -kInfinity)) return kNaN;
  return rounded(polygamma_of<Two>(n, x));
}
// Even orders cancel between the poles.
float polygamma(int64_t n, float x) {
  if (!(x > -HUGE_VALF)) return narrow(kNaN);
  return narrow(x < 0 ? polygamma(n, double{x}) : rounded(polygamma_of<double>(n, x)));
}

}  // namespace tapegrad::special
