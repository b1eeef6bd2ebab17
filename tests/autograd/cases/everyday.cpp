// Everyday operations where samples and golden values do not reach: derivatives of second order at special
// points, and blocks.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// The first and second derivatives of f along x, one element at a time.
std::vector<std::vector<double>> both_derivatives(const std::function<Tensor(const Tensor&)>& f, const Tensor& at) {
  Tape tape;
  const Tensor x = at.as_leaf(), dx = tape.backward(sum(f(x)), {.create_graph = true})[x];
  const Tensor second = tape.backward(sum(dx))[x];
  return {dx.detach().to_vector<double>(), second.to_vector<double>()};
}

TEST(Everyday, DistancesOfEqualPointsHaveNoGradient) {
  const Tensor points = tensor({{1., 2.}, {-3., 0.5}}, kFloat64);
  for (const double p : {1., 2., 3., 0.5, HUGE_VAL}) {
    const auto of = both_derivatives([&](const Tensor& x) { return diagonal(cdist(x, points, p)); }, points);
    EXPECT_EQ(of[0], std::vector<double>(4, 0)) << p;
    EXPECT_EQ(of[1], std::vector<double>(4, 0)) << p;
  }
}

// Rows of a are taken in blocks of 2^21 differences.
TEST(Everyday, DistancesAreTheSameInBlocks) {
  const Tensor a = sin(arange(1200).to(kFloat32)).reshape({400, 3}),
               b = cos(arange(9000).to(kFloat32)).reshape({3000, 3});
  const auto results = [&](auto f) {
    return value_and_gradients([&](auto& x) { return f(x[0], x[1]); }, {a, b}, [](const Tensor& y) { return y; });
  };
  const auto whole = results([](const Tensor& x, const Tensor& z) { return cdist(x, z); });
  const auto parts = results([](const Tensor& x, const Tensor& z) {
    return cat({cdist(x.slice(0, 0, 150), z), cdist(x.slice(0, 150), z)});
  });
  EXPECT_TRUE(equal(whole[0], parts[0]));
  EXPECT_TRUE(equal(whole[1], parts[1]));
  EXPECT_TRUE(allclose(whole[2], parts[2], 1e-4, 1e-3));
}

// Distances as operations on all differences, and their gradients.
Tensor distances_by_operations(const Tensor& a, const Tensor& b, double p) {
  return norm(a.unsqueeze(-2) - b.unsqueeze(-3), p, -1);
}

// The value of f(a, b), and the gradients; with create_graph, these are operations, too.
std::vector<Tensor> with_gradients(auto f, const Tensor& a, const Tensor& b, bool create_graph = false) {
  const auto weights = [](const Tensor& y) { return sin(arange(y.numel()).to(y.dtype())).reshape(y.shape()); };
  return value_and_gradients([&](auto& x) { return f(x[0], x[1]); }, {a, b}, weights, create_graph);
}

void expect_distances_of_operations(const Tensor& a, const Tensor& b) {
  for (const double p : {1., 2.}) {
    const auto distances = [p](auto& x, auto& z) { return cdist(x, z, p); };
    const auto of = with_gradients(distances, a, b), expected = with_gradients(distances, a, b, true);
    EXPECT_TRUE(equal(of[0], distances_by_operations(a, b, p))) << str(a.shape()) << str(b.shape()) << ", p = " << p;
    EXPECT_TRUE(equal(of[1], expected[1])) << str(a.shape()) << str(b.shape()) << ", p = " << p;
    EXPECT_TRUE(equal(of[2], expected[2])) << str(a.shape()) << str(b.shape()) << ", p = " << p;
  }
}

// On both sides of the longest row of the kernels, 2111 elements, of their panels, 16 rows, of blocks of 128 rows, and
// of the 2^21 differences whose gradients of b are added together.
TEST(Everyday, DistancesHaveTheBitsOfOperations) {
  const std::pair<Shape, Shape> sizes[] = {{{2, 1}, {3, 1}},        {{1, 2}, {1, 2}},          {{17, 3}, {15, 3}},
                                           {{16, 16}, {33, 16}},    {{3, 13}, {19, 13}},       {{4, 193}, {33, 193}},
                                           {{127, 37}, {129, 37}},  {{257, 5}, {128, 5}},      {{700, 33}, {130, 33}},
                                           {{5, 63}, {4, 63}},      {{5, 65}, {4, 65}},        {{3, 2111}, {18, 2111}},
                                           {{3, 2112}, {18, 2112}}, {{2, 1, 9, 7}, {3, 20, 7}}};
  for (const auto& [of_a, of_b] : sizes) {
    const Tensor a = sin(arange(of_a.numel()).to(kFloat32) * 0.7).reshape(of_a);
    Tensor b = cos(arange(of_b.numel()).to(kFloat32) * 1.3).reshape(of_b);
    if (of_a.rank() == 2) b = cat({a.slice(0, 0, 1), b.slice(0, 1)});  // a distance of 0
    expect_distances_of_operations(a, b);
  }
  // Kernels are compiled for each number of whole tiles of 16 elements up to eight, and for more.
  for (int64_t width = 15; width <= 13 * 16 + 1; width += width % 16 == 1 ? 14 : 1)
    expect_distances_of_operations(sin(arange(5 * width).to(kFloat32) * 0.7).reshape({5, width}),
                                   cos(arange(18 * width).to(kFloat32) * 1.3).reshape({18, width}));
}

// cross by other operations. Gradients of what is broadcast are sums of its gradients, hence expand.
Tensor cross_by_operations(const Tensor& given_a, const Tensor& given_b) {
  const Shape shape = broadcast("cross", given_a.shape(), given_b.shape());
  const Tensor a = given_a.expand(shape), b = given_b.expand(shape);
  return roll(a, -1, -1) * roll(b, 1, -1) - roll(a, 1, -1) * roll(b, -1, -1);
}

// One pass over memory for the value, and for each gradient.
TEST(Everyday, CrossHasTheBitsOfOperations) {
  for (const DType dtype : {kFloat32, kFloat64})
    for (const auto& [of_a, of_b] : std::vector<std::pair<Shape, Shape>>{
             {{3}, {3}}, {{2, 1, 3}, {5, 3}}, {{5000, 3}, {5000, 3}}, {{0, 3}, {1, 3}}, {{4100, 3}, {3}}}) {
      const Tensor a = sin(arange(of_a.numel()).to(dtype) * 0.7).reshape(of_a);
      const Tensor b = cos(arange(of_b.numel()).to(dtype) * 1.3).reshape(of_b);
      EXPECT_TRUE(equal(cross(a, b), cross_by_operations(a, b))) << str(of_a) << str(of_b);
      const auto of = with_gradients([](auto& x, auto& z) { return cross(x, z); }, a, b);
      const auto expected = with_gradients(cross_by_operations, a, b);
      for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(equal(of[i], expected[i])) << str(of_a) << str(of_b) << i;
      Tape tape;
      EXPECT_TRUE(equal(cross(a.as_leaf(), b).detach(), of[0]));
    }
}

// Without gradients one pass, with gradients a product that is broadcast.
TEST(Everyday, KronHasTheBitsOfOperations) {
  const std::pair<Shape, Shape> sizes[] = {
      {{}, {}}, {{5}, {}}, {{512}, {33}}, {{3, 1, 2}, {17}}, {{7}, {2, 3, 4, 5}}, {{31, 6}, {4, 65}}, {{2, 0}, {3, 3}}};
  for (const DType dtype : {kFloat32, kFloat64})
    for (const auto& [of_a, of_b] : sizes) {
      const Tensor a = sin(arange(of_a.numel()).to(dtype) * 0.7).reshape(of_a);
      const Tensor b = cos(arange(of_b.numel()).to(dtype) * 1.3).reshape(of_b);
      Tape tape;
      EXPECT_TRUE(equal(kron(a, b), kron(a.as_leaf(), b).detach())) << str(of_a) << str(of_b);
      if (a.dim() != 2) continue;
      EXPECT_TRUE(equal(kron(a.t(), b), kron(a.as_leaf().t(), b).detach())) << str(of_a) << str(of_b);
    }
}

// Without gradients, and with at most 256 terms, the product is added in place.
TEST(Everyday, AddedProductsHaveTheBitsOfOperations) {
  for (const DType dtype : {kFloat32, kFloat64})
    for (const auto& [m, k, n] : std::vector<std::array<int64_t, 3>>{
             {1, 1, 1}, {32, 64, 32}, {17, 255, 65}, {300, 256, 513}, {1, 256, 200}, {33, 257, 40}, {4, 0, 5}}) {
      const auto filled = [&](const Shape& shape, double step) {
        return sin(arange(shape.numel()).to(dtype) * step).reshape(shape);
      };
      const Tensor a = filled({3, m, k}, 0.7), b = filled({3, n, k}, 1.3).transpose(1, 2);
      for (const Tensor& x : {filled({3, m, n}, 0.3), filled({n}, 0.9), filled({3, n, m}, 0.4).transpose(1, 2)})
        for (const auto& [beta, alpha] :
             std::vector<std::pair<double, double>>{{1, 1}, {1, 0.3}, {0.7, -1.1}, {0, 2}}) {
          const AddProductOptions options{.beta = beta, .alpha = alpha};
          const Tensor product = matmul(a, b) * alpha, expected = beta == 0 ? product : x * beta + product;
          EXPECT_TRUE(equal(baddbmm(x, a, b, options), expected)) << m << ' ' << k << ' ' << n << ' ' << beta;
          const Tensor row = x.dim() == 3 ? x[1] : x;
          EXPECT_TRUE(equal(addmm(row, a[1], b[1], options), beta == 0 ? product[1] : row * beta + product[1]));
        }
    }
}

// Without gradients these are one pass over memory, with gradients several operations.
TEST(Everyday, OnePassHasTheBitsOfOperations) {
  for (const DType dtype : {kFloat32, kFloat64})
    for (const Shape& shape : {Shape{}, Shape{7}, Shape{3, 30'000}}) {
      const Tensor of_a = sin(arange(shape.numel()).to(dtype) * 0.7).reshape(shape), a = of_a * 9;
      const Tensor b = cos(arange(shape.numel()).to(dtype) * 1.3).reshape(shape) * 3, c = full({1}, 0.3, dtype);
      Tape tape;
      const Tensor leaf = c.as_leaf();
      for (const double value : {1., 0.7, 0.}) {
        EXPECT_TRUE(equal(addcmul(c, a, b, value), addcmul(leaf, a, b, value).detach()));
        EXPECT_TRUE(equal(addcdiv(a, c, b, value), addcdiv(a, leaf, b, value).detach()));
      }
      EXPECT_TRUE(equal(clamp(a, c, b), minimum(maximum(a, c), b)));
      EXPECT_TRUE(equal(logaddexp(a, b), maximum(a, b) + log1p(exp(-abs(a - b)))));
      EXPECT_TRUE(equal(logaddexp2(a, b), maximum(a, b) + log1p(exp2(-abs(a - b))) / std::numbers::ln2));
    }
}

TEST(Everyday, BetaZeroLeavesTheTensorOut) {
  Tape tape;
  const Tensor x = full({2, 2}, NAN).as_leaf(), a = ones({2, 3}).as_leaf(), y = addmm(x, a, a.t(), {.beta = 0});
  EXPECT_TRUE(equal(y, full({2, 2}, 3)));
  EXPECT_EQ(tape.backward(sum(y)).find(x), nullptr);
}

// PyTorch's most frequent spellings.
TEST(Everyday, NumbersAndMethodsWherePyTorchHasThem) {
  const Tensor x = tensor({{1., 2.}, {-3., 4.}}).as_leaf(), ids = tensor({0, 1, 3}), mask = tensor({true, false});
  EXPECT_TRUE(equal(pow(2.0, x), tensor({{2., 4.}, {0.125, 16.}})));
  EXPECT_EQ(pow(0.1, x.to(kFloat64)).select(0, 0).select(0, 0).item(), 0.1);  // not 0.1 in float32
  EXPECT_TRUE(equal(pow(3, ids), tensor({1, 3, 27})));
  EXPECT_TRUE(equal(pow(0.5, ids), tensor({1., 0.5, 0.125})));
  EXPECT_TRUE(equal(where(mask, 0.5, 1.0), tensor({0.5, 1.})));
  EXPECT_TRUE(equal(where(mask, 9007199254740993, -1), tensor({9007199254740993, -1})));
  EXPECT_EQ(where(mask, 1, 0.5).dtype(), kFloat32);
  EXPECT_TRUE(equal(clamp(x, 0), clamp(x, 0, {})));
  EXPECT_TRUE(equal(clamp(x, tensor({2.})), maximum(x, tensor({2.}))));
  EXPECT_TRUE(equal(x.sum(), sum(x)) && equal(x.sum(-1, true), sum(x, -1, true)) && equal(x.mean(0), mean(x, 0)));
  Tape tape;
  const Tensor y = pow(2.0, x);
  EXPECT_TRUE(allclose(tape.backward(y.sum())[x], y.detach() * std::numbers::ln2));
  // A reduction alone, where a loss has more options.
  const Tensor logits = arange(12).to(kFloat32).reshape({4, 3}), classes = tensor({0, 2, 1, 1});
  EXPECT_TRUE(
      equal(cross_entropy(logits, classes, Reduction::none), cross_entropy(logits, classes, {Reduction::none})));
  EXPECT_TRUE(equal(cross_entropy(logits, classes, {}), cross_entropy(logits, classes, Reduction::mean)));
  EXPECT_TRUE(equal(huber_loss(logits, logits + 3, Reduction::sum),
                    huber_loss(logits, logits + 3, {.reduction = Reduction::sum})));
}

}  // namespace
}  // namespace tapegrad::tests
