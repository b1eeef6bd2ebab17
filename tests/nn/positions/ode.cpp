// Differential equations: known solutions, the orders of the methods, and gradients by both methods.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

using nn::OdeOptions;
using nn::OdeSolver;
using tests::error_of;

// h' = A h with A = [[0, 1], [-1, 0]]: a turn by t.
const nn::OdeSlope kTurn = [](double, const Tensor& h, std::span<const Tensor>) { return stack({h[1], -h[0]}); };

double error_of_turn(const OdeOptions& options, double end) {
  const double times[] = {0, end / 2, end};
  const Tensor h = nn::odeint(kTurn, tensor({1.0, 0.0}).to(kFloat64), {}, times, options);
  return std::hypot(h[2][0].item() - std::cos(end), h[2][1].item() + std::sin(end));
}

TEST(Ode, RungeKuttaIsOfOrderFour) {
  const double coarse = error_of_turn({.steps = 20}, 3), fine = error_of_turn({.steps = 40}, 3);
  EXPECT_LT(coarse, 1e-5);
  EXPECT_NEAR(coarse / fine, 16, 0.5);
}

TEST(Ode, DormandPrinceKeepsItsTolerance) {
  for (const double tolerance : {1e-4, 1e-6, 1e-8, 1e-10}) {
    for (const double end : {3.0, -3.0, 20.0}) {
      const double error = error_of_turn({.solver = OdeSolver::dopri5, .tolerance = tolerance}, end);
      EXPECT_LT(error, 50 * tolerance) << end;
      EXPECT_GT(error, 0) << end;
    }
  }
}

TEST(Ode, DormandPrinceReadsTheSolutionInsideOfItsSteps) {
  std::vector<double> times;
  for (int i = 0; i <= 200; ++i) times.push_back(0.05 * i);
  int slopes = 0;
  const nn::OdeSlope counted = [&](double, const Tensor& h, std::span<const Tensor>) {
    ++slopes;
    return stack({h[1], -h[0]});
  };
  const Tensor h =
      nn::odeint(counted, tensor({1.0, 0.0}).to(kFloat64), {}, times, {.solver = OdeSolver::dopri5, .tolerance = 1e-7});
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_NEAR(h[static_cast<int64_t>(i)][0].item(), std::cos(times[i]), 1e-5) << times[i];
  }
  EXPECT_LT(slopes, 6 * 100);  // fewer steps than times
}

TEST(Ode, EarlierResultsDoNotDependOnLaterTimes) {
  for (const OdeSolver solver : {OdeSolver::rk4, OdeSolver::dopri5}) {
    const double few[] = {0, 0.1, 0.7}, many[] = {0, 0.1, 0.7, 0.9, 5};
    const Tensor start = tensor({1.0, 0.5});
    const Tensor first = nn::odeint(kTurn, start, {}, few, {.solver = solver});
    EXPECT_EQ(nn::odeint(kTurn, start, {}, many, {.solver = solver}).slice(0, 0, 3).to_vector<float>(),
              first.to_vector<float>());
  }
}

// Steps grow while nothing happens; the first one into h' = -h^3 overflows.
TEST(Ode, DormandPrinceRepeatsStepsThatOverflow) {
  const nn::OdeSlope slope = [](double t, const Tensor& h, std::span<const Tensor>) {
    return t < 1 ? zeros_like(h) : -h * h * h;
  };
  const double times[] = {0, 50, 50.5};
  const Tensor h = nn::odeint(slope, full({1}, 100), {}, times, {.solver = OdeSolver::dopri5});
  EXPECT_NEAR(h[2].item() / h[1].item(), std::sqrt(49 / 49.5), 2e-3);
}

TEST(Ode, WhatIsNotFiniteIsNotLost) {
  const double times[] = {0, 1};
  const OdeOptions adaptive{.solver = OdeSolver::dopri5};
  EXPECT_TRUE(std::isnan(nn::odeint(kTurn, tensor({NAN, 0.0}), {}, times, adaptive)[1][0].item()));
  const nn::OdeSlope steep = [](double, const Tensor& h, std::span<const Tensor>) { return h * INFINITY; };
  EXPECT_FALSE(std::isfinite(nn::odeint(steep, ones({2}), {}, times, adaptive)[1][0].item()));
  const nn::OdeSlope ends = [](double t, const Tensor& h, std::span<const Tensor>) { return t < 0.5 ? h : h * NAN; };
  EXPECT_EQ(error_of([&] { nn::odeint(ends, ones({2}), {}, times, adaptive); }).substr(0, 25),
            "[odeint] the steps at t =");
}

struct Gradients2 {
  Tensor h, start, weight;
};

Gradients2 gradients_of(const OdeOptions& options) {
  manual_seed(3);
  const Tensor start = randn({4, 3}, kFloat64).as_leaf(), weight = randn({3, 3}, kFloat64).as_leaf();
  const double times[] = {0, 0.4, 1.1, 1.5};
  const nn::OdeSlope slope = [](double t, const Tensor& h, std::span<const Tensor> p) {
    return tanh(matmul(h, p[0]) + t);
  };
  Tape tape;
  const Tensor h = nn::odeint(slope, start, {&weight, 1}, times, options);
  const Gradients grads = tape.backward(sum(h * h * h));
  return {h.detach(), grads[start], grads[weight]};
}

// Both methods agree up to the error of the solution.
TEST(Ode, AdjointGradientsAreThoseThroughTheSolver) {
  const auto difference = [](const OdeOptions& options) {
    OdeOptions other = options;
    other.adjoint = true;
    const Gradients2 through = gradients_of(options), adjoint = gradients_of(other);
    EXPECT_EQ(through.h.to_vector<double>(), adjoint.h.to_vector<double>());
    return std::max(amax(abs(through.start - adjoint.start)).item(), amax(abs(through.weight - adjoint.weight)).item());
  };
  EXPECT_LT(difference({.steps = 64}), 1e-8);
  EXPECT_GT(difference({.steps = 1}), 1e-6);
  for (const double tolerance : {1e-5, 1e-8, 1e-11}) {
    EXPECT_LT(difference({.solver = OdeSolver::dopri5, .tolerance = tolerance}), 300 * tolerance) << tolerance;
  }
}

// h' = -4 h^2: solved backwards, errors of h grow, to about 2,400 times from t = 12 to 0, unless each stretch starts
// from the forward solution. h(t) = 1 / (1 + 4 t), and dh(t)/dh(0) = h(t)^2.
TEST(Ode, AdjointStartsEachStretchFromTheForwardSolution) {
  const nn::OdeSlope fast = [](double, const Tensor& h, std::span<const Tensor>) { return square(h) * -4; };
  std::vector<double> times;
  for (int i = 0; i <= 12; ++i) times.push_back(i);
  const Tensor start = ones({1}, kFloat64).as_leaf();
  Tape tape;
  const Tensor h =
      nn::odeint(fast, start, {}, times, {.solver = OdeSolver::dopri5, .tolerance = 1e-6, .adjoint = true});
  const Gradients grads = tape.backward(sum(h));
  double expected = 0;
  for (const double t : times) expected += std::pow(1 + 4 * t, -2);
  EXPECT_NEAR(grads[start].item(), expected, 2e-5);
}

TEST(Ode, AdjointGradientsNeedThoseOfTheSlopeForASecondOrder) {
  const double times[] = {0, 1};
  const nn::OdeSlope slope = [](double, const Tensor& h, std::span<const Tensor> p) { return sin(h) * p[0]; };
  const nn::OdeSlopeGradients of_slope = [](double, const Tensor& h, std::span<const Tensor> p, const Tensor& a) {
    return std::vector<Tensor>{a * cos(h) * p[0], a * sin(h)};
  };
  const auto second_order = [&](const nn::OdeSlopeGradients& gradients) {
    const Tensor start = ones({2}, kFloat64).as_leaf(), p = (ones({2}, kFloat64) * 0.5).as_leaf();
    Tape tape;
    const Tensor h = nn::odeint(slope, start, {&p, 1}, times, {.steps = 32, .adjoint = true}, gradients);
    const Gradients first = tape.backward(sum(h), {.create_graph = true});
    return tape.backward(sum(first[start] * first[p]))[p];
  };
  EXPECT_EQ(
      error_of([&] { second_order({}); }),
      "[ode_adjoint] cannot be differentiated twice without the gradients of the slope (pass `gradients` to odeint)");
  EXPECT_TRUE(all_finite(second_order(of_slope)));
}

TEST(Ode, NotANumberReachesTheResult) {
  const double times[] = {0, 1, 2};
  const nn::OdeSlope slope = [](double, const Tensor& h, std::span<const Tensor>) { return h * std::nan(""); };
  for (const OdeSolver solver : {OdeSolver::rk4, OdeSolver::dopri5}) {
    EXPECT_TRUE(std::isnan(nn::odeint(slope, ones({1}), {}, times, {.solver = solver})[2].item()));
  }
}

TEST(Ode, Errors) {
  const auto of = [](std::vector<double> times, const OdeOptions& options = {}) {
    return error_of([&] { nn::odeint(kTurn, ones({2}), {}, times, options); });
  };
  EXPECT_EQ(of({}), "[odeint] expected at least one time, got none");
  EXPECT_EQ(of({0, 1, 1}), "[odeint] expected increasing or decreasing times, got 1 after 1");
  EXPECT_EQ(of({0, 1, 0.5}), "[odeint] expected increasing or decreasing times, got 0.5 after 1");
  EXPECT_EQ(of({0, 1}, {.steps = 0}), "[odeint] expected steps > 0, got 0");
  EXPECT_EQ(of({3}), "no error");
  EXPECT_EQ(of({0, INFINITY}), "[odeint] expected finite times, got inf");
  EXPECT_EQ(of({NAN}), "[odeint] expected finite times, got nan");
  const double ends[] = {0, 1};
  const nn::OdeSlope wide = [](double, const Tensor& h, std::span<const Tensor>) { return h.unsqueeze(0); };
  for (const bool adjoint : {false, true}) {
    EXPECT_EQ(error_of([&] { nn::odeint(wide, ones({2}), {}, ends, {.adjoint = adjoint}); }),
              "[odeint] expected a slope of the shape of h, [2], got [1, 2]");
  }
  EXPECT_EQ(error_of([&] { nn::odeint(kTurn, ones({2}, kInt64), {}, ends); }),
            "[odeint] expected float32 or float64, got int64");
  EXPECT_EQ(error_of([] { nn::ode_solver_named("euler"); }), "[odeint] expected one of rk4, dopri5, got \"euler\"");
  const double times[] = {0, 2};
  const nn::OdeSlope explosion = [](double, const Tensor& h, std::span<const Tensor>) { return h * h; };
  EXPECT_TRUE(error_of([&] {
                nn::odeint(explosion, ones({1}, kFloat64), {}, times, {.solver = OdeSolver::dopri5});
              }).starts_with("[odeint] the steps at t = 1.0"));
}

}  // namespace
}  // namespace tapegrad
