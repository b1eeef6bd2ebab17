// Elementwise operations: what the table of cases does not show: powers and kinks, types, strides, sizes. Functions,
// remainders, isclose and activations: cases that the golden files do not cover. Dropout: PyTorch's masks and
// arithmetic.
// ctest: families
#include <tapegrad/autograd/kernels/processor.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// Equal within `tolerance`, NaN to NaN, infinities to themselves.
void expect_values(const Tensor& x, const std::vector<double>& wanted, double tolerance = 1e-6) {
  ASSERT_EQ(x.numel(), std::ssize(wanted)) << str(x);
  const Tensor have = x.detach().to(kFloat64).flatten(), right = tensor(wanted, {x.numel()});
  EXPECT_TRUE(allclose(have, right, tolerance, tolerance, true)) << str(have) << str(right);
}

TEST(Elementwise, PowersAtSpecialValues) {
  const Tensor base = tensor({0., 0., 0., -2., 2., 0., -8., kNan}, kFloat64);
  const Tensor exponent = tensor({0., 1., -1., 3., 0., 2., 1. / 3, 0.}, kFloat64);
  expect_values(pow(base, exponent), {1, 0, kInf, -8, 1, 0, kNan, 1});
  const Tensor a = base.as_leaf(), b = exponent.as_leaf();
  const Gradients grads = Tape().backward(pow(a, b), {.grad_output = ones({8}, kFloat64)});
  expect_values(grads[a], {0, 1, -kInf, 12, 0, 0, kNan, 0});  // as PyTorch
  expect_values(grads[b], {0, 0, -kInf, kNan, std::log(2), 0, kNan, kNan});
  expect_values(slope([](const Tensor& x) { return pow(x, 0.); }, tensor({0., kNan})), {0, 0});
  expect_values(pow(tensor({2, -3, 0}), 3.), {8, -27, 0});
  // The slope in the base is 0 at an exponent of 0, but it depends on the exponent there: d2/dadb a^b = 1 / a.
  const auto power = [](const Tensor& x, const Tensor& e) { return pow(x, e); };
  EXPECT_TRUE(gradients_match(power, {tensor({0.7, 2., 1.3}, kFloat64), tensor({0., 0., 1.5}, kFloat64)}));
}

TEST(Elementwise, GradientsAtKinks) {
  expect_values(slope([](const Tensor& x) { return abs(x); }, tensor({-2., 0., 3.})), {-1, 0, 1});
  expect_values(slope([](const Tensor& x) { return relu(x); }, tensor({-2., 0., 3., kNan})), {0, 0, 1, 1});
  expect_values(slope([](const Tensor& x) { return sign(x); }, tensor({-2., 0., 3.})), {0, 0, 0});
  expect_values(slope([](const Tensor& x) { return clamp(x, -1., 1.); }, tensor({-2., -1., 0., 1., 2., kNan})),
                {0, 1, 1, 1, 0, 0});
  expect_values(slope([](const Tensor& x) { return clamp(x, {}, 1.); }, tensor({-2., 1., 2.})), {1, 1, 0});
  expect_values(slope([](const Tensor& x) { return maximum(x, 1.0); }, tensor({0., 1., 2.})), {0, 0.5, 1});

  const Tensor a = tensor({1., 2., 3., kNan}).as_leaf(), b = tensor({2., 2., 2., 2.}).as_leaf();
  for (const bool larger : {true, false}) {
    const Gradients grads = Tape().backward(larger ? maximum(a, b) : minimum(a, b), {.grad_output = ones({4})});
    expect_values(grads[a], larger ? std::vector<double>{0, 0.5, 1, 1} : std::vector<double>{1, 0.5, 0, 1});
    expect_values(grads[b], larger ? std::vector<double>{1, 0.5, 0, 1} : std::vector<double>{0, 0.5, 1, 1});
  }
}

TEST(Elementwise, OnlyNeededGradientsAreKept) {
  const Tensor a = tensor({1., 2.}).as_leaf(), constant = tensor({3., 4.});
  const Gradients grads = Tape().backward(a * constant / constant, {.grad_output = ones({2})});
  EXPECT_EQ(grads.size(), 1u);
  expect_values(grads[a], {1, 1});
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
  expect_values(exp(scalar(0).expand({2, 2})), {1, 1, 1, 1});
}

TEST(Elementwise, TypesPromote) {  // of tensors and numbers
  const Tensor yes = tensor({true, false}), whole = tensor({3, -4}), fine = tensor({0.5, 2.}, kFloat64);
  EXPECT_EQ((whole * 2).dtype(), kInt64);
  EXPECT_EQ((whole * 0.5).dtype(), kFloat32);
  EXPECT_EQ((yes + 1).dtype(), kInt64);
  EXPECT_EQ((fine * 0.1).dtype(), kFloat64);
  expect_values(whole * 0.5, {1.5, -2});
  expect_values(yes + yes, {1, 0});
  expect_values(abs(whole), {3, 4});

  const Tensor leaf = tensor({0.5, 2.}).as_leaf();
  const Tensor g = Tape().backward(leaf * fine, {.grad_output = ones({2}, kFloat64)})[leaf];
  EXPECT_EQ(g.dtype(), kFloat32);
  expect_values(g, {0.5, 2});
}

TEST(Compare, ANumberIsRoundedToTheTypeOfTheTensor) {
  expect_values(tensor({0.1}) == 0.1, {1});
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

TEST(Select, MaskedFillBroadcastsToTheMask) {
  const Tensor row = tensor({1., 2., 3.}).as_leaf(), larger = tensor({{true, false, true}, {true, true, false}});
  Tape tape;
  const Tensor table = masked_fill(row, larger, 9);
  expect_values(table, {9, 2, 9, 9, 9, 3});
  expect_values(tape.backward(sum(table))[row], {0, 1, 1});
  EXPECT_EQ(masked_fill(scalar(1), larger, 0).shape(), Shape({2, 3}));
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
  expect_values(gelu(tensor({kInf, -kInf, kNan, 0.0}).to(kFloat32)), {kInf, kNan, kNan, 0});
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

using Function = std::function<Tensor(const Tensor&)>;

// The first and the second derivative of f at x, both recorded, elementwise.
std::pair<Tensor, Tensor> derivatives(const Function& f, const Tensor& x) {
  const Tensor leaf = x.as_leaf(), dy = ones_like(x);
  Tape tape;
  const Tensor first = tape.backward(f(leaf), {.create_graph = true, .grad_output = dy, .keep = {}})[leaf];
  const Gradients second = tape.backward(first, {.grad_output = dy});
  const Tensor* found = second.find(leaf);
  return {first.detach(), found ? *found : zeros_like(x)};
}

// Derivatives far from 0, where a formula could overflow: the limits are exact.
TEST(Functions, DerivativesOfActivationsAtLargeNumbers) {
  const Tensor x = tensor({-500., -90., -30., 30., 90., 500.}, kFloat64);
  const struct {
    Function f;
    std::vector<double> first;
  } cases[] = {
      {[](const Tensor& v) { return tapegrad::softplus(v); }, {0, 0, 0, 1, 1, 1}},
      {[](const Tensor& v) { return softplus(v, 2, 1e9); }, {0, 0, 0, 1, 1, 1}},
      {[](const Tensor& v) { return log_sigmoid(v); }, {1, 1, 1, 0, 0, 0}},
      {[](const Tensor& v) { return mish(v); }, {0, 0, 0, 1, 1, 1}},
      {[](const Tensor& v) { return elu(v); }, {0, 0, 0, 1, 1, 1}},
      {[](const Tensor& v) {
         return swiglu(cat({v, ones_like(v)}));
       },
       {0, 0, 0, 1, 1, 1}},
  };
  for (const auto& c : cases) {
    const auto [first, second] = derivatives(c.f, x);
    expect_near(first, c.first);
    expect_near(second, std::vector<double>(6, 0));
  }
  expect_near(softplus(x, 1, 1e9), {0, 0, 0, 30, 90, 500});
  expect_near(softplus(tensor({800.}), 1, 1e9), std::vector<double>{800});
}

TEST(Functions, RemaindersOfTheLeastInteger) {
  const Tensor least = tensor(std::vector<int64_t>{INT64_MIN}, {1});
  EXPECT_EQ(fmod(least, -1).item<int64_t>(), 0);
  EXPECT_EQ(remainder(least, -1).item<int64_t>(), 0);
}

TEST(Functions, LerpIsExactAtItsEnds) {
  const Tensor a = tensor({0.1, 1e30, -3.7}), b = tensor({0.7, 1., 1e10});
  EXPECT_TRUE(equal(lerp(a, b, 0), a));
  EXPECT_TRUE(equal(lerp(a, b, 1), b));
  EXPECT_TRUE(equal(lerp(a, b, tensor({0., 1., 1.})), tensor({0.1, 1., 1e10})));
}

TEST(Functions, RoundingsLeaveIntegersAlone) {
  const Tensor x = tensor({3, -4});
  for (const Tensor& y : {floor(x), ceil(x), round(x), trunc(x), nan_to_num(x)}) EXPECT_TRUE(y.same(x));
  EXPECT_TRUE(equal(square(x), tensor({9, 16})));
  const std::vector<double> halves = round(tensor({-0.5, 0.5, 1.5, 2.5, -0.2}, kFloat64)).to_vector<double>();
  EXPECT_EQ(halves, std::vector<double>({0, 0, 2, 2, 0}));
  EXPECT_TRUE(std::signbit(halves[0]) && std::signbit(halves[4]));
}

// a / b may round up to an integer that the quotient does not reach: 5.5 / 1.1 is 5, but 1.1 is left.
TEST(Functions, DivisorsOfRemaindersHaveTheQuotientOfTheValue) {
  const Tensor a = tensor({5.5, 25., 7.5, -5.5, 5.5, -7.5, 6., -6., 0., 1., -1., 1e300}, kFloat64);
  const Tensor b = tensor({1.1, 0.1, 2., 1.1, -1.1, -2., 2., 2., 3., kInf, kInf, 1.}, kFloat64);
  const std::vector<double> truncated = {4, 249, 3, -4, -4, 3, 3, -3, 0, 0, 0, 1e300},
                            floored = {4, 249, 3, -5, -5, 3, 3, -3, 0, 0, -1, 1e300};
  for (const bool again : {false, true}) {
    EXPECT_EQ((-slope([&](auto& v) { return fmod(a, v); }, b, again)).to_vector<double>(), truncated);
    EXPECT_EQ((-slope([&](auto& v) { return remainder(a, v); }, b, again)).to_vector<double>(), floored);
  }
  // In float32, too, a - quotient b is the value.
  const Tensor x = linspace(-50, 50, 4001), y = full({4001}, 0.1), exact = x.to(kFloat64), step = y.to(kFloat64);
  const Tensor quotient = slope([&](const Tensor& v) { return remainder(x, v); }, y).to(kFloat64);
  EXPECT_LE(max(abs(exact + quotient * step - remainder(exact, step))).item(), 1e-12);
}

TEST(Functions, TheAngleOfTheOriginHasNoSlope) {
  for (const DType type : {kFloat32, kFloat64}) {
    const Tensor y = tensor({0., 3., -0., 0.}).to(type), x = tensor({0., 4., 0., -0.}).to(type);
    for (const bool again : {false, true}) {
      expect_near(slope([&](const Tensor& v) { return atan2(v, x); }, y, again), {0, 0.16, 0, 0});
      expect_near(slope([&](const Tensor& v) { return atan2(y, v); }, x, again), {0, -0.12, 0, 0});
    }
    const auto [first, second] = derivatives([&](const Tensor& v) { return atan2(v, x); }, y);
    expect_near(second, {0, -2 * 3 * 4. / 625, 0, 0});
  }
}

TEST(Functions, Closeness) {  // of several types, and of large tensors
  EXPECT_TRUE(allclose(tensor({1, 2}), tensor({1., 2.000001})));
  EXPECT_TRUE(allclose(tensor({true}), tensor({1})));
  EXPECT_TRUE(equal(zeros({0, 3}), zeros({0, 3}, kInt64)));
  EXPECT_TRUE(equal(tensor({1, 2}), tensor({1., 2.})));
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
