// Optimisers and clipping against PyTorch (data/make_optim.py), and saving and loading their state; NAdam's products of
// all factors mu, which it has in constant memory. ctest: threads
#include <tapegrad/tests/optim/from_json.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

using namespace tests;

constexpr int kElements = 19;

Tensor start(DType dtype, int64_t n = kElements) {
  return numbers({n}, dtype, [](int64_t i) { return static_cast<double>(5 * i % 23 - 11) / 8; });
}

Tensor gradient(int step, DType dtype, int64_t n = kElements) {
  return numbers({n}, dtype, [step](int64_t i) {
    return std::ldexp(static_cast<double>((7 * i + 13 * step) % 31 - 15) / 16, static_cast<int>(i % 5 - 2));
  });
}

// How many representable numbers lie between two of one sign.
template <class T>
double ulps(T a, T b) {
  const T gap = std::nextafter(std::abs(b), std::numeric_limits<T>::infinity()) - std::abs(b);
  return std::abs(static_cast<double>(a) - static_cast<double>(b)) / static_cast<double>(gap);
}

template <class T>
double worst_ulps(const Tensor& ours, const Json& theirs) {
  const std::vector<T> values = ours.to_vector<T>();
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T expected = static_cast<T>(theirs[i].get<double>());
    if (std::abs(expected) > 1e-3) worst = std::max(worst, ulps(values[i], expected));
    EXPECT_NEAR(values[i], expected, 1e-9 + 1e-6 * std::abs(expected));
  }
  return worst;
}

TEST(Optimizer, EqualsPyTorchOverManySteps) {
  const Json& golden = stored("optim.json");
  for (const Json& run : golden["runs"]) {
    SCOPED_TRACE(title(run));
    const DType dtype = dtype_of(run);
    const Tensor p = start(dtype).as_leaf();
    const auto optimizer = optimizer_from(run, {{.parameters = {{"p", p}}}});
    std::size_t kept = 0;
    for (int step = 1; kept < golden["steps"].size(); ++step) {
      optimizer->step(gradients_given({{p, gradient(step, dtype)}}));
      if (step != golden["steps"][kept]) continue;
      const Json& expected = run["kept"][kept++];
      const double worst = dtype == kFloat32 ? worst_ulps<float>(p, expected) : worst_ulps<double>(p, expected);
      EXPECT_LE(worst, step == 1 ? 1.0 : 1.0 + 0.1 * step) << "step " << step;
    }
  }
}

TEST(Optimizer, ManyParametersOfAllSizes) {
  const int64_t sizes[] = {1, 70000, 3, 19, 32768, 2, 40000};
  NamedTensors together;
  for (const int64_t n : sizes)
    together.push_back({std::string(1, static_cast<char>(97 + together.size())), start(kFloat32, n).as_leaf()});
  optim::Adam adam(together);
  for (int step = 1; step <= 3; ++step) {
    Gradients grads;
    for (const NamedTensor& p : together) grads.set(p.tensor, gradient(step, kFloat32, p.tensor.numel()));
    adam.step(grads);
  }
  for (const NamedTensor& p : together) {
    const Tensor alone = start(kFloat32, p.tensor.numel()).as_leaf();
    optim::Adam single(NamedTensors{{"alone", alone}});
    for (int step = 1; step <= 3; ++step)
      single.step(gradients_given({{alone, gradient(step, kFloat32, alone.numel())}}));
    EXPECT_EQ(p.tensor.to_vector<float>(), alone.to_vector<float>()) << p.name;
  }
}

TEST(Optimizer, SameBitsForAnyNumberOfThreads) {
  expect_same_with_any_threads([] {
    const Tensor p = start(kFloat32, 100000).as_leaf();
    optim::Adam adam(NamedTensors{{"p", p}}, {.lr = 0.1});
    Gradients grads = gradients_given({{p, gradient(1, kFloat32, 100000)}});
    optim::clip_grad_norm(grads, 0.5);
    adam.step(grads);
    return std::vector<Tensor>{p};
  });
}

TEST(Optimizer, GroupsHaveTheirOwnRatesAndDecays) {
  const Tensor a = ones({2}).as_leaf(), b = ones({2}).as_leaf();
  std::vector<optim::ParameterGroup> groups{{.parameters = {{"a", a}}, .lr = 0.5, .weight_decay = 0.0},
                                            {.parameters = {{"b", b}}}};
  optim::SGD sgd(groups, {.lr = 0.25, .weight_decay = 1});
  const Gradients grads = gradients_given({{a, ones({2})}, {b, ones({2})}});
  sgd.step(grads);
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{0.5F, 0.5F}));
  EXPECT_EQ(b.to_vector<float>(), (std::vector<float>{0.5F, 0.5F}));
  sgd.set_lr(0);
  EXPECT_EQ(sgd.group_lr(0), 0.5);
  EXPECT_EQ(sgd.group_lr(1), 0);
  sgd.set_group_lr(0, 0);
  sgd.step(grads);
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{0.5F, 0.5F}));
  EXPECT_EQ(sgd.steps(), 2);
}

TEST(Optimizer, Errors) {
  const Tensor a = ones({2}).as_leaf(), b = ones({2}).as_leaf();
  optim::SGD sgd(NamedTensors{{"a", a}, {"layer.b", b}}, {.lr = 1});
  const Gradients grads = gradients_given({{a, ones({2})}});
  EXPECT_TEXT(error_of([&] { sgd.step(grads); }));
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{1, 1}));
  sgd.allow_missing(true);
  sgd.step(grads);
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_EQ(b.to_vector<float>(), (std::vector<float>{1, 1}));
  {
    Tape tape;
    const Tensor y = sum(a * a);
    EXPECT_ERROR(sgd.step(grads));
  }
  EXPECT_ERROR(optim::Adam(NamedTensors{{"a", a}}, {.weight_decay = std::nan("")}));
  EXPECT_ERROR(optim::SGD(NamedTensors{}));
  EXPECT_ERROR(optim::SGD(NamedTensors{{"a", a}, {"again", a}}));
  EXPECT_ERROR(optim::SGD(NamedTensors{{"x", ones({2})}}));
  EXPECT_ERROR(optim::SGD(NamedTensors{{"a", a}}, {.momentum = INFINITY}));
  EXPECT_ERROR(optim::SGD(NamedTensors{{"a", a}}, {.momentum = 0.9, .dampening = std::nan("")}));
  EXPECT_ERROR(optim::SGD(NamedTensors{{"a", a}, {"a", b}}));
  EXPECT_EQ(error_of([&] { sgd.group_lr(7); }), "[optimizer] expected a group below 1, got 7");
}

TEST(Optimizer, GradientsOfOtherLeavesAreNamedByTheirShapes) {
  const Tensor a = ones({2}).as_leaf(), b = ones({3, 4}).as_leaf(), c = ones({5}).as_leaf();
  optim::SGD sgd(NamedTensors{{"a", a}}, {.lr = 1});
  const Gradients found = [&] {
    Tape tape;
    const Tensor y = a * 2.0;
    return tape.backward(sum(y) + sum(b) + sum(c), {.keep = {y}});  // a kept gradient is not that of a leaf
  }();
  EXPECT_EQ(found.size(), 4U);
  EXPECT_ERROR(sgd.step(found));
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{1, 1}));
  optim::SGD all(NamedTensors{{"a", a}}, {.lr = 0});
  all.allow_unknown(true);
  all.step(found);
  // Only those that are named are ignored.
  sgd.ignore({{"b", b}});
  expect_parts(error_of([&] { sgd.step(found); }),
               {"1 of the gradients belong to no parameter of this optimiser: [5]"});
  sgd.ignore({{"c", c}});
  sgd.step(found);
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{-1, -1}));
  Tape tape;
  sgd.step(tape, sum(a) + sum(b) + sum(c));
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{-2, -2}));
  EXPECT_ERROR(sgd.ignore({{"x", ones({2})}}));
  EXPECT_ERROR(sgd.ignore({{"a", a}}));
}

// Whatever the rule: the last good values stay.
TEST(Optimizer, GradientsThatAreNotFiniteAreErrors) {
  for (const double bad : {double(NAN), double(INFINITY), -double(INFINITY)}) {
    const Tensor a = ones({2}).as_leaf(), b = ones({2, 2}).as_leaf();
    const NamedTensors both{{"a", a}, {"b", b}};
    optim::Adam adam(both, {.lr = 1});
    optim::SGD sgd(both, {.lr = 1});
    const Gradients grads = gradients_given({{a, ones({2})}, {b, tensor({{1., 1.}, {1., bad}})}});
    for (optim::Optimizer* optimizer : {static_cast<optim::Optimizer*>(&adam), static_cast<optim::Optimizer*>(&sgd)}) {
      EXPECT_ERROR(optimizer->step(grads));
      EXPECT_EQ(optimizer->steps(), 0);
      Tape tape;
      EXPECT_EQ(
          error_of([&] { optimizer->step(tape, sum(a) + sum(b) + scalar(bad)); }),
          fmt::format("[optimizer] the loss is {}, so nothing was updated (Tape::trap_nan finds the operation)", bad));
    }
    EXPECT_TRUE(equal(a, ones({2})) && equal(b, ones({2, 2})));
    b.set_frozen(true);  // takes no part
    sgd.step(grads);
    EXPECT_TRUE(equal(a, zeros({2})) && equal(b, ones({2, 2})));
  }
}

TEST(Optimizer, StateErrors) {
  const Tensor p = start(kFloat32).as_leaf();
  optim::Adam adam(NamedTensors{{"p", p}});
  NamedTensors state = adam.state();
  ASSERT_EQ(state.size(), 4U);
  EXPECT_EQ(state[2].name, "m.p");
  const auto load = [&] { return error_of([&] { adam.load_state(state); }); };
  state[2].tensor = zeros({3});
  EXPECT_EQ(load(), "[optimizer] expected float32 [19] for \"m.p\" of the state, got float32 [3]");
  state[2].name = "m.q";
  EXPECT_EQ(load(), "[optimizer] the state has no \"m.p\"");
  state = adam.state();
  state.push_back({"extra", zeros({1})});
  EXPECT_EQ(load(), "[optimizer] the state has an unexpected \"extra\"");
  state.back().name = "v.p";
  EXPECT_EQ(load(), "[optimizer] the state has \"v.p\" twice");
}

// --- clipping ---

TEST(Clip, NormEqualsPyTorch) {
  for (const Json& c : stored("optim.json")["clip"]) {
    const Tensor a = start(kFloat32).as_leaf(), b = zeros({3}).as_leaf();
    Gradients grads = gradients_given({{a, gradient(1, kFloat32)}, {b, gradient(2, kFloat32, 3)}});
    EXPECT_NEAR(optim::clip_grad_norm(grads, c["max_norm"]), c["norm"], 1e-6 * c["norm"].get<double>());
    worst_ulps<float>(grads[a], c["grads"][0]);
    worst_ulps<float>(grads[b], c["grads"][1]);
  }
}

TEST(Clip, Errors) {
  const Tensor a = zeros({1}).as_leaf();
  Gradients grads = gradients_given({{a, full({1}, kInf)}});
  EXPECT_ERROR(optim::clip_grad_norm(grads, 1));
}

// --- NAdam ---

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
    nadam.step(gradients_given({{p, tensor({g}, kFloat64)}}));
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
  nadam.step(Tape().backward(sum(p * p)));
  EXPECT_EQ(nadam.steps(), many + 1);
  EXPECT_LT(p.item(), 1);
}

}  // namespace
}  // namespace tapegrad
