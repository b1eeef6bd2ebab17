// Elementary functions of single numbers: their errors, their special values, and their bits, which are the same on
// every machine. The exact values are those of long double, which must have at least 64 bits.
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/internal/rough_log.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

static_assert(std::numeric_limits<long double>::digits >= 64);

using Real = long double;

// The distance of y from `exact`, in units of the last place of `exact`.
template <class T>
double error(T y, Real exact) {
  if (static_cast<Real>(y) == exact) return 0;
  int exponent = 0;
  std::frexp(exact, &exponent);
  constexpr int kDigits = std::numeric_limits<T>::digits, kLeast = std::numeric_limits<T>::min_exponent;
  return static_cast<double>(std::abs(static_cast<Real>(y) - exact) /
                             std::ldexp(Real{1}, std::max(exponent, kLeast) - kDigits));
}

// Numbers between low and high, evenly or with evenly spread exponents.
class Draws {
 public:
  double even(double low, double high) { return low + (high - low) * unit(); }
  double any_size(double low, double high) { return std::exp2(even(std::log2(low), std::log2(high))); }

 private:
  double unit() { return static_cast<double>(generator_.random64() >> 11) * 0x1p-53; }
  Generator generator_{7};
};

constexpr int kManyDraws = 200'000;

// A function and its exact values.
struct Exactly {
  double (*f)(double);
  Real (*exact)(Real);
  double worst(const auto& draw) const {
    double most = 0;
    for (int i = 0; i < kManyDraws; ++i) {
      const double x = draw();
      most = std::max(most, error(f(x), exact(static_cast<Real>(x))));
    }
    return most;
  }
};
constexpr Exactly kExp{[](double x) { return fixed::exp(x); }, [](Real x) { return std::exp(x); }};
constexpr Exactly kLog{[](double x) { return fixed::log(x); }, [](Real x) { return std::log(x); }};
constexpr Exactly kSin{[](double x) { return fixed::sin(x); }, [](Real x) { return std::sin(x); }};
constexpr Exactly kCos{[](double x) { return fixed::cos(x); }, [](Real x) { return std::cos(x); }};
constexpr Exactly kTan{[](double x) { return fixed::tan(x); }, [](Real x) { return std::tan(x); }};
constexpr Exactly kErf{[](double x) { return fixed::erf(x); }, [](Real x) { return std::erf(x); }};
constexpr Exactly kErfc{[](double x) { return fixed::erfc(x); }, [](Real x) { return std::erfc(x); }};

TEST(FixedMath, ExpAndLogAreNearlyRounded) {
  Draws d;
  EXPECT_LT(kExp.worst([&] { return d.even(-1, 1); }), 0.56);
  EXPECT_LT(kExp.worst([&] { return d.even(-708, 709.7); }), 0.56);
  EXPECT_LT(kExp.worst([&] { return d.any_size(1e-20, 1); }), 0.56);
  EXPECT_LT(kExp.worst([&] { return d.even(-745, -708); }), 1.01) << "denormal numbers, rounded twice";
  EXPECT_LT(kLog.worst([&] { return d.even(0.5, 2); }), 0.51);
  EXPECT_LT(kLog.worst([&] { return 1 + d.even(-1e-3, 1e-3); }), 0.51);
  EXPECT_LT(kLog.worst([&] { return d.any_size(1e-307, 1e307); }), 0.51);
  EXPECT_LT(kLog.worst([&] { return d.any_size(1e-322, 1e-308); }), 0.51);
}

TEST(FixedMath, CircularFunctionsAreNearlyRounded) {
  Draws d;
  for (const double most : {1.0, 10.0, 1e3, 1e6, 1e9}) {
    EXPECT_LT(kSin.worst([&] { return d.even(-most, most); }), 0.56) << most;
    EXPECT_LT(kCos.worst([&] { return d.even(-most, most); }), 0.56) << most;
    EXPECT_LT(kTan.worst([&] { return d.even(-most, most); }), 0.58) << most;
  }
  EXPECT_LT(kSin.worst([&] { return d.any_size(1e-300, 1); }), 0.56);
  EXPECT_LT(kSin.worst([&] { return d.any_size(1e9, 1e308); }), 0.56);
  EXPECT_LT(kCos.worst([&] { return -d.any_size(1e9, 1e308); }), 0.56);
}

// Numbers next to multiples of pi / 2, the worst of all doubles among them (Kahan): the digits of 2 / pi must suffice.
TEST(FixedMath, CircularFunctionsAreRightNextToTheirZeros) {
  const double worst_of_all = 6381956970095103.0 * 0x1p797;
  EXPECT_EQ(fixed::cos(worst_of_all), -4.6871659242546277e-19);
  EXPECT_EQ(fixed::sin(worst_of_all), 1);
  EXPECT_EQ(fixed::sin(3.141592653589793), 1.2246467991473532e-16);
  EXPECT_EQ(fixed::cos(1.5707963267948966), 6.123233995736766e-17);
  EXPECT_EQ(fixed::tan(1.5707963267948966), 1.633123935319537e16);
  EXPECT_EQ(fixed::sin(1e22), -0.8522008497671888);
  for (int n = 1; n < 1'000'000; n += 37) {
    const double x = n * 1.5707963267948966;
    ASSERT_LT(error(fixed::sin(x), std::sin(static_cast<Real>(x))), 0.56) << x;
    ASSERT_LT(error(fixed::cos(x), std::cos(static_cast<Real>(x))), 0.56) << x;
  }
}

TEST(FixedMath, PowAndHypotAreNearlyRounded) {
  Draws d;
  double most = 0, most_large = 0, most_hypot = 0;
  for (int i = 0; i < kManyDraws; ++i) {
    const double x = d.any_size(1e-3, 1e3), y = d.even(-8, 8), far = d.any_size(1e-30, 1e30), z = d.even(-10, 10);
    most = std::max(most, error(fixed::pow(x, y), std::pow(static_cast<Real>(x), static_cast<Real>(y))));
    most_large =
        std::max(most_large, error(fixed::pow(far, z), std::pow(static_cast<Real>(far), static_cast<Real>(z))));
    most_hypot =
        std::max(most_hypot, error(fixed::hypot(far, x), std::hypot(static_cast<Real>(far), static_cast<Real>(x))));
  }
  EXPECT_LT(most, 0.56);
  EXPECT_LT(most_large, 0.55);
  EXPECT_LT(most_hypot, 0.51);
  for (int i = -1074; i < 1024; ++i) EXPECT_EQ(fixed::pow(2.0, i * 1.0), std::ldexp(1, i));
  for (int i = -300; i < 300; ++i) EXPECT_EQ(fixed::pow(i * 1.0, 3.0), static_cast<double>(i) * i * i);
  EXPECT_EQ(fixed::hypot(3e200, 4e200), 4.9999999999999995e200);
  EXPECT_EQ(fixed::hypot(3e-320, 4e-320), 5e-320);
}

TEST(FixedMath, ErfAndErfcAreWithinFewUnits) {
  Draws d;
  EXPECT_LT(kErf.worst([&] { return d.even(-7, 7); }), 2);
  EXPECT_LT(kErfc.worst([&] { return d.even(0.5, 26); }), 6);
}

TEST(FixedMath, FloatsAreRoundedOnce) {
  Draws d;
  double most = 0;
  for (int i = 0; i < kManyDraws; ++i) {
    const auto x = static_cast<float>(d.even(-80, 80)), y = static_cast<float>(d.any_size(1e-30, 1e30));
    EXPECT_EQ(fixed::exp(x), static_cast<float>(fixed::exp(static_cast<double>(x)))) << x;  // shorter ways
    EXPECT_EQ(fixed::log(y), static_cast<float>(fixed::log(static_cast<double>(y)))) << y;
    const Real a = x, b = y;
    for (const double e :
         {error(fixed::exp(x), std::exp(a)), error(fixed::log(y), std::log(b)), error(fixed::sin(x), std::sin(a)),
          error(fixed::cos(y), std::cos(b)), error(fixed::hypot(x, y), std::hypot(a, b))})
      most = std::max(most, e);
  }
  EXPECT_LT(most, 0.5001);
}

// Bit by bit those of <cmath>, except for the sign of NaN.
TEST(FixedMath, SpecialValuesAreThoseOfTheStandard) {
  const auto same = [](double a, double b) {
    return (a != a && b != b) || std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
  };
  const double special[] = {0.0,    -0.0,      1,     -1,   0.5,   -0.5,    2,      -2,     3,       -3,
                            4,      kInf,      -kInf, kNan, 1e300, 1.7e308, -1e300, 1e-320, -1e-320, 9007199254740993.0,
                            1e-300, 0x1p-1074, 1024};
  for (const double x : special) {
    EXPECT_TRUE(same(fixed::exp(x), std::exp(x))) << x;
    EXPECT_TRUE(same(fixed::log(x), std::log(x))) << x;
    EXPECT_TRUE(same(fixed::sin(x), std::sin(x))) << x;
    EXPECT_TRUE(same(fixed::cos(x), std::cos(x))) << x;
    EXPECT_TRUE(same(fixed::tan(x), std::tan(x))) << x;
    EXPECT_TRUE(x == 0.5 || x == -0.5 || same(fixed::erf(x), std::erf(x))) << x;
    for (const double y : special) {
      EXPECT_TRUE(same(fixed::pow(x, y), std::pow(x, y))) << x << " " << y << " " << fixed::pow(x, y);
      EXPECT_TRUE(same(fixed::hypot(x, y), std::hypot(x, y))) << x << " " << y << " " << fixed::hypot(x, y);
    }
  }
  EXPECT_EQ(fixed::exp(709.78271289338397), std::exp(709.78271289338397));
  EXPECT_EQ(fixed::exp(709.7827128933841), kInf);
  EXPECT_EQ(fixed::erfc(-7), 2);
  EXPECT_EQ(fixed::erfc(30), 0);
}

// What another compiler, another C library or another processor must compute, too.
TEST(FixedMath, BitsAreThoseOfEveryMachine) {
  Generator draws(11);
  std::vector<double> values;
  for (int i = 0; i < 20'000; ++i) {
    const double x = std::ldexp(static_cast<double>(draws.random64() >> 11), -58 + i % 17);
    for (const double y : {fixed::exp(x), fixed::log(x), fixed::sin(x), fixed::cos(x), fixed::tan(x), fixed::erf(x),
                           fixed::erfc(x), fixed::pow(x, 1.75), fixed::hypot(x, 3), fixed::sin(x * 0x1p60)})
      values.push_back(y);
  }
  EXPECT_EQ(bits_of({{"values", tensor(values, {static_cast<int64_t>(values.size())})}}), "fc0f 62e1 c787 4b1b");
}

// A rough logarithm decides where its error is too small to matter, the exact one elsewhere.
TEST(FixedMath, RoughLogarithmsAreWithinTheirError) {
  Draws d;
  for (int i = 0; i < 200'000; ++i)
    for (const double x : {d.even(0.5, 2), 1 + d.even(-1e-3, 1e-3), d.any_size(1e-307, 1e307)})
      ASSERT_LT(std::abs(fixed::rough_log(x) - fixed::log(x)), 0x1p-37) << x;
  for (const double x : {-1.0, -0.0, 0.0, 5e-324, kInf, kNan}) EXPECT_TRUE(std::isnan(fixed::rough_log(x))) << x;
}

TEST(FixedMath, WholeNumbersOfRoughLogarithmsAreThoseOfExactOnes) {
  int below = 0, above = 0;  // the whole numbers next to which the quotients are
  for (const double by : {-1e-300, -1e-9, -0.01, -0.3, -1.0, -2.5, -40.0}) {
    for (int k = 0; k < 200; ++k) {
      double x = fixed::exp(k * by);
      for (int step = 0; step < 8; ++step) x = std::nextafter(x, 0);
      for (int step = 0; step < 16 && x < 1; ++step, x = std::nextafter(x, 1)) {
        const double exact = std::ceil(fixed::log(x) / by);
        ASSERT_EQ(fixed::ceil_of_quotient(x, by), exact) << x << " " << by;
        ++(exact > k ? above : below);
      }
    }
    for (const double x : {0.0, 5e-324, 1.0})
      EXPECT_EQ(fixed::ceil_of_quotient(x, by), std::ceil(fixed::log(x) / by)) << x << " " << by;
  }
  EXPECT_GT(below, 1000);
  EXPECT_GT(above, 1000);
}

TEST(FixedMath, SignsOfRoughSumsAreThoseOfExactOnes) {
  Draws d;
  int exact = 0;
  for (int i = 0; i < 4000; ++i) {
    const double x = d.any_size(1e-3, 1e3), apart = (i % 2 == 0 ? 1 : -1) * std::exp2(-(i / 2 % 50));
    const double y = x * (1 + apart / 2);
    int calls = 0;
    const auto sum = [&](auto log) { return ++calls, log(x) - log(y); };
    const double expected = fixed::log(x) - fixed::log(y), found = fixed::with_sign_of(sum, 0x1p-35);
    ASSERT_EQ(found < 0, expected < 0) << x << " " << y;
    ASSERT_EQ(found > 0, expected > 0) << x << " " << y;
    const double size = std::abs(expected);
    EXPECT_TRUE(calls == 1 ? size > 0x1p-37 : size < 0x1p-33) << x << " " << y;
    exact += calls - 1;
  }
  EXPECT_GT(exact, 1000);
  EXPECT_LT(exact, 3000);
}

}  // namespace
}  // namespace tapegrad::tests
