// NAdam's products of all factors mu, which it has in constant memory.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

// `steps` steps of NAdam with gradients that differ by step; from its state after `resumed` of them. A frozen parameter
// takes no part in steps 3 to 6.
std::vector<double> nadam_values(int steps, int resumed, bool freezes = false, double beta1 = 0.9) {
  const Tensor p = tensor({1.0, -2.0}, kFloat64).as_leaf(), q = tensor({3.0}, kFloat64).as_leaf();
  const NamedTensors parameters{{"p", p}, {"q", q}};
  auto nadam = std::make_unique<optim::NAdam>(parameters, optim::NAdamOptions{.beta1 = beta1});
  for (int step = 0; step < steps; ++step) {
    if (step == resumed) {
      const NamedTensors state = nadam->state();
      nadam = std::make_unique<optim::NAdam>(parameters, optim::NAdamOptions{.beta1 = beta1});
      nadam->load_state(state);
    }
    q.set_frozen(freezes && step >= 3 && step < 7);
    Tape tape;
    nadam->step(tape, sum(p * p) + sum(sin(q)) * (1 + step % 3));
  }
  q.set_frozen(false);
  std::vector<double> values = p.to_vector<double>();
  values.push_back(q.item());
  return values;
}

TEST(NAdam, ContinuesInTheSameBits) {
  for (const bool freezes : {false, true}) {
    const auto unbroken = nadam_values(12, -1, freezes);
    for (int resumed = 0; resumed < 12; ++resumed) EXPECT_EQ(nadam_values(12, resumed, freezes), unbroken) << resumed;
  }
  // Products of mu become subnormal, and stay as they are.
  EXPECT_EQ(nadam_values(9000, 8000), nadam_values(9000, -1));
  EXPECT_EQ(nadam_values(2000, 1500, true, 0.5), nadam_values(2000, -1, true, 0.5));
}

// The formula of nadam.h, with the product of all mu.
TEST(NAdam, MultipliesAllFactors) {
  const Tensor p = tensor({1.0}, kFloat64).as_leaf();
  optim::NAdam nadam({{"p", p}}, {});
  double product = 1, m = 0, v = 0, expected = 1;
  const auto mu = [](int t) { return 0.9 * (1 - 0.5 * std::pow(0.96, t * 4e-3)); };
  for (int t = 1; t <= 8000; ++t) {
    const double g = std::sin(t);
    nadam.step(tests::gradients_given({{p, tensor({g}, kFloat64)}}));
    product *= mu(t);
    m = std::fma(g, 1 - 0.9, m * 0.9);
    v = v * 0.999 + (1 - 0.999) * g * g;
    const double rate = 2e-3 * (1 - mu(t)) / (1 - product), next = 2e-3 * mu(t + 1) / (1 - product * mu(t + 1));
    expected -= (rate * g + next * m) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
    ASSERT_NEAR(p.item(), expected, 1e-9) << t;
  }
}

TEST(NAdam, ContinuesAfterAnyNumberOfSteps) {
  const Tensor p = tensor({1.0}, kFloat64).as_leaf();
  optim::NAdam nadam({{"p", p}}, {});
  NamedTensors state = nadam.state();
  const int64_t many = int64_t{1} << 40;
  state[0].tensor = tensor(std::vector<int64_t>{many, many}, {2});
  nadam.load_state(state);
  Tape tape;
  nadam.step(tape.backward(sum(p * p)));
  EXPECT_EQ(nadam.steps(), many + 1);
  EXPECT_LT(p.item(), 1);
}

}  // namespace
}  // namespace tapegrad
