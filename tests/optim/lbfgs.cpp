// LBFGS where losses and gradients are not finite.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

using tests::error_of;

// sum(p - log p) is NaN for negative p, infinite at 0, and has its minimum 3 at 1.
double log_barrier_step(optim::LBFGS& lbfgs, const Tensor& p) {
  return lbfgs.step([&] {
    Tape tape;
    const Tensor loss = sum(p - log(p));
    return optim::Evaluation{loss.item(), tape.backward(loss)};
  });
}

TEST(LBFGS, TheLineSearchStaysWhereTheLossIsFinite) {
  for (const DType dtype : {kFloat32, kFloat64})
    for (const double start : {0.1, 2., 5., 20., 1000.}) {
      const Tensor p = (tensor({1., 2., 0.3}) * start).to(dtype).as_leaf();
      optim::LBFGS lbfgs({{"p", p}}, {.strong_wolfe = true});
      for (int i = 0; i < 10; ++i) EXPECT_TRUE(std::isfinite(log_barrier_step(lbfgs, p)));
      for (const double x : p.to(kFloat64).to_vector<double>()) EXPECT_NEAR(x, 1, 2e-3) << "from " << start;
    }
}

TEST(LBFGS, AStepOfFixedLengthIntoNaNIsAnErrorAndIsTakenBack) {
  // From 0.1, the gradient is -9: a step of length 1 ends at 9.1, the next one far below 0.
  for (const int64_t most : {1, 2, 20}) {  // with 1, the end of the step is first evaluated by the next call
    const Tensor p = tensor({0.1, 0.1}).as_leaf();
    optim::LBFGS lbfgs({{"p", p}}, {.lr = 30, .max_iterations = most});
    std::string error = "no error";
    for (int i = 0; i < 20 && error == "no error"; ++i) error = error_of([&] { log_barrier_step(lbfgs, p); });
    EXPECT_TRUE(error.starts_with("[lbfgs] the loss or its gradient is not finite after ")) << error;
    EXPECT_TRUE(
        error.ends_with("; the parameters have the values of the last point where both were (a smaller lr, "
                        "strong_wolfe, or Tape::trap_nan, which finds the operation)"))
        << error;
    for (const float x : p.to_vector<float>()) EXPECT_GT(x, 0) << most;
  }
}

TEST(LBFGS, LossesThatAreNowhereFiniteAreErrors) {
  for (const bool wolfe : {false, true}) {
    const Tensor p = tensor({1.}).as_leaf();
    optim::LBFGS lbfgs({{"p", p}}, {.strong_wolfe = wolfe});
    int calls = 0;
    const auto step = [&](int finite_calls, double loss, double slope) {
      calls = 0;
      return error_of([&] {
        lbfgs.step([&] {
          const bool good = calls++ < finite_calls;
          return optim::Evaluation{good ? 1 : loss, tests::gradients_given({{p, full({1}, good ? 1 : slope)}})};
        });
      });
    };
    const std::string start = "[lbfgs] the loss or its gradient is not finite ";
    EXPECT_TRUE(step(0, NAN, 1).starts_with(start + "at the start; ")) << step(0, NAN, 1);
    EXPECT_TRUE(step(0, 0.5, INFINITY).starts_with(start + "at the start; "));
    EXPECT_TRUE(step(1, -INFINITY, 1).starts_with(start + (wolfe ? "at any of " : "after a step of length 1; ")));
    EXPECT_TRUE(step(1, 0.5, NAN).starts_with(start + (wolfe ? "at any of " : "after a step of length 1; ")));
    EXPECT_EQ(p.item(), 1);
    // What the evaluation throws leaves the last good point, too.
    EXPECT_TEXT(error_of([&] {
      calls = 0;
      lbfgs.step([&] {
        if (calls++ > 0) fail("mine", "not positive definite");
        return optim::Evaluation{1, tests::gradients_given({{p, ones({1})}})};
      });
    }));
    EXPECT_EQ(p.item(), 1);
  }
}

}  // namespace
}  // namespace tapegrad
