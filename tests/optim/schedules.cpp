// Schedules against PyTorch 2.15 (data/make_optim_net.py), and averages of weights.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

using tests::error_of;

// The rates of these steps.
void expect_at(const optim::Schedule& schedule, const std::vector<std::pair<int64_t, double>>& rates) {
  for (const auto& [step, rate] : rates) EXPECT_NEAR(schedule(step), rate, 1e-15 * rate) << "step " << step;
}

TEST(Schedules, Values) {
  const double peak = std::pow(512, -0.5) * std::pow(4000, -0.5);
  expect_at(optim::Noam{.hidden_size = 512, .warmup = 4000}, {{1, peak / 4000}, {4000, peak}, {16000, peak / 2}});
  expect_at(optim::Noam{.hidden_size = 64, .warmup = 3, .factor = 2}, {{1, std::pow(3, -1.5) / 4}, {4, 0.125}});
  expect_at(optim::LinearWarmup{.lr = 1, .warmup = 4}, {{1, 0.25}, {4, 1}, {400, 1}});
  expect_at(optim::WarmupCosine{.lr = 1, .warmup = 10, .total = 110, .min_lr = 0.1},
            {{5, 0.5}, {10, 1}, {60, 0.55}, {110, 0.1}, {1000, 0.1}});
  expect_at(optim::StepDecay{.lr = 1, .every = 3, .gamma = 0.5}, {{3, 1}, {4, 0.5}, {7, 0.25}});
  expect_at(optim::Constant{.lr = 0.1}, {{7, 0.1}});
  expect_at(optim::InverseRoot{.lr = 2, .warmup = 4}, {{1, 0.5}, {4, 2}, {16, 1}});
  expect_at(optim::WarmupStableDecay{.lr = 1, .warmup = 2, .stable = 3, .decay = 4, .min_lr = 0.2},
            {{1, 0.5}, {2, 1}, {5, 1}, {7, 0.6}, {9, 0.2}, {90, 0.2}});
  expect_at([](int64_t step) { return 1 / static_cast<double>(step); }, {{4, 0.25}});
}

// NoamOpt is Adam at the rates of Noam, bit for bit, also while backward runs.
TEST(Schedules, NoamOptIsAdamAtTheRatesOfNoam) {
  const auto trained = [](auto&& step_of) {
    manual_seed(0);
    nn::Linear model(3, 2);
    const Tensor x = randn({4, 3}), y = randn({4, 2});
    auto step = step_of(nn::parameters(model));
    for (int i = 0; i < 6; ++i) {
      Tape tape;
      step(tape, mse_loss(model(x), y));
    }
    return bits_of(nn::state_dict(model));
  };
  const std::string by_hand = trained([](NamedTensors parameters) {
    auto adam = std::make_shared<optim::Adam>(parameters, optim::AdamOptions{.beta2 = 0.98, .eps = 1e-9});
    return [adam](Tape& tape, const Tensor& loss) {
      adam->set_lr(optim::Noam{.hidden_size = 64, .warmup = 3, .factor = 2}(adam->steps() + 1));
      adam->step(tape.backward(loss));
    };
  });
  const optim::NoamOptions options{.hidden_size = 64, .factor = 2, .warmup = 3};
  for (const bool in_backward : {false, true}) {
    EXPECT_EQ(by_hand, trained([&](NamedTensors parameters) {
                auto noam = std::make_shared<optim::NoamOpt>(parameters, options);
                EXPECT_EQ(noam->rate(), 0);
                return [noam, in_backward](Tape& tape, const Tensor& loss) {
                  in_backward ? noam->step(tape, loss) : noam->step(tape.backward(loss));
                  EXPECT_EQ(noam->rate(), noam->optimizer().lr());
                  EXPECT_EQ(noam->rate(noam->optimizer().steps()), noam->rate());
                };
              }));
  }
  nn::Linear model(3, 2);
  EXPECT_ERROR(optim::NoamOpt(nn::parameters(model), {.hidden_size = 0}));
}

void expect_rates(const std::string& name, const optim::Schedule& schedule) {
  const Json& rates = tests::stored("optim_net.json")["schedules"][name];
  for (std::size_t i = 0; i < rates.size(); ++i)
    EXPECT_NEAR(schedule(static_cast<int64_t>(i) + 1), rates[i].get<double>(), 1e-12) << name << ", step " << i + 1;
}

TEST(Schedules, EqualPyTorchs) {
  expect_rates("cosine", optim::Cosine{.lr = 0.3, .total = 7, .min_lr = 0.01});
  expect_rates("multi_step", optim::MultiStep{.lr = 0.3, .milestones = {3, 7, 7, 20}, .gamma = 0.5});
  expect_rates("exponential", optim::Exponential{.lr = 0.3, .gamma = 0.9});
  expect_rates("linear", optim::Linear{.lr = 0.3, .total = 10, .start_factor = 0.25, .end_factor = 1});
  expect_rates("polynomial", optim::Polynomial{.lr = 0.3, .total = 10, .power = 2});
  expect_rates("cosine_restarts", optim::CosineRestarts{.lr = 0.3, .period = 7, .min_lr = 0.01});
  expect_rates("cosine_restarts_growing", optim::CosineRestarts{.lr = 0.3, .period = 3, .growth = 2, .min_lr = 0.01});
  using Anneal = optim::OneCycle::Anneal;
  expect_rates("one_cycle", optim::OneCycle{.max_lr = 0.3, .total = 40});
  expect_rates(
      "one_cycle_linear",
      optim::OneCycle{.max_lr = 0.3, .total = 40, .pct_start = 0.2, .div_factor = 10, .anneal = Anneal::linear});
  expect_rates("one_cycle_three",
               optim::OneCycle{.max_lr = 0.3, .total = 40, .final_div_factor = 100, .three_phase = true});
  expect_rates("chain", optim::Chain{{{optim::Linear{.lr = 0.3, .total = 5, .start_factor = 0.1, .end_factor = 1}, 8},
                                      {optim::Exponential{.lr = 0.3, .gamma = 0.8}, 1}}});
}

TEST(Schedules, PlateauEqualsPyTorch) {
  const Json& golden = tests::stored("optim_net.json");
  for (const Json& run : golden["plateau"]) {
    const Json& o = run["options"];
    const optim::PlateauOptions options{.lr = 0.3,
                                        .factor = o.value("factor", 0.1),
                                        .patience = o["patience"],
                                        .threshold = o.value("threshold", 1e-4),
                                        .relative = !o.contains("threshold_mode"),
                                        .maximize = o.contains("mode"),
                                        .cooldown = o.value("cooldown", 0),
                                        .min_lr = o.value("min_lr", 0.0)};
    optim::Plateau plateau(options), resumed(options);
    for (std::size_t i = 0; i < golden["metrics"].size(); ++i) {
      optim::Plateau next(options);
      next.load_state(resumed.state());
      resumed = next;
      const double metric = golden["metrics"][i], expected = run["rates"][i];
      EXPECT_DOUBLE_EQ(plateau(metric), expected) << o.dump() << ", call " << i;
      EXPECT_EQ(resumed(metric), plateau.lr());
    }
  }
}

TEST(Schedules, Errors) {
  EXPECT_EQ(error_of([] { optim::Constant{.lr = 1}(0); }), "[schedule] steps count from 1, got 0");
  EXPECT_EQ(error_of([] { optim::Exponential{.lr = 1, .gamma = 1}(0); }), "[schedule] steps count from 1, got 0");
  EXPECT_EQ(error_of([] { optim::Plateau({.lr = 1, .factor = 1}); }), "[plateau] expected factor in (0, 1), got 1");
  EXPECT_ERROR(optim::Plateau({.lr = 1, .patience = -1}));
  EXPECT_ERROR(optim::Plateau({.lr = 1, .eps = std::nan("")}));
}

// Also options that only a later step uses: a run must not end with this Error after its warm-up.
TEST(Schedules, EveryOptionIsCheckedAtTheFirstStep) {
  using namespace optim;
  const double nan = std::nan("");
  const std::pair<Schedule, std::string> wrong[] = {
      {Constant{.lr = -1}, "expected lr >= 0, got -1"},
      {Noam{.hidden_size = 8, .factor = nan}, "expected factor to be finite, got nan"},
      {Noam{.hidden_size = 0}, "expected hidden_size > 0, got 0"},
      {LinearWarmup{.lr = INFINITY, .warmup = 5}, "expected lr to be finite, got inf"},
      {LinearWarmup{.lr = 1, .warmup = 0}, "expected warmup > 0, got 0"},
      {WarmupCosine{.lr = 1, .warmup = 5, .total = 5}, "expected 0 <= warmup < total, got warmup 5 and total 5"},
      {Linear{.lr = 1, .total = 0}, "expected total > 0, got 0"},
      {OneCycle{.max_lr = 1, .total = 9, .pct_start = 2}, "expected pct_start in [0, 1], got 2"},
      {OneCycle{.max_lr = 1, .total = 9, .div_factor = 0}, "expected div_factor > 0, got 0"},
      {Chain{}, "expected a chain of at least one schedule, got none"},
      {Cosine{.lr = 1, .total = 9, .min_lr = -1}, "expected min_lr >= 0, got -1"},
      {WarmupCosine{.lr = 1, .warmup = 5, .total = 9, .min_lr = nan}, "expected min_lr to be finite, got nan"},
      {StepDecay{.lr = 1, .every = 100, .gamma = -1}, "expected gamma >= 0, got -1"},
      {MultiStep{.lr = 1, .milestones = {50}, .gamma = nan}, "expected gamma to be finite, got nan"},
      {Exponential{.lr = 1, .gamma = -0.5}, "expected gamma >= 0, got -0.5"},
      {Linear{.lr = 1, .total = 9, .end_factor = -1}, "expected end_factor >= 0, got -1"},
      {Polynomial{.lr = 1, .total = 9, .power = -1}, "expected power >= 0, got -1"},
      {InverseRoot{.lr = nan, .warmup = 9}, "expected lr to be finite, got nan"},
      {WarmupStableDecay{.lr = 1, .warmup = 1000, .stable = 2000, .decay = 0}, "expected decay > 0, got 0"},
      {CosineRestarts{.lr = 1, .period = 9, .growth = 0}, "expected growth > 0, got 0"},
      {OneCycle{.max_lr = -1, .total = 9}, "expected max_lr >= 0, got -1"},
      {Chain{{{Constant{.lr = 1}, 3000}, {Cosine{.lr = 1, .total = 0}, 10}}}, "expected total > 0, got 0"},
      {Chain{{{Constant{.lr = 1}, 3000}, {Constant{.lr = 1}, -3}, {Constant{.lr = 1}, 1}}},
       "expected steps > 0, got -3"},
      {Chain{{{Constant{.lr = 1}, 9}, {Chain{{{Constant{.lr = 1}, 9}, {Chain{}, 1}}}, 1}}},
       "expected a chain of at least one schedule, got none"},
  };
  for (const auto& [schedule, text] : wrong) {
    EXPECT_EQ(error_of([&, &s = schedule] { s(1); }), "[schedule] " + text);
    EXPECT_EQ(error_of([&, &s = schedule] { s.check(); }), "[schedule] " + text);
  }
  EXPECT_ERROR(WarmupStableDecay{.lr = 1, .warmup = 1000, .stable = 2000, .decay = 0}(1));
  int64_t calls = 0;
  const Chain functions{{{Constant{.lr = 1}, 2}, {[&calls](int64_t step) { return ++calls, 0.5 / double(step); }, 1}}};
  EXPECT_EQ(functions(1), 1);
  EXPECT_EQ(calls, 0);  // a function is not called for a check
  EXPECT_EQ(functions(4), 0.25);
  EXPECT_EQ((WarmupStableDecay{.lr = 1, .warmup = 1, .stable = INT64_MAX, .decay = 1}(2)), 1);
}

// --- averages ---

TEST(ExponentialAverage, FollowsTheWeights) {
  nn::Parameter parameter(full({3}, 2, kFloat64));
  const Tensor p = parameter.tensor();
  optim::ExponentialAverage average({{"p", p}}, {.decay = 0.75});
  average.update();
  for (const double value : {4, 8}) {
    parameter.set(full({3}, value, kFloat64));
    average.update();
  }
  EXPECT_EQ(average.averages()[0].tensor.to_vector<double>()[0], 0.75 * (0.75 * 2 + 0.25 * 4) + 0.25 * 8);
  {
    const optim::ExponentialAverage::Use use(average);
    EXPECT_EQ(p.to_vector<double>()[0], 3.875);
  }
  EXPECT_EQ(p.to_vector<double>()[0], 8);
  optim::ExponentialAverage other({{"p", p}}, {.decay = 0.75});
  other.load_state(average.state());
  other.update();
  average.update();
  EXPECT_EQ(other.averages()[0].tensor.to_vector<double>(), average.averages()[0].tensor.to_vector<double>());
  EXPECT_EQ(other.updates(), 4);
}

TEST(ExponentialAverage, WarmsUp) {
  nn::Parameter p(zeros({1}, kFloat64));
  optim::ExponentialAverage average({{"p", p.tensor()}}, {.decay = 0.9, .warmup = true});
  average.update();
  p.set(ones({1}, kFloat64));
  average.update();
  EXPECT_DOUBLE_EQ(average.averages()[0].tensor.to_vector<double>()[0], 1 - 3.0 / 12);
}

TEST(ExponentialAverage, Errors) {
  const Tensor p = zeros({1}).as_leaf();
  EXPECT_ERROR(optim::ExponentialAverage({{"p", p}}, {.decay = 1}));
  EXPECT_ERROR(optim::ExponentialAverage({}, {}));
  EXPECT_ERROR(optim::ExponentialAverage({{"p", p.detach()}}, {}));
  EXPECT_ERROR(optim::ExponentialAverage({{"p", p}}, {}).load_state({}));
}

}  // namespace
}  // namespace tapegrad
