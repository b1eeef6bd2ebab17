// Custom operations: record() and custom().
#include <gtest/gtest.h>
#include <tapegrad/autograd/gradcheck.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>

#include <vector>

namespace tapegrad::tests {
namespace {

Tensor number(double value) { return scalar(value, kFloat64); }

const Op kSoftplus{"softplus"};
Tensor softplus(const Tensor& x) {
  const Tensor y = log1p(exp(x.detach()));
  return record(kSoftplus, y, {x}, [x](const Tensor& dy) -> Grads { return dy * sigmoid(x); });
}

TEST(CustomOperation, PassesGradcheckToSecondOrder) {
  EXPECT_TRUE(gradcheck(softplus, {tensor({{0.3, -1.0}, {2.0, 0.1}}, kFloat64)}));
  EXPECT_TRUE(gradcheck(softplus, {tensor({{0.3, -1.0}, {2.0, 0.1}}, kFloat64).t()}));
  EXPECT_TRUE(gradcheck(softplus, {number(0.4).expand({3})}));
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
  const Tensor x = number(3).as_leaf();
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

}  // namespace
}  // namespace tapegrad::tests
