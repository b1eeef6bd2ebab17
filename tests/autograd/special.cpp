// Special functions: their distance from exact values, also next to zeros and poles; errors. (Edges: cases/values.)
// ctest: families
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

using OfTwo = std::function<Tensor(const Tensor& a, const Tensor& x)>;

const std::map<std::string, OfTwo>& special_functions() {
  static const auto one = [](Tensor (*f)(const Tensor&)) {
    return [f](const Tensor&, const Tensor& x) { return f(x); };
  };
  static const std::map<std::string, OfTwo> all{
      {"lgamma", one(lgamma)},
      {"digamma", one(digamma)},
      {"erfc", one(erfc)},
      {"erfinv", one(erfinv)},
      {"i0", one(i0)},
      {"i1", one(i1)},
      {"i0e", one(i0e)},
      {"i1e", one(i1e)},
      {"polygamma",
       [](const Tensor& n, const Tensor& x) { return polygamma(static_cast<int64_t>(n.item<double>()), x); }},
      {"igamma", igamma},
      {"igammac", igammac},
      {"gamma_density", gamma_density}};
  return all;
}

// The distance of y from high + low, in units of the last place of a T.
template <class T>
double units_from(double y, double high, double low) {
  int exponent = 0;
  std::frexp(high, &exponent);
  constexpr int kDigits = std::numeric_limits<T>::digits, kLeast = std::numeric_limits<T>::min_exponent;
  return std::abs((y - high) - low) / std::ldexp(1.0, std::max(exponent, kLeast) - kDigits);
}

template <class T>
void expect_exact(const std::string& name, const Json& rows, double most) {
  EXPECT_GE(rows.size(), 10u);
  for (const auto& row : rows) {
    const double a = row[0], x = row[1], high = row[2], low = row[3];
    const auto of = [](double v) { return full({}, v, kFloat64).to(dtype_of<T>()); };
    const auto y = static_cast<double>(special_functions().at(name)(of(a), of(x)).template item<T>());
    const double error = units_from<T>(y, high, low);
    EXPECT_LE(error, most) << fmt::format("{}({}, {}) is {}, {} is right", name, a, x, y, high);
  }
}

// How far a float of a function may be from the exact value, in units in the last place: most are computed in float64.
double most_units(const std::string& name) { return name == "erfc" ? 2.7 : name == "erfinv" ? 2.4 : 0.51; }

TEST(Special, ValuesAreNearlyRounded) {
  const Json tables = stored("special.json");
  EXPECT_EQ(tables.size(), special_functions().size());
  for (const auto& [name, of] : tables.items()) {
    expect_exact<float>(name, of["float32"], most_units(name));
    expect_exact<double>(name, of["float64"], 2);
  }
}

// Rows of float32 are computed on vectors, with branches for all elements of one: the values are those of single
// numbers, and of float64; those of erfc and erfinv, which are computed in float32, are within some units of these.
TEST(Special, RowsOfFloat32AreThoseOfFloat64) {
  manual_seed(11);
  const Tensor wide = uniform({1501}, -25, 25), close = uniform({1502}, -1, 1);
  for (const char* name : {"lgamma", "digamma", "erfc", "erfinv", "i0", "i1", "i0e", "i1e"}) {
    const OfTwo& f = special_functions().at(name);
    const Tensor next_to_one = 1 - exp(close * 5 - 10);
    const Tensor x =
        cat(std::string(name) == "erfinv" ? std::vector{close, next_to_one} : std::vector{wide, close * 10, close}, 0);
    const std::vector<float> row = f(x, x).to_vector<float>(), from = x.to_vector<float>();
    const std::vector<double> exact = f(x, x.to(kFloat64)).to_vector<double>();
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (std::abs(exact[i]) < 1e-37) continue;
      EXPECT_LE(units_from<float>(row[i], exact[i], 0), most_units(name)) << name << " of " << from[i];
      if (i % 16 == 0) {
        EXPECT_EQ(f(x, full({}, from[i])).item(), row[i]) << name << " of " << from[i];
      }
    }
  }
}

// Integrals of the gamma density in float32 are computed on vectors where a number in double leaves no doubt about the
// float. The ways to compute them end at a = 0.001, 200 and 10,000, at x = a + 3 sqrt(a) + 4 and 30 % from a.
TEST(Special, IncompleteGammaOfFloat32IsThatOfFloat64) {
  manual_seed(13);
  const Tensor wide = exp(uniform({3001}, -9, 10)), near = wide * exp(uniform({3001}, -0.5, 0.5));
  const Tensor edge = wide + 3 * sqrt(wide) + 4, x = cat({near, edge * uniform({3001}, 0.98, 1.02), 0.3 * near}, 0);
  const Tensor a = cat({wide, wide, wide}, 0);
  for (const char* name : {"igamma", "igammac", "gamma_density", "polygamma"}) {
    const bool trigamma = std::string(name) == "polygamma";
    const OfTwo f =
        trigamma ? [](const Tensor&, const Tensor& of) { return polygamma(1, of); } : special_functions().at(name);
    const std::vector<float> row = f(a, x).to_vector<float>();
    const std::vector<double> exact = f(a.to(kFloat64), x.to(kFloat64)).to_vector<double>();
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      EXPECT_LE(units_from<float>(row[i], exact[i], 0), 0.501) << name << " of " << a[at] << x[at];
      if (i % 16 == 0) {
        EXPECT_EQ(f(a[at], x[at]).item(), row[i]) << name << " of " << a[at] << x[at];
      }
    }
  }
}

// The derivative of a gamma number in float32 is a series of doubles where these are enough for a float, and of sums of
// two doubles elsewhere: with x far above a, terms cancel.
TEST(Special, DerivativesOfFloat32GammaNumbersAreThoseOfFloat64) {
  manual_seed(12);
  const Tensor a = exp(uniform({3000}, -6, 6.5)), near = a * exp(uniform({3000}, -2, 0.5));
  const Tensor far = a + sqrt(a) * uniform({3000}, 0, 6) + uniform({3000}, 0, 40);
  const auto derivative = [](const Tensor& of, const Tensor& x) {
    return slope([&](const Tensor& leaf) { return implicit_gamma(leaf, x); }, of);
  };
  for (const Tensor& x : {near, far}) {
    const Tensor exact = derivative(a.to(kFloat64), x.to(kFloat64)).to(kFloat32);
    EXPECT_TRUE(equal(derivative(a, x), exact));
    const Tensor wide = derivative(a, x.to(kFloat64));
    EXPECT_EQ(wide.dtype(), kFloat32);
    EXPECT_TRUE(equal(wide, exact));
  }
}

TEST(Special, PolygammaOfLargeNumbersDoesNotUnderflow) {  // it is (n - 1)! / x^n there
  for (const double x : {1e100, 1e155, 1e200, 1e300})
    EXPECT_NEAR(polygamma(1, full({}, x, kFloat64)).item<double>() * x, 1, 1e-15) << x;
  EXPECT_NEAR(polygamma(2, full({}, 1e150, kFloat64)).item<double>() * -1e300, 1, 1e-15);
}

TEST(Special, ComplementsAddUpToOne) {
  manual_seed(3);
  const Tensor a = exp(uniform({5000}, -8, 9, kFloat64)), x = a * exp(uniform({5000}, -2, 1, kFloat64));
  EXPECT_LT(amax(abs(igamma(a, x) + igammac(a, x) - 1)).item<double>(), 3e-16);
  const Tensor z = uniform({5000}, -6, 6, kFloat64);
  EXPECT_LT(amax(abs(erf(z) + erfc(z) - 1)).item<double>(), 1e-15);
  EXPECT_LT(amax(abs(erf(erfinv(erf(z / 3))) - erf(z / 3))).item<double>(), 1e-15);
}

// Also where a method ends and the next begins, the probability grows with x and falls with a.
TEST(Special, IncompleteGammaIsMonotonous) {
  const Tensor steps = linspace(0.01, 3, 4001, kFloat64);
  for (const double a : {0.3, 5.0, 60.0, 199.9, 200.0, 1000.0, 1e5}) {
    const Tensor p = igamma(full({}, a, kFloat64), steps * a);
    EXPECT_TRUE(all(ge(p.slice(0, 1) - p.slice(0, 0, -1), 0))) << "a = " << a;
    const Tensor q = igamma(steps * a, full({}, a, kFloat64));
    EXPECT_TRUE(all(le(q.slice(0, 1) - q.slice(0, 0, -1), 0))) << "x = " << a;
  }
}

TEST(Special, ErrorsOfGradients) {
  const Tensor x = ones({2});
  Tape tape;
  const Tensor leaf = x.as_leaf();
  EXPECT_ERROR(igamma(leaf, x));
  EXPECT_ERROR(igammac(leaf, x));
}

}  // namespace
}  // namespace tapegrad::tests
