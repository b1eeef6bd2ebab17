// Sums of two doubles where one does not suffice; Taylor polynomials near the points of small tables. Neither fused
// multiply-adds, which the compiler may call from the C library, nor functions with rounding of its own.
// build: -O2
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/internal/log_table.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <utility>

namespace tapegrad::fixed {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

// --- sums of two doubles: high is their sum, rounded ---

struct Two {
  double high, low;
  double sum() const { return high + low; }
};

// Exact (Knuth 1969).
Two add(double a, double b) {
  const double s = a + b, of_b = s - a;
  return {s, (a - (s - of_b)) + (b - of_b)};
}

// The upper 26 bits, and the rest (Veltkamp 1968); below 2^996.
Two halves(double a) {
  const double c = a * 0x1.0000002p27, high = c - (c - a);
  return {high, a - high};
}

// Exact where nothing underflows (Dekker 1971).
Two multiply(double a, double b) {
  const Two x = halves(a), y = halves(b);
  const double p = a * b;
  return {p, ((x.high * y.high - p) + x.high * y.low + x.low * y.high) + x.low * y.low};
}

Two multiply(Two a, Two b) {
  const Two p = multiply(a.high, b.high);
  return add(p.high, p.low + (a.high * b.low + a.low * b.high));
}

// c0 + c1 x + c2 x^2 + ...
double poly(double, double c) { return c; }
template <class... C>
double poly(double x, double c, C... rest) {
  return c + x * poly(x, rest...);
}

double nearest(double x) { return (x + 0x1.8p52) - 0x1.8p52; }  // for |x| < 2^51

// --- exp ---

constexpr std::array<Two, 16> kPowers{{
    // 2^(j / 16)
    {0x1p+0, 0},
    {0x1.0b5586cf9890fp+0, 0x1.8a62e4adc610bp-54},
    {0x1.172b83c7d517bp+0, -0x1.19041b9d78a76p-55},
    {0x1.2387a6e756238p+0, 0x1.9b07eb6c70573p-54},
    {0x1.306fe0a31b715p+0, 0x1.6f46ad23182e4p-55},
    {0x1.3dea64c123422p+0, 0x1.ada0911f09ebcp-55},
    {0x1.4bfdad5362a27p+0, 0x1.d4397afec42e2p-56},
    {0x1.5ab07dd485429p+0, 0x1.6324c054647adp-54},
    {0x1.6a09e667f3bcdp+0, -0x1.bdd3413b26456p-54},
    {0x1.7a11473eb0187p+0, -0x1.41577ee04992fp-55},
    {0x1.8ace5422aa0dbp+0, 0x1.6e9f156864b27p-54},
    {0x1.9c49182a3f090p+0, 0x1.c7c46b071f2bep-56},
    {0x1.ae89f995ad3adp+0, 0x1.7a1cd345dcc81p-54},
    {0x1.c199bdd85529cp+0, 0x1.11065895048ddp-55},
    {0x1.d5818dcfba487p+0, 0x1.2ed02d75b3707p-55},
    {0x1.ea4afa2a490dap+0, -0x1.e9c23179c2893p-54},
}};

// e^(x.high + x.low) = 2^(k / 16) e^r with |r| <= ln(2) / 32.
double exp_of(Two x) {
  if (!(x.high < 710)) return x.high > 0 ? kInfinity : x.high;  // NaN, too
  if (x.high < -746) return 0;
  const double k = nearest(x.high * 0x1.71547652b82fep+4);
  const auto whole = static_cast<int>(k);
  const Two power = kPowers[static_cast<std::size_t>(whole & 15)];
  // ln(2) / 16 in two parts; k times the first is exact
  const Two r = add(x.high - k * 0x1.62e42fefa0000p-5, x.low - k * 0x1.cf79abc9e3b3ap-44);
  const double s = r.high;
  const double square = s * s * poly(s, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320);
  const double y = power.high + (power.low + power.high * (s + (r.low + square)));
  return std::ldexp(y, whole >> 4);
}

// --- log ---

// log(x) for 0 < x < infinity: m c = 1 + r.
Two log_of(double x) {
  const bool small = x < std::numeric_limits<double>::min();
  const Reduced f = reduced(small ? x * 0x1p54 : x);
  const double k = small ? f.k - 54 : f.k;
  const LogEntry& entry = *f.entry;
  const Two parts = halves(f.m);
  const Two r = add(parts.high * entry.c - 1, parts.low * entry.c);
  // log(1 + r) = r - r^2 / 2 + r^3 (1 / 3 - r / 4 + ...)
  const double s = r.high;
  const Two square = multiply(s, s);
  const double rest =
      s * square.high *
      poly(s, 1.0 / 3, -1.0 / 4, 1.0 / 5, -1.0 / 6, 1.0 / 7, -1.0 / 8, 1.0 / 9, -1.0 / 10, 1.0 / 11, -1.0 / 12);
  // ln(2) in two parts; the sum of k times the first and the table's is exact
  const Two a = add(k * 0x1.62e42fefa2000p-1 + entry.high, s), b = add(a.high, -0.5 * square.high);
  const double low = (k * 0x1.9ef35793c7673p-41 + entry.low) + (r.low - s * r.low - 0.5 * square.low) + a.low + b.low;
  const Two c = add(b.high, rest);
  return add(c.high, c.low + low);
}

// The same, high alone, with a square that is rounded: within 2^-61 (the square is below 2^-10, and log_of within
// 2^-66). Where this leaves the rounding open, it is NaN.
double log_tried(double x) {
  const Reduced f = reduced(x);
  const LogEntry& entry = *f.entry;
  const Two parts = halves(f.m);
  const Two r = add(parts.high * entry.c - 1, parts.low * entry.c);
  const double s = r.high, square = s * s, fourth = square * square;
  const double rest = ((-1.0 / 2 + s * (1.0 / 3)) + square * (-1.0 / 4 + s * (1.0 / 5))) +
                      fourth * (((-1.0 / 6 + s * (1.0 / 7)) + square * (-1.0 / 8 + s * (1.0 / 9))) +
                                fourth * ((-1.0 / 10 + s * (1.0 / 11)) - square * (1.0 / 12)));
  const Two a = add(f.k * 0x1.62e42fefa2000p-1 + entry.high, s);
  const double low = (((f.k * 0x1.9ef35793c7673p-41 + entry.low) + (r.low - s * r.low)) + a.low) + square * rest;
  const double y = a.high + (low + 0x1p-61);
  return y == a.high + (low - 0x1p-61) ? y : kNaN;
}

// --- sin and cos ---

struct Turn {
  Two r;         // |r| <= pi / 4 and a little
  int quarters;  // x = r + quarters pi / 2, modulo 4
};

// The binary digits of 2 / pi.
constexpr std::array<uint64_t, 23> kTwoOverPi{
    // 128 zeros
    0, 0,
    // and then
    0xa2f9836e4e441529u, 0xfc2757d1f534ddc0u, 0xdb6295993c439041u, 0xfe5163abdebbc561u, 0xb7246e3a424dd2e0u,
    0x06492eea09d1921cu, 0xfe1deb1cb129a73eu, 0xe88235f52ebb4484u, 0xe99c7026b45f7e41u, 0x3991d639835339f4u,
    0x9c845f8bbdf9283bu, 0x1ff897ffde05980fu, 0xef2f118b5a0a6d1fu, 0x6d367ecf27cb09b7u, 0x4f463f669e5fea2du,
    0x7527bac7ebe5f17bu, 0x3d0739f78a5292eau, 0x6bfb5fb11f8d5d08u, 0x56033046fc7b6babu, 0xf0cfbc209af4361du,
    0xa9e391615ee61b08u};

constexpr Two kQuarterTurn{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};  // pi / 2

// Payne and Hanek 1983, for |x| >= 2^20: of x 2 / pi = M 2^e (2 / pi) only the digits between 2 and 2^-190 matter.
Turn large_turn(double x) {
  using Wide = unsigned __int128;
  const uint64_t word = std::bit_cast<uint64_t>(std::abs(x));
  const uint64_t mantissa = (word & 0xfffffffffffffu) | 0x10000000000000u;
  const int first = static_cast<int>(word >> 52) - 1075 - 1 + 127;  // of the digits above, which begin with 128 zeros
  const auto digits = [first](int i) {                              // 64 of them
    const auto at = static_cast<std::size_t>(first / 64 + i);
    const int shift = first % 64;
    return shift == 0 ? kTwoOverPi[at] : kTwoOverPi[at] << shift | kTwoOverPi[at + 1] >> (64 - shift);
  };
  const Wide low = Wide{mantissa} * digits(2), middle = Wide{mantissa} * digits(1) + (low >> 64);
  const uint64_t top = mantissa * digits(0) + static_cast<uint64_t>(middle >> 64);
  int quarters = static_cast<int>(top >> 62);
  // the fraction in 128 bits, as a number from -1/2 to 1/2
  Wide fraction = (Wide{top} << 64 | static_cast<uint64_t>(middle)) << 2 | static_cast<uint64_t>(low) >> 62;
  const bool above = fraction >> 127 != 0;
  if (above) fraction = ~fraction + 1, ++quarters;
  const int zeros = std::countl_zero(static_cast<uint64_t>(fraction >> 64));
  fraction <<= zeros;
  const auto high = static_cast<double>(static_cast<uint64_t>(fraction >> 75)),
             rest = static_cast<double>(static_cast<uint64_t>(fraction >> 11));
  const Two scaled{std::ldexp(high, -53 - zeros), std::ldexp(rest, -117 - zeros)};
  const Two r = multiply(scaled, kQuarterTurn);
  const bool minus = above != (x < 0);
  return {minus ? Two{-r.high, -r.low} : r, x < 0 ? -quarters : quarters};
}

Turn turn(double x) {
  if (!(std::abs(x) < 0x1p20)) return large_turn(x);
  const double n = nearest(x * 0x1.45f306dc9c883p-1);
  // pi / 2 in parts of 33 bits: n times each is exact
  const Two a = add(x - n * 0x1.921fb54400000p+0, -n * 0x1.0b4611a600000p-34),
            b = add(a.high, -n * 0x1.3198a2e000000p-69);
  return {add(b.high, (a.low + b.low) - n * 0x1.b839a252049c1p-104), static_cast<int>(n)};
}

// The square of r.
Two square_of(Two r) { return multiply(r, r); }

// r - r^3 / 6 + r^5 (1 / 120 - ...)
Two sine_of(Two r) {
  const Two z = square_of(r), cube = multiply(multiply(z, r), {0x1.5555555555555p-3, 0x1.5555555555555p-57});
  const double rest = z.high * z.high * r.high *
                      poly(z.high, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800.0,
                           -1.0 / 1307674368000.0, 1.0 / 355687428096000.0);
  const Two a = add(r.high, -cube.high), b = add(a.high, rest);
  return add(b.high, b.low + (a.low + (r.low - cube.low)));
}

// 1 - r^2 / 2 + r^4 (1 / 24 - ...)
Two cosine_of(Two r) {
  const Two z = square_of(r);
  const double rest = z.high * z.high *
                      poly(z.high, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600,
                           -1.0 / 87178291200.0, 1.0 / 20922789888000.0, -1.0 / 6402373705728000.0);
  const Two a = add(1, -0.5 * z.high), b = add(a.high, rest);
  return add(b.high, b.low + (a.low - 0.5 * z.low));
}

// The sine of r + quarters pi / 2.
Two sine_of(Turn t) {
  const Two y = t.quarters & 1 ? cosine_of(t.r) : sine_of(t.r);
  return t.quarters & 2 ? Two{-y.high, -y.low} : y;
}

// --- pow ---

bool is_whole(double y) { return std::trunc(y) == y; }
bool is_odd(double y) { return is_whole(y) && std::abs(y) < 0x1p53 && (static_cast<int64_t>(y) & 1) != 0; }

double power_of_positive(double x, double y) {
  const Two log = log_of(x);
  const double rough = log.high * y;
  if (!(std::abs(rough) < 1000)) return rough > 0 ? kInfinity : 0;
  const Two p = multiply(log.high, y);
  return exp_of(add(p.high, p.low + log.low * y));
}

// --- erf ---

// e^(x^2) erfc(x) for 1/2 <= x <= 6: Chebyshev's interpolation in (x - 7/4) / (x + 7/4).
double scaled_erfc(double x) {
  return poly((x - 1.75) / (x + 1.75), 0.2849722347374364, -0.45841720930069824, 0.2246872592661201,
              -0.04660556814158336, -0.011122540473953304, 0.005636963115280261, 0.0018349842218967137,
              -0.0006405053760336414, -0.0004578933769914366, 1.7432783463550876e-06, 9.651274284630564e-05,
              3.534948161895207e-05, -8.150621324399685e-06, -1.2460545639276055e-05, -4.02155293443416e-06,
              1.2736771518257557e-06, 1.9026638156251723e-06, 6.616025917896485e-07, -2.812701179981345e-07,
              -2.547951592839277e-07);
}

// The same for x > 6, by its continued fraction.
double far_scaled_erfc(double x) {
  double fraction = x;
  for (int k = 24; k > 0; --k) fraction = x + 0.5 * k / fraction;
  return 0.56418958354775629 / fraction;  // 1 / sqrt(pi)
}

double exp_of_minus_square(double x) {
  if (x > 28) return 0;
  const Two z = multiply(x, x);
  return exp_of({-z.high, -z.low});
}

}  // namespace

double exp(double x) { return exp_of({x, 0}); }

double log(double x) {
  if (x >= std::numeric_limits<double>::min() && x < kInfinity) {
    const double y = log_tried(x);
    return y == y ? y : log_of(x).high;
  }
  if (!(x > 0)) return x == 0 ? -kInfinity : kNaN;
  return x < kInfinity ? log_of(x).high : x;
}

// As above, but for double's last four bits, which are enough for a float.
float exp(float x) {
  if (!(std::abs(x) < 150)) return static_cast<float>(exp(static_cast<double>(x)));
  const double k = nearest(x * 0x1.71547652b82fep+4);
  const auto whole = static_cast<int>(k);
  const double r = (x - k * 0x1.62e42fefa0000p-5) - k * 0x1.cf79abc9e3b3ap-44, square = r * r;
  const double rest = (1.0 / 2 + r * (1.0 / 6)) + square * ((1.0 / 24 + r * (1.0 / 120)) + square * (1.0 / 720));
  const double power = kPowers[static_cast<std::size_t>(whole & 15)].high;
  const double scale = std::bit_cast<double>(static_cast<int64_t>((whole >> 4) + 1023) << 52);
  return static_cast<float>((power + power * (r + square * rest)) * scale);
}

float log(float number) {
  const double x = number;
  if (!(x > 0 && x < kInfinity)) return static_cast<float>(log(x));
  const Reduced f = reduced(x);
  const double r = f.m * f.entry->c - 1, square = r * r, fourth = square * square;
  const double rest = (1.0 / 3 - r * (1.0 / 4)) + square * (1.0 / 5 - r * (1.0 / 6)) +
                      fourth * ((1.0 / 7 - r * (1.0 / 8)) + square * (1.0 / 9 - r * (1.0 / 10)));
  const double start = f.k * std::numbers::ln2 + f.entry->high;
  const double y = start + (r + (f.entry->low + square * (r * rest - 0.5)));
  const auto rounded = static_cast<float>(y * (1 + 0x1p-46));  // near the middle of two floats, all bits are needed
  return rounded == static_cast<float>(y * (1 - 0x1p-46)) ? rounded : static_cast<float>(log(x));
}

double pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return x + y;
  const bool odd = is_odd(y);
  if (x == 0 || std::abs(x) == kInfinity) {
    const double size = (x == 0) == (y > 0) ? 0 : kInfinity;
    return odd ? std::copysign(size, x) : size;
  }
  if (std::abs(y) == kInfinity) return std::abs(x) == 1 ? 1 : (std::abs(x) > 1) == (y > 0) ? kInfinity : 0;
  if (x < 0 && !is_whole(y)) return kNaN;
  if (x == -1) return odd ? -1 : 1;  // even where y is too large to be divided into halves
  const double size = power_of_positive(std::abs(x), y);
  return x < 0 && odd ? -size : size;
}

double sin(double x) {
  if (!(std::abs(x) < kInfinity)) return x - x;
  if (std::abs(x) < 0x1p-27) return x;
  return sine_of(turn(x)).high;
}

double cos(double x) {
  if (!(std::abs(x) < kInfinity)) return x - x;
  Turn t = turn(x);
  ++t.quarters;
  return sine_of(t).high;
}

double tan(double x) {
  if (!(std::abs(x) < kInfinity)) return x - x;
  if (std::abs(x) < 0x1p-27) return x;
  Turn t = turn(x);
  const Two s = sine_of(t);
  ++t.quarters;
  const Two c = sine_of(t);
  const double q = s.high / c.high;
  const Two p = multiply(q, c.high);
  return q + (((s.high - p.high) - p.low) + (s.low - q * c.low)) / c.high;
}

double hypot(double x, double y) {
  x = std::abs(x), y = std::abs(y);
  if (x == kInfinity || y == kInfinity) return kInfinity;
  if (x < y) std::swap(x, y);
  if (!(x + y > x)) return x + y;  // NaN, and where y is nothing
  int exponent = 0;
  std::frexp(x, &exponent);
  x = std::ldexp(x, -exponent), y = std::ldexp(y, -exponent);
  const Two xx = multiply(x, x), yy = multiply(y, y), sum = add(xx.high, yy.high);
  const double root = std::sqrt(sum.high);
  const Two square = multiply(root, root);
  const double rest = ((sum.high - square.high) - square.low) + (sum.low + (xx.low + yy.low));
  return std::ldexp(root + rest / (2 * root), exponent);
}

float hypot(float x, float y) {
  const double a = x, b = y, sum = a * a + b * b;  // squares of floats are exact, and none overflows
  return static_cast<float>(std::isfinite(sum) ? std::sqrt(sum) : hypot(a, b));
}

double erf(double x) {
  const double a = std::abs(x), z = a * a;
  if (!(a >= 1)) {  // the polynomial of the vectors' erf (autograd/kernels/simd/simd_math.h)
    return x + x * poly(z, 0.12837916709551256, -0.3761263890318346, 0.11283791670942674, -0.026866170642934877,
                        0.005223977604968696, -0.0008548325883480176, 0.0001205529240146814, -1.4924692513394981e-05,
                        1.6446914085366854e-06, -1.6204811185168046e-07, 1.3705057044293911e-08,
                        -7.769306523608002e-10);
  }
  return std::copysign(a > 6 ? 1 : 1 - exp_of_minus_square(a) * scaled_erfc(a), x);
}

double erfc(double x) {
  if (!(x >= 0.5)) return 1 - erf(x);
  return exp_of_minus_square(x) * (x > 6 ? far_scaled_erfc(x) : scaled_erfc(x));
}

// x with erf(x) = y: an approximation (Winitzki 2008) and two steps of Halley's method, which triple its digits each.
double erfinv(double y) {
  const double a = std::abs(y), rest = 1 - a;  // exact where it matters, near 1
  if (!(a < 1)) return y / (a == 1 ? 0.0 : kNaN);
  constexpr double kShape = 0.147, kRootPi = 1 / std::numbers::inv_sqrtpi;
  double x = a * kRootPi / 2;
  if (a > 1e-3) {
    const double l = log(rest * (1 + a)), half = 2 * std::numbers::inv_pi / kShape + l / 2;
    x = std::sqrt(std::sqrt(half * half - l / kShape) - half);
  }
  for (int step = 0; step < 2; ++step) {
    const double error = a < 0.5 ? erf(x) - a : rest - erfc(x);
    const double newton = error * kRootPi / 2 * exp(x * x);
    x -= newton / (1 + x * newton);
  }
  return std::copysign(x, y);
}

}  // namespace tapegrad::fixed
