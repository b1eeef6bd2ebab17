// fuse: formulas as one operation. Values, gradients and goldens of the formulas of checks/cases are checked
// with all other operations. ctest: threads families
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

// No idioms: each action is an operation on tensors.
constexpr auto kMany = [](auto x, auto y) {
  const auto z = where(x < y && !(x == 0), minimum(x * y, 0.3) - exp(-square(x)), clamp(x, -1, 1) * tanh(y) + 2);
  return z * z - 0.25 * (sin(x) + 1) * y + (x - y) * abs(x) / (3 - sqrt(1 + x * x)) + pow(y * y + 1, 1.5);
};

std::vector<uint64_t> fused_bits(const Tensor& x) {
  std::vector<uint64_t> bits;
  for (const double v : x.to(kFloat64).contiguous().to_vector<double>())
    bits.push_back(std::isnan(v) ? 0 : std::bit_cast<uint64_t>(v));
  return bits;
}

std::vector<Tensor> with_gradients_of_formula(const auto& f, const Tensor& x, const Tensor& y) {
  return value_and_gradients([&](auto& in) { return f(in[0], in[1]); }, {x, y},
                             [](const Tensor& z) { return ones_like(z); });
}

TEST(Fuse, HasTheBitsOfOperationsOnTensors) {
  Generator generator(3);
  const auto fused = [](const Tensor& a, const Tensor& b) { return fuse(kMany, a, b); };
  for (const DType dtype : {kFloat32, kFloat64}) {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{17}, Shape{0, 3}, Shape{31, 517}, Shape{5, 4099}}) {
      const Tensor x = randn(shape, kFloat64, &generator).to(dtype), y = randn(shape, kFloat64, &generator).to(dtype);
      const auto now = with_gradients_of_formula(fused, x, y), recorded = with_gradients_of_formula(kMany, x, y);
      for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(fused_bits(now[i]), fused_bits(recorded[i])) << i;
    }
    const Tensor x = randn({40, 301}, kFloat64, &generator).to(dtype);
    for (const Tensor& y : {x.t().contiguous().t(), x(range(0, 1)), x(all, range(5, 6)), x(0, 0), flip(x, {0, 1})}) {
      EXPECT_EQ(fused_bits(fused(x, y)), fused_bits(kMany(x, y)));
      EXPECT_EQ(fused_bits(fused(y, x)), fused_bits(kMany(y, x)));
    }
  }
}

TEST(Fuse, OfZerosInfinitiesAndNaN) {
  const Tensor x = tensor({0.0, -0.0, 1.0, -1.5, 1e30, kInf, -kInf, kNan}), column = x.reshape({8, 1});
  const auto order = [](auto a, auto b) {
    return where(a < b, 1, 0) + where(a <= b, 2, 0) + where(a > b, 4, 0) + where(a >= b, 8, 0) + where(a == b, 16, 0) +
           where(a != b, 32, 0) + where(a < b || !(b >= 0), 64, 0);
  };
  const auto orders = [](const Tensor& a, const Tensor& b) {
    return (a < b).to(kFloat32) + 2 * (a <= b).to(kFloat32) + 4 * (a > b).to(kFloat32) + 8 * (a >= b).to(kFloat32) +
           16 * (a == b).to(kFloat32) + 32 * (a != b).to(kFloat32) + 64 * (a < b || !(b >= 0)).to(kFloat32);
  };
  EXPECT_EQ(fused_bits(fuse(order, column, x)), fused_bits(orders(column, x)));
  EXPECT_EQ(fused_bits(fuse(kMany, column, x)), fused_bits(kMany(column, x)));
  const auto extremes = [](auto a, auto b) { return max(a, b) - min(a, b); };
  EXPECT_EQ(fused_bits(fuse(extremes, column, x)), fused_bits(maximum(column, x) - minimum(column, x)));
}

TEST(Fuse, KnowsFunctionsOfTheLibraryWrittenOut) {
  Generator generator(4);
  const double root = std::sqrt(2 / 3.14159265358979323846);
  for (const DType dtype : {kFloat32, kFloat64}) {
    const Tensor x = randn({5000}, kFloat64, &generator).to(dtype) * 4;
    const auto same = [&](const auto& formula, const Tensor& expected) {
      EXPECT_EQ(fused_bits(fuse(formula, x)), fused_bits(expected));
    };
    same([](auto v) { return 0.5 * v * (1 + erf(v / std::sqrt(2.0))); }, gelu(x));
    same([](auto v) { return v * 0.5 * (erf(v * std::sqrt(0.5)) + 1); }, gelu(x));
    same([](auto v) { return v * (1 + erf(std::sqrt(0.5) * v)); }, gelu(x) * 2);
    same([=](auto v) { return 0.5 * v * (1 + tanh(root * (v + 0.044715 * v * v * v))); }, gelu(x, Gelu::tanh));
    same([=](auto v) { return 0.5 * v * (1 + tanh(root * v * (1 + 0.044715 * v * v))); }, gelu(x, Gelu::tanh));
    same([=](auto v) { return v * sigmoid(2 * root * (v + 0.044715 * pow(v, 3))); }, gelu(x, Gelu::tanh));
    same([](auto v) { return sigmoid(v) * v; }, silu(x));
    same([](auto v) { return v / (1 + exp(-v)); }, silu(x));
    same([](auto v) { return 3 / (1 + exp(-v)); }, sigmoid(x) * 3);
    // Similar, but not the same.
    const auto as_written = [&](const auto& formula) { same(formula, formula(x)); };
    as_written([](auto v) { return 0.5 * v * (1 + erf(v * 0.7071)); });
    as_written([](auto v) { return 0.5 * v * (2 + erf(v * std::sqrt(0.5))); });
    as_written([=](auto v) { return 0.5 * v * (1 + tanh(root * (v + 0.0447 * v * v * v))); });
    as_written([](auto v) { return v * sigmoid(v + 1); });
    as_written([](auto v) { return v / (1 + exp(v)); });
  }
}

TEST(Fuse, TakesNumbers) {
  const Tensor x = tensor({1.0, -2.0, 3.0});
  const auto scaled = [](auto v, auto factor) { return v * factor + exp(factor); };
  const auto with = [&](double factor) { return fuse(scaled, x, scalar(factor)).to_vector<float>(); };
  for (double factor : {0.5, 2.0, 0.5}) {
    const auto captured = [factor](auto v) { return factor * v + std::exp(factor); };
    expect_near(fuse(captured, x), x * factor + std::exp(factor));
    EXPECT_EQ(fuse([](auto v, auto by) { return v * by; }, x, factor).to_vector<float>(),
              (x * factor).to_vector<float>());
    EXPECT_EQ(with(factor), (x * factor + exp(scalar(factor))).to_vector<float>());
  }
  EXPECT_EQ(fuse([](auto) { return 2; }, x).to_vector<float>(), (std::vector<float>{2, 2, 2}));
  EXPECT_EQ(fuse([](auto v) { return pow(v, 0) + pow(v, 1); }, x).to_vector<float>(), (std::vector<float>{2, -1, 4}));
}

TEST(Fuse, IsOneNode) {
  const Tensor x = ones({3}).as_leaf(), unused = ones({2, 1}).as_leaf();
  Tape tape;
  const Tensor y = fuse([](auto a, auto) { return a; }, x, unused);
  EXPECT_EQ(tape.op_name(tape.size() - 1), "fuse");
  const int64_t before = tape.size();
  (void)fuse(kMany, x, x);
  EXPECT_EQ(tape.size(), before + 1);
  EXPECT_EQ(y.shape(), (Shape{2, 3}));
  const Gradients grads = tape.backward(sum(y));
  EXPECT_EQ(grads[x].to_vector<float>(), (std::vector<float>{2, 2, 2}));
}

TEST(Fuse, DerivativesToFourthOrder) {
  const Tensor x = tensor({0.3, -1.2, 2.0}, kFloat64).as_leaf();
  Tape tape;
  Tensor y = fuse([](auto v) { return sin(v) * exp(2 * v) / (1 + v * v); }, x);
  Tensor expected = sin(x) * exp(2 * x) / (1 + x * x);
  for (int order = 1; order <= 4; ++order) {
    y = tape.backward(sum(y), {.create_graph = true})[x];
    expected = tape.backward(sum(expected), {.create_graph = true})[x];
    EXPECT_LE(max(abs(y - expected)).item(), 1e-9 * max(abs(expected)).item()) << order;
  }
}

// Every function that a formula may call, to second order.
TEST(Fuse, EveryFunction) {
  const Tensor x = tensor({0.31, 0.72, -0.43, 0.17}, kFloat64), positive = tensor({0.31, 0.72, 0.43, 0.17}, kFloat64);
  const auto check = [](const auto& f, const Tensor& at) {
    EXPECT_EQ(fused_bits(fuse(f, at)), fused_bits(f(at)));
    EXPECT_TRUE(gradcheck([&](const Tensor& v) { return fuse([&](auto s) { return f(s) + 0.3 * s * s; }, v); }, {at}));
  };
  check([](auto v) { return exp(v) + expm1(v) + exp2(v) + square(v) + sinc(v) + abs(v); }, x);
  check([](auto v) { return sin(v) + cos(v) + tan(v) + asin(v) + acos(v) + atan(v); }, x);
  check([](auto v) { return sinh(v) + cosh(v) + tanh(v) + asinh(v) + acosh(v + 2) + atanh(v) + erf(v); }, x);
  check([](auto v) { return sigmoid(v) + relu(v) + silu(v) + gelu(v) + gelu(v, Gelu::tanh) + log_sigmoid(v); }, x);
  check([](auto v) { return softplus(v) + mish(v) + elu(v) + selu(v) + leaky_relu(v) + softsign(v); }, x);
  check([](auto v) { return hardsigmoid(v) + hardswish(v) + floor(v) + ceil(v) + round(v) + trunc(v) + sign(v); }, x);
  check([](auto v) { return log(v) + log1p(v) + log2(v) + log10(v) + reciprocal(v) + sqrt(v) + rsqrt(v) + logit(v); },
        positive);
  check([](auto v) { return pow(v, 2) + pow(v, 3) + pow(v, 0.5) + pow(v, -0.5) + pow(v, -1) + pow(v, 1.7); }, positive);
  check([](auto v) { return pow(v + 1, v) + atan2(v, 1 - v) + maximum(v, 0.4) - minimum(v * v, v); }, positive);
}

TEST(Fuse, TheGradientOfAStepIsZero) {
  const Tensor x = tensor({-1.5, 0.0, 2.5}).as_leaf(), z = ones({2, 3}).as_leaf();
  for (const bool again : {false, true}) {
    const Gradients grads =
        Tape().backward(sum(fuse([](auto a, auto b) { return floor(a) + b; }, x, z)), {.create_graph = again});
    EXPECT_EQ(grads[x].to_vector<float>(), (std::vector<float>{0, 0, 0}));
    EXPECT_EQ(grads[z].to_vector<float>(), std::vector<float>(6, 1));
  }
}

TEST(Fuse, LongFormulas) {
  const Tensor x = rand({1000});
  const auto sum_of_powers = [](auto v) {
    auto y = v, power = v;
    for (int i = 0; i < 200; ++i) {
      power = power * v;
      y += power * (i % 7 - 3);
    }
    return y;
  };
  EXPECT_EQ(fused_bits(fuse(sum_of_powers, x)), fused_bits(sum_of_powers(x)));
  const auto squares = [](auto v) {  // 2^40 factors
    for (int i = 0; i < 40; ++i) v = v * v;
    return v;
  };
  EXPECT_EQ(fused_bits(fuse(squares, x)), fused_bits(squares(x)));
}

TEST(Fuse, Errors) {
  const Tensor x = ones({2, 3});
  const auto add_formula = [](auto a, auto b) { return a + b; };
  EXPECT_ERROR(fuse(add_formula, x, ones({4})));
  EXPECT_ERROR(fuse(add_formula, x, ones({3}, kInt64)));
  EXPECT_ERROR(fuse(add_formula, x, ones({3}, kFloat64)));
  EXPECT_EQ(fuse(add_formula, x, scalar(1, kFloat64)).dtype(), kFloat32);
  EXPECT_EQ(fuse(add_formula, scalar(1), ones({3}, kFloat64)).dtype(), kFloat64);
  EXPECT_ERROR(fuse([](auto a) { return a + exp(Symbol(1)); }, x));
  EXPECT_ERROR(fuse([](auto a) { return clamp(a, std::nullopt, std::nullopt); }, x));
  const auto nested = [&](auto a) {
    (void)fuse([&](auto b) { return a + b; }, x);
    return a;
  };
  EXPECT_ERROR(fuse(nested, x));
}

TEST(Fuse, ASymbolEndsWithItsCall) {
  const Tensor x = tensor({0.5, 1.5});
  const std::string text =
      "[fuse] expected symbols of this call of the formula, got one of an earlier call (a symbol ends with its call)";
  std::optional<Symbol> kept;
  std::optional<SymbolCondition> condition;
  bool keeps = true, returns = false;
  // One type of formula, whose calls use one graph after the other.
  const auto formula = [&](auto a) -> Symbol {
    if (keeps) kept = a, condition = a > 1;
    return returns ? *kept : a + *kept;
  };
  expect_near(fuse(formula, x), 2 * x);
  keeps = false;
  EXPECT_EQ(error_of([&] { fuse(formula, x); }), text);
  returns = true;
  EXPECT_EQ(error_of([&] { fuse(formula, x); }), text);
  EXPECT_EQ(error_of([&] { fuse([&](auto a) { return where(*condition, a, 0); }, x); }), text);
  EXPECT_EQ(error_of([&] { fuse([&](auto) { return *kept; }, x); }), text);
  EXPECT_EQ(error_of([&] { (void)(*kept + 1); }), text);
  EXPECT_EQ(error_of([&] { (void)-*kept; }), text);
  EXPECT_EQ(error_of([&] { (void)exp(*kept); }), text);
  keeps = true;
  expect_near(fuse(formula, x), x);  // after the errors
}

TEST(Fuse, AFormulaMayCallItsOwnType) {
  const Tensor x = tensor({0.5, 1.5});
  int depth = 0;
  Tensor inner;
  const auto formula = [&](auto self, auto a) -> Symbol {
    if (depth++ < 3) inner = fuse([&](auto b) { return self(self, b); }, x);
    return 2 * a;
  };
  expect_near(fuse([&](auto a) { return formula(formula, a); }, x), 2 * x);
  expect_near(inner, 2 * x);
}

}  // namespace
}  // namespace tapegrad::tests
