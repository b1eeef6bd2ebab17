// Two hundred steps of every optimiser on a small network, and LBFGS, compared with PyTorch 2.15
// (data/make_optim_net.py); LBFGS where losses and gradients are not finite.
#include <tapegrad/tests/optim/from_json.h>
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

using namespace tests;
using optim::ParameterGroup;

Tensor formula(int64_t a, int64_t b, int64_t c, const Shape& shape) {
  return numbers(shape, kFloat64,
                 [&](int64_t i) { return static_cast<double>((a * i * i + b * i + c) % 31 - 15) / 16; });
}

struct Net {
  NamedTensors parameters;
  Tensor x = formula(3, 5, 1, {16, 6}), y = formula(7, 2, 4, {16, 4});

  explicit Net(DType dtype = kFloat64) {
    const std::pair<const char*, Shape> sizes[] = {{"w1", {8, 6}}, {"b1", {8}}, {"w2", {4, 8}}, {"b2", {4}}};
    int64_t k = 0;
    for (const auto& [name, shape] : sizes)
      parameters.push_back({name, (formula(2, 7, k++, shape) / 2).to(dtype).as_leaf()});
    x = x.to(dtype);
    y = y.to(dtype);
  }
  Tensor loss() const {
    const auto& p = parameters;
    const Tensor hidden = tanh(linear(x, p[0].tensor, p[1].tensor));
    return mse_loss(linear(hidden, p[2].tensor, p[3].tensor), y);
  }
  double step(optim::Optimizer& optimizer) const {
    Tape tape;
    const Tensor value = loss();
    optimizer.step(tape.backward(value));
    return value.item();
  }
  void expect_values(const Json& end) const {
    for (const NamedTensor& p : parameters) expect_close(p.tensor, end[p.name], {0, 1e-6}, p.name);
  }
};

std::vector<ParameterGroup> groups_of(const Net& net, const Json& run) {
  const NamedTensors& p = net.parameters;
  if (run["groups"])
    return {{.parameters = {p[0], p[1]}}, {.parameters = {p[2], p[3]}, .lr = 3e-3, .weight_decay = 0.2}};
  if (run["kind"] == "muon") return {{.parameters = {p[0], p[2]}}};
  return {{.parameters = p}};
}

std::unique_ptr<optim::Optimizer> made_for(const Net& net, const Json& run) {
  std::unique_ptr<optim::Optimizer> optimizer = optimizer_from(run, groups_of(net, run));
  optimizer->allow_unknown(run["kind"] == "muon");  // biases stay
  return optimizer;
}

// The runs of LBFGS, or those of all other rules.
std::vector<Json> runs(bool lbfgs) {
  std::vector<Json> found;
  for (const Json& run : stored("optim_net.json")["runs"])
    if ((run["kind"] == "lbfgs") == lbfgs) found.push_back(run);
  return found;
}

TEST(OptimizersOnANet, EqualPyTorchFor200Steps) {
  for (const Json& run : runs(false)) {
    SCOPED_TRACE(title(run));
    const Net net;
    const auto optimizer = made_for(net, run);
    std::size_t at = 0;
    for (int step = 0; step < 200; ++step) {
      const double loss = net.step(*optimizer);
      if (step % 20 != 0 && step != 199) continue;
      EXPECT_NEAR(loss, run["losses"][at++].get<double>(), 1e-6) << "step " << step;
    }
    net.expect_values(run["end"]);
    if (!run.contains("ax")) continue;
    for (const auto& [name, ax] : optimizer->state())
      if (name.starts_with("ax.")) expect_close(ax, run["ax"][name.substr(3)], {0, 1e-6}, name);
  }
}

TEST(OptimizersOnANet, ContinueInTheSameBitsFromTheirState) {
  for (const Json& run : runs(false)) {
    SCOPED_TRACE(title(run));
    const Net unbroken(kFloat32), resumed(kFloat32);
    const auto whole = made_for(unbroken, run);
    auto part = made_for(resumed, run);
    for (int step = 0; step < 8; ++step) {
      if (step == 4) {
        const NamedTensors state = part->state();
        part = made_for(resumed, run);
        part->load_state(state);
      }
      unbroken.step(*whole);
      resumed.step(*part);
    }
    expect_same(resumed.parameters, unbroken.parameters);
  }
}

TEST(OptimizersOnANet, UpdateInBackwardInTheSameBits) {
  for (const Json& run : runs(false)) {
    SCOPED_TRACE(title(run));
    const Net after(kFloat32), during(kFloat32);
    const auto first = made_for(after, run), second = made_for(during, run);
    for (int step = 0; step < 5; ++step) {
      after.step(*first);
      Tape tape;
      second->step(tape, during.loss());
    }
    EXPECT_EQ(second->steps(), 5);
    expect_same(during.parameters, after.parameters);
    expect_same(second->state(), first->state());
  }
}

// --- LBFGS ---

optim::LBFGSOptions lbfgs_options(const Json& run) {
  const Json& o = run["options"];
  return {.lr = o.value("lr", 1.0),
          .history_size = o.value("history_size", int64_t{100}),
          .strong_wolfe = o.contains("line_search_fn")};
}

double lbfgs_step(optim::LBFGS& lbfgs, const Net& net) {
  return lbfgs.step([&] {
    Tape tape;
    Tensor loss = net.loss();
    for (const NamedTensor& p : net.parameters) loss = loss + 0.05 * sum(p.tensor * p.tensor);
    return optim::Evaluation{loss.item(), tape.backward(loss)};
  });
}

TEST(LBFGS, EqualsPyTorch) {
  for (const Json& run : runs(true)) {
    SCOPED_TRACE(title(run));
    const Net net;
    optim::LBFGS lbfgs(net.parameters, lbfgs_options(run));
    for (const Json& loss : run["losses"]) EXPECT_NEAR(lbfgs_step(lbfgs, net), loss.get<double>(), 1e-6);
    net.expect_values(run["end"]);
  }
}

TEST(LBFGS, ContinuesInTheSameBitsFromItsState) {
  for (const Json& run : runs(true)) {
    const Net unbroken, first;
    optim::LBFGS whole(unbroken.parameters, lbfgs_options(run)), half(first.parameters, lbfgs_options(run));
    for (int i = 0; i < 4; ++i) lbfgs_step(whole, unbroken);
    for (int i = 0; i < 2; ++i) lbfgs_step(half, first);
    optim::LBFGS rest(first.parameters, lbfgs_options(run));
    rest.load_state(half.state());
    for (int i = 0; i < 2; ++i) lbfgs_step(rest, first);
    expect_same(first.parameters, unbroken.parameters);
    EXPECT_EQ(rest.evaluations(), whole.evaluations());
  }
}

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
    expect_parts(error, {"[lbfgs] the loss or its gradient is not finite after ",
                         "; the parameters have the values of the last point where both were (a smaller lr, "
                         "strong_wolfe, or Tape::trap_nan, which finds the operation)"});
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
          return optim::Evaluation{good ? 1 : loss, gradients_given({{p, full({1}, good ? 1 : slope)}})};
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
        return optim::Evaluation{1, gradients_given({{p, ones({1})}})};
      });
    }));
    EXPECT_EQ(p.item(), 1);
  }
}

TEST(LBFGS, Errors) {
  const Net net;
  EXPECT_EQ(error_of([&] { optim::LBFGS({}, {}); }), "[lbfgs] expected at least one parameter, got none");
  EXPECT_ERROR(optim::LBFGS({{"x", ones({2})}}, {}));
  EXPECT_ERROR(optim::LBFGS({{"x", ones({2}).as_leaf()}, {"y", ones({2}, kFloat64).as_leaf()}}, {}));
  EXPECT_ERROR(optim::LBFGS(net.parameters, {.max_iterations = 0}));
  EXPECT_EQ(error_of([&] { optim::LBFGS(net.parameters, {.lr = -1}); }), "[lbfgs] expected lr >= 0, got -1");
  optim::LBFGS lbfgs(net.parameters);
  EXPECT_EQ(error_of([&] { lbfgs.load_state({}); }), "[lbfgs] the state has no \"counts\"");
}

TEST(OptimizersOnANet, Errors) {
  const NamedTensors p{{"p", ones({2}).as_leaf()}};
  EXPECT_ERROR(optim::Muon{p});
  EXPECT_EQ(error_of([&] { optim::ASGD(p, {.t0 = std::nan("")}); }), "[asgd] expected t0 to be finite, got nan");
  const NamedTensors matrix{{"p", ones({2, 3}).as_leaf()}};
  expect_said("optim/errors.txt", "", [&](const std::string& line) {
    const std::size_t blank = line.find(' ');
    const Json run{{"kind", line.substr(0, blank)}, {"options", Json::parse(line.substr(blank))}};
    return error_of([&] { optimizer_from(run, {{.parameters = matrix}}); });
  });
}

}  // namespace
}  // namespace tapegrad
