// Elementwise operations: what the table of cases and the values at special points (cases/values) do not show: strides,
// sizes, accuracy. Dropout: PyTorch's masks and arithmetic.
// ctest: families
#include <tapegrad/autograd/kernels/processor.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// The slope in the base is 0 at an exponent of 0, but it depends on the exponent there: d2/dadb a^b = 1 / a.
TEST(Elementwise, SecondDerivativesOfPowersWithExponent0) {
  const auto power = [](const Tensor& x, const Tensor& e) { return pow(x, e); };
  EXPECT_TRUE(gradients_match(power, {tensor({0.7, 2., 1.3}, kFloat64), tensor({0., 0., 1.5}, kFloat64)}));
}

TEST(Elementwise, OnlyNeededGradientsAreKept) {
  const Tensor a = tensor({1., 2.}).as_leaf(), constant = tensor({3., 4.});
  const Gradients grads = Tape().backward(a * constant / constant, {.grad_output = ones({2})});
  EXPECT_EQ(grads.size(), 1u);
  expect_near(grads[a], {1, 1});
}

// Every layout of operands against elements taken one by one, at sizes around vectors, pieces and threads.
TEST(Elementwise, StridesAndSizes) {
  for (const int64_t n : {1, 7, 8, 9, 63, 700, 40000}) {
    const Tensor x = linspace(-3, 3, 2 * n).reshape({n, 2}), row = tensor({0.5, -2.});
    const Tensor column = linspace(1, 2, n).reshape({n, 1}), wide = linspace(1, 5, 2 * n).reshape({2, n}).t();
    const Tensor y = x * wide + row - column / scalar(2) + x.slice(0, kAll, kAll, -1);
    ASSERT_EQ(y.shape(), x.shape());
    const std::vector<float> xs = x.to_vector<float>(), ws = wide.to_vector<float>(), cs = column.to_vector<float>();
    const std::vector<float> ys = y.to_vector<float>();
    for (int64_t i = 0; i < 2 * n; ++i) {
      const auto at = static_cast<std::size_t>(i), turned = static_cast<std::size_t>(2 * (n - 1 - i / 2) + i % 2);
      const float wanted = xs[at] * ws[at] + (i % 2 ? -2.f : 0.5f) - cs[at / 2] / 2.f + xs[turned];
      ASSERT_EQ(ys[at], wanted) << "element " << i << " of " << n;
    }
  }
  expect_near(exp(scalar(0).expand({2, 2})), {1, 1, 1, 1});
}

TEST(Compare, ManyElements) {
  const Tensor many = arange(1003).to(kFloat32);
  EXPECT_EQ(any(many < 0), false);
  EXPECT_EQ(all(many.reshape({17, 59}).t() <= 1002), true);
}

TEST(Compare, AllFinite) {
  for (const DType dtype : {kFloat32, kFloat64}) {
    EXPECT_TRUE(all_finite(full({100000}, 1e30, dtype)));
    EXPECT_FALSE(all_finite(cat({zeros({100000}, dtype), full({1}, -kInf, dtype)})));
    EXPECT_FALSE(all_finite(full({3}, kNan, dtype)));
    EXPECT_TRUE(all_finite(zeros({0}, dtype)));
  }
}

TEST(Elementwise, GeluIsAsAccurateAsItSays) {
  const Tensor x = linspace(-9, 9, 60'001);
  const std::vector<float> given = x.to_vector<float>(), have = gelu(x).to_vector<float>();
  double above = 0, below = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const double v = given[i], exact = 0.5 * v * std::erfc(-v * M_SQRT1_2), error = std::abs(have[i] - exact);
    if (v > 0) above = std::max(above, std::ldexp(error, 24 - (std::ilogb(exact) + 1)));
    if (v < 0) below = std::max(below, error / -v);
    if (v < -5.7) {
      EXPECT_EQ(have[i], 0) << v;
    }
  }
  EXPECT_LT(above, 3);
  EXPECT_LT(below, 1.5e-7);
  expect_near(gelu(tensor({kInf, -kInf, kNan, 0.0}).to(kFloat32)), {kInf, kNan, kNan, 0});
}

// As Python defines //, for numbers of one type.
template <class T>
T floor_of_quotient(T a, T b) {
  if (b == 0) return a / b;
  const T left = std::fmod(a, b);
  T quotient = (a - left) / b;
  if (left != 0 && (b < 0) != (left < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(T{0}, a / b);
  const T whole = std::floor(quotient);
  return quotient - whole > T(0.5) ? whole + 1 : whole;
}

template <class T>
void expect_floors_of_quotients() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> some{Limits::min(), Limits::max(), Limits::denorm_min(), Limits::infinity(), Limits::quiet_NaN()};
  for (const double x : {0., 1., 2., 3., 0.1, 0.3, 1.1, 5.5, 7., 1e5, 123456789., 1e30})
    some.push_back(static_cast<T>(x));
  for (T x = T(0.01); x < T(1e20); x *= T(9.7)) some.push_back(x);
  for (std::size_t i = 0, n = some.size(); i < n; ++i) some.push_back(-some[i]);
  std::vector<T> a, b;
  for (const T x : some)
    for (const T y : some) a.push_back(x), b.push_back(y);
  const auto count = static_cast<int64_t>(a.size());
  const Tensor of_a = tensor(a, {count}), of_b = tensor(b, {count});
  const auto expect = [&](int64_t begin, int64_t end) {
    const Tensor y = floor_divide(of_a.slice(0, begin, end), of_b.slice(0, begin, end));
    for (int64_t i = begin; i < end; ++i) {
      const T x = a[static_cast<std::size_t>(i)], z = b[static_cast<std::size_t>(i)];
      const T have = y[i - begin].item<T>(), wanted = floor_of_quotient(x, z);
      ASSERT_TRUE(std::isnan(wanted) ? std::isnan(have) : have == wanted && std::signbit(have) == std::signbit(wanted))
          << x << " // " << z << " is " << wanted << ", got " << have;
    }
  };
  expect(0, count);
  for (int64_t size = 1; size < 20; ++size) expect(3 * size * size, 3 * size * size + size);
}

TEST(Elementwise, FloorDivideIsExact) {
  expect_floors_of_quotients<float>();
  expect_floors_of_quotients<double>();
}

TEST(Elementwise, ResultsLargerThanTheCachesHaveTheSameBits) {
  constexpr int64_t kWidth = 1001;
  const int64_t rows = largest_cache_bytes() / (4 * kWidth) + 40;
  // Results must exceed the largest cache. On a processor with more than 64 MB of it, this would take gigabytes.
  if (rows * kWidth > int64_t{1} << 24) GTEST_SKIP() << "the cache holds " << largest_cache_bytes() << " bytes";
  const Tensor x = linspace(-4, 4, rows * kWidth).reshape({rows, kWidth}), row = linspace(0, 1, kWidth);
  const auto results = [&row](const Tensor& v) {
    return std::vector<Tensor>{v + v, v * 3, relu(v), v + row, v.clone()};
  };
  const std::vector<Tensor> whole = results(x);
  for (const int64_t first : {int64_t{0}, rows / 2, rows - 20}) {
    const std::vector<Tensor> part = results(x.slice(0, first, first + 20));
    for (std::size_t i = 0; i < part.size(); ++i)
      EXPECT_TRUE(all(whole[i].slice(0, first, first + 20) == part[i])) << i << " " << first;
  }
}

TEST(Functions, RoundingsLeaveIntegersAlone) {
  const Tensor x = tensor({3, -4});
  for (const Tensor& y : {floor(x), ceil(x), round(x), trunc(x), nan_to_num(x)}) EXPECT_TRUE(y.same(x));
}

// The derivative with respect to the divisor: a - quotient b is the value.
TEST(Functions, DivisorsOfRemaindersHaveTheQuotientOfTheValue) {
  const Tensor x = linspace(-50, 50, 4001), y = full({4001}, 0.1), exact = x.to(kFloat64), step = y.to(kFloat64);
  const Tensor quotient = slope([&](const Tensor& v) { return remainder(x, v); }, y).to(kFloat64);
  EXPECT_LE(max(abs(exact + quotient * step - remainder(exact, step))).item(), 1e-12);
}

TEST(Functions, ClosenessOfLargeTensors) {
  const Tensor large = arange(1 << 20).to(kFloat32).reshape({1024, 1024});
  EXPECT_TRUE(allclose(large, large.t().contiguous().t()));
}

// The generators are at equal positions: neither has drawn more than the other.
bool equal_streams(const Generator& a, const Generator& b) { return a.state() == b.state(); }

TEST(Dropout, MultipliesByTheMaskThatTheGeneratorDraws) {
  for (const DType dtype : {kFloat32, kFloat64})
    for (const int64_t n : {1, 7, 8, 36, 1000, 70001}) {
      Generator g(3), same(3);
      const Tensor x = randn({n}, dtype, &g);
      randn({n}, dtype, &same);
      std::vector<uint8_t> keep(static_cast<std::size_t>(n));
      same.keep_mask(keep.data(), n, 0.9);
      const Tensor y = dropout(x, 0.1, true, &g);
      EXPECT_TRUE(equal_streams(g, same));
      EXPECT_TRUE(same_bits(y, x * (tensor(keep, {n}).to(dtype) / full({}, 0.9, dtype)))) << n;
    }
}

TEST(Dropout, DrawsNothingIfNothingIsDropped) {
  Generator g(1);
  const Generator before = g;
  const Tensor x = ones({4});
  EXPECT_TRUE(dropout(x, 0.5, false, &g).same(x));
  EXPECT_TRUE(dropout(x, 0, true, &g).same(x));
  EXPECT_EQ(dropout(Tensor::empty({0, 3}), 0.5, true, &g).numel(), 0);
  EXPECT_EQ(dropout(x, 1, true, &g).to_vector<float>(), std::vector<float>(4));
  EXPECT_TRUE(equal_streams(g, before));
}

TEST(Dropout, DroppedNanAndInfinityPropagate) {
  const Tensor y = dropout(full({64}, kInf), 0.5);
  const auto infinite = sum(isinf(y)).item<int64_t>(), nan = sum(isnan(y)).item<int64_t>();
  EXPECT_GT(infinite, 0);
  EXPECT_GT(nan, 0);
  EXPECT_EQ(infinite + nan, 64);
}

}  // namespace
}  // namespace tapegrad::tests
