// Functions, remainders, isclose and activations: cases that the golden files do not cover.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

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

TEST(Functions, GatesAreTheirFormulas) {
  const Tensor x = tensor({{0.5, -1.0, 2.0, -0.25}, {3.0, 0.1, -2.0, 1.0}}, kFloat64);
  const Tensor a = x.slice(1, 0, 2), b = x.slice(1, 2, 4);
  EXPECT_TRUE(allclose(glu(x), a * sigmoid(b), 1e-15));
  EXPECT_TRUE(allclose(swiglu(x), silu(a) * b, 1e-15));
  EXPECT_TRUE(allclose(glu(x, 0), x[0].unsqueeze(0) * sigmoid(x[1])));
  EXPECT_EQ(glu(zeros({2, 6, 3}), -2).shape(), Shape({2, 3, 3}));
}

TEST(Functions, RemaindersOfIntegers) {
  const Tensor a = tensor({7, -7, 7, -7, 6}), b = tensor({3, 3, -3, -3, 3});
  expect_near(fmod(a, b), {1, -1, 1, -1, 0});
  expect_near(remainder(a, b), {1, 2, -2, -1, 0});
  const Tensor least = tensor(std::vector<int64_t>{INT64_MIN}, {1});
  EXPECT_EQ(fmod(least, -1).item<int64_t>(), 0);
  EXPECT_EQ(remainder(least, -1).item<int64_t>(), 0);
  EXPECT_EQ(fmod(a, 2).dtype(), kInt64);
  EXPECT_EQ(remainder(a, 2.5).dtype(), kFloat32);
  EXPECT_EQ(remainder(a, tensor({0.5}, kFloat64)).dtype(), kFloat64);
}

TEST(Functions, LerpIsExactAtItsEnds) {
  const Tensor a = tensor({0.1, 1e30, -3.7}), b = tensor({0.7, 1., 1e10});
  EXPECT_TRUE(equal(lerp(a, b, 0), a));
  EXPECT_TRUE(equal(lerp(a, b, 1), b));
  EXPECT_TRUE(equal(lerp(a, b, tensor({0., 1., 1.})), tensor({0.1, 1., 1e10})));
}

TEST(Functions, Atan2KnowsTheQuadrant) {
  const Tensor y = tensor({0., -0., 0., -0., 1., -1., kInf, -kInf}, kFloat64);
  const Tensor x = tensor({1., 1., -1., -1., -0., 0., -kInf, kInf}, kFloat64);
  const std::vector<double> angle = atan2(y, x).to_vector<double>();
  for (std::size_t i = 0; i < angle.size(); ++i) {
    const double exact = std::atan2(y.to_vector<double>()[i], x.to_vector<double>()[i]);
    EXPECT_EQ(angle[i], exact);
    EXPECT_EQ(std::signbit(angle[i]), std::signbit(exact));
  }
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
    const Tensor of_fmod = slope([&](const Tensor& v) { return fmod(a, v); }, b, again);
    const Tensor of_remainder = slope([&](const Tensor& v) { return remainder(a, v); }, b, again);
    for (std::size_t i = 0; i < truncated.size(); ++i) {
      EXPECT_EQ(-of_fmod.to_vector<double>()[i], truncated[i]) << i;
      EXPECT_EQ(-of_remainder.to_vector<double>()[i], floored[i]) << i;
    }
  }
  // In float32, too, a - quotient b is the value.
  const Tensor x = linspace(-50, 50, 4001), y = full({4001}, 0.1);
  const Tensor exact = x.to(kFloat64), step = y.to(kFloat64);
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

TEST(Functions, Closeness) {
  const Tensor x = tensor({1., 2., kNan, kInf});
  EXPECT_FALSE(allclose(x, x));
  EXPECT_TRUE(allclose(x, x, 0, 0, true));
  EXPECT_FALSE(equal(x, x));
  expect_near(isclose(x, tensor({1.000001, 2.1, kNan, -kInf})), {1, 0, 0, 0});
  expect_near(isclose(tensor({1., kInf}), tensor({kInf, 1.}), 1, 1), {0, 0});
  EXPECT_TRUE(allclose(tensor({1, 2}), tensor({1., 2.000001})));
  EXPECT_TRUE(allclose(tensor({true}), tensor({1})));
  EXPECT_FALSE(equal(zeros({2, 3}), zeros({3, 2})));
  EXPECT_FALSE(equal(zeros({1}), zeros({})));
  EXPECT_TRUE(equal(zeros({0, 3}), zeros({0, 3}, kInt64)));
  EXPECT_TRUE(equal(tensor({1, 2}), tensor({1., 2.})));
  const Tensor large = arange(1 << 20).to(kFloat32).reshape({1024, 1024});
  EXPECT_TRUE(allclose(large, large.t().contiguous().t()));
}

}  // namespace
}  // namespace tapegrad::tests
