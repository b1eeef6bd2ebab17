// Custom operations: record() and custom().
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

Tensor custom_number(double value) { return scalar(value, kFloat64); }

const Op kSoftplus{"softplus"};
Tensor own_softplus(const Tensor& x) {
  const Tensor y = log1p(exp(x.detach()));
  return record(kSoftplus, y, {x}, [x](const Tensor& dy) -> Grads { return dy * sigmoid(x); });
}

TEST(CustomOperation, PassesGradcheckToSecondOrder) {
  EXPECT_TRUE(gradcheck(own_softplus, {tensor({{0.3, -1.0}, {2.0, 0.1}}, kFloat64)}));
  EXPECT_TRUE(gradcheck(own_softplus, {tensor({{0.3, -1.0}, {2.0, 0.1}}, kFloat64).t()}));
  EXPECT_TRUE(gradcheck(own_softplus, {custom_number(0.4).expand({3})}));
}

const Op kCube{"cube"};
Tensor cube(const Tensor& x) {
  return custom(
      kCube, {x}, [](const Tensor& in) { return in * in * in; },
      [x](const Tensor& dy) -> Grads { return dy * 3 * x * x; });
}

const Op kScaledExp{"scaled_exp"};
Tensor scaled_exp(const Tensor& x, const Tensor& scale) {
  return custom(
      kScaledExp, {x, scale}, [](const Tensor& a, const Tensor& s) { return exp(a * s); },
      [x, scale](const Tensor& dy, const Tensor& y) -> Grads {
        return {dy * y * scale, dy * y * x};
      });
}

TEST(CustomOperation, IsOneNodeAndPassesGradcheck) {
  const Tensor x = tensor({{0.3, -1.0}, {2.0, 0.1}}, kFloat64);
  EXPECT_TRUE(gradcheck(cube, {x}));
  EXPECT_TRUE(gradcheck(scaled_exp, {x, tensor({0.5, 0.2}, kFloat64)}));
  Tape tape;
  const Tensor leaf = x.as_leaf();
  cube(leaf);
  EXPECT_EQ(tape.size(), 2);
  EXPECT_EQ(tape.op_name(1), "cube");
}

TEST(CustomOperation, MayReturnItsInput) {
  const Tensor x = custom_number(3).as_leaf();
  Tape tape;
  const Tensor y = custom(
      kCube, {x}, [](const Tensor& in) { return in; }, [](const Tensor& dy) -> Grads { return dy * 7; });
  EXPECT_EQ(tape.backward(y)[x].item(), 7);
  EXPECT_TRUE(x.is_leaf());
}

TEST(CustomOperation, TakesManyInputsOfWhichSomeAreConstants) {
  const auto weighted = [](std::span<const Tensor> x) {
    Tensor y = zeros({2}, kFloat64);
    for (std::size_t i = 0; i < x.size(); ++i) y = y + x[i].detach() * static_cast<double>(i + 1);
    return record(kSoftplus, y, x, [count = x.size()](const Tensor& dy) -> Grads {
      Grads grads;
      for (std::size_t i = 0; i < count; ++i) grads.push_back(dy * static_cast<double>(i + 1));
      return grads;
    });
  };
  const std::vector<Tensor> inputs(7, tensor({1.0, 2.0}, kFloat64));
  const GradcheckReport report = gradcheck(weighted, inputs);
  EXPECT_TRUE(report.ok) << report.text;
}

TEST(CustomOperation, MayReturnATensorThatItHolds) {
  static const Op kHeld{"held"};
  const Tensor constant = tensor({1., 2.}), w = tensor({5., 7.}).as_leaf(), v = tensor({1., 1.}).as_leaf();
  Tape tape;
  const Tensor of_input = custom(
      kHeld, {constant, w}, [](const Tensor& x, const Tensor&) { return x; },
      [](const Tensor& dy) -> Grads {
        return {Tensor(), dy};
      });
  const auto held = [&](const Tensor& in) {
    return custom(
        kHeld, {in}, [&](const Tensor&) { return constant; }, [](const Tensor& dy) -> Grads { return dy; });
  };
  EXPECT_EQ(constant.tape_index().tape, 0u);
  const Gradients grads = tape.backward(sum(of_input) + sum(constant * 100) + sum(held(w) * 10) + sum(held(v) * 1000));
  EXPECT_EQ(grads[w].to_vector<float>(), (std::vector<float>{11, 11}));
  EXPECT_EQ(grads[v].to_vector<float>(), (std::vector<float>{1000, 1000}));
}

TEST(CustomOperation, NeedsABackward) {
  static const Op kNone{"none"};
  const Tensor x = tensor({1., 2.}).as_leaf();
  Tape tape;
  EXPECT_EQ(error_of([&] { record(kNone, x * 2, {x}, Backward()); }),
            "[none] recorded without a backward: expected a function of dy, got an empty one");
}

}  // namespace
}  // namespace tapegrad::tests
