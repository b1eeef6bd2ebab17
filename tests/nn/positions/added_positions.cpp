// Positions that are added to embeddings, against PyTorch and from caches; differential equations.
#include <tapegrad/tests/nn/models/small_models.h>
#include <tapegrad/tests/nn/positions/stored_gradients.h>
#include <tapegrad/tests/support/contents.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

using nn::Positions;

constexpr std::string_view kLearnedKinds[] = {"conv",    "conv-multiscale", "lstm",   "ode",
                                              "complex", "composite",       "dynamic"};

nn::PositionOptions small_options(std::string_view solver = "rk4") {
  return {nn::ShawOptions{.distance = 2, .values = true}, nn::T5Options{.buckets = 8, .distance = 12},
          nn::OdePositionOptions{.solver = {.solver = nn::ode_solver_named(solver)}},
          nn::CompositePositionOptions{.added = "lstm", .relative = "shaw"}};
}

nn::GPTModel gpt(Positions kind, const nn::PositionOptions& options = small_options(), int64_t kv_heads = 0) {
  manual_seed(7);
  nn::GPTConfig config = small_decoder(11, 6, kind, options);
  config.n_kv_heads = kv_heads;
  return exact(nn::GPTModel(config));
}

TEST(AddedPositions, InputsOfOneTokenGiveAGradientToEveryParameter) {
  const Tensor token = tensor({{int64_t{3}}});
  for (const std::string_view kind : nn::position_names()) {
    SCOPED_TRACE(kind);
    nn::GPTModel model = gpt(nn::positions_named(kind));
    loss_and_gradients(model, [&] { return sum(model(token)); });  // an Error names a parameter without one
  }
}

TEST(AddedPositions, AndTheirGradientsEqualPyTorchs) {
  for (const Json& expected : stored("positions.json")["added"]) {
    const std::string kind = expected["kind"];
    const bool causal = expected["causal"], composite = expected["composite"];
    SCOPED_TRACE(kind + (causal ? ", causal" : "") + (composite ? ", composite" : ""));
    const nn::PositionOptions options(nn::ConvPositionOptions{.width = 5}, nn::LstmPositionOptions{.size = 3},
                                      nn::OdePositionOptions{.size = 5, .solver = {.steps = 2}},
                                      nn::DynamicPositionOptions{.size = 5},
                                      nn::CompositePositionOptions{.added = composite ? kind : "index"});
    nn::AddedPositions model(composite ? Positions::composite : nn::positions_named(kind), 4, 8, options, causal);
    const double absolute = kind == "dynamic" ? 1e-6 : 1e-10;  // its table is of float32
    expect_stored_gradients(
        model, [&](const Tensor& x) { return model(x); }, expected, absolute, [](int64_t i) { return 20 + i; });
  }
}

// All at once as in parts, which see no later tokens; also with one head of keys and values.
TEST(AddedPositions, ContinueFromACache) {
  for (const std::string_view kind : nn::position_names()) {
    for (const auto& [solver, kv_heads] : {std::pair{"rk4", 0}, {"dopri5", 0}, {"rk4", 1}}) {
      if (kind != "ode" && std::string_view(solver) != "rk4") continue;
      SCOPED_TRACE(kind);
      const nn::GPTModel model = gpt(nn::positions_named(kind), small_options(solver), kv_heads);
      EXPECT_EQ(nn::count_parameters(model), model.config.parameter_count());
      const int64_t length = kind == "learned" ? 6 : 80;
      manual_seed(1);
      const Tensor ids = randint(0, 11, {2, length}), all = model(ids);
      nn::KVCache cache;
      std::vector<Tensor> parts;
      int64_t read = 0;
      for (const int64_t next : {int64_t{1}, int64_t{3}, int64_t{1}, length - 5}) {
        parts.push_back(model(narrow(ids, 1, read, next), &cache));
        read += next;
      }
      EXPECT_LT(largest_difference(cat(parts, 1), all), 1e-11);

      cache.truncate(3);
      nn::KVCache branch = cache;
      branch.reorder(tensor({1, 0, 1}));
      const Tensor swapped = index_select(ids, 0, tensor({1, 0, 1}));
      EXPECT_LT(largest_difference(model(narrow(swapped, 1, 3, 3), &branch), narrow(model(swapped), 1, 3, 3)), 1e-11);
      EXPECT_LT(largest_difference(model(narrow(ids, 1, 3, 3), &cache), narrow(all, 1, 3, 3)), 1e-11);
    }
  }
}

TEST(AddedPositions, DoNotSeePadding) {
  for (const std::string_view kind : nn::position_names()) {
    SCOPED_TRACE(kind);
    manual_seed(8);
    const nn::Transformer model =
        exact(nn::Transformer(small_transformer(11, 9, nn::positions_named(kind), small_options())));
    const Tensor alone = tensor({{3, 1, 4, 1, 5}}), padded = tensor({{3, 1, 4, 1, 5, 0, 0, 0}});
    const Tensor y = model.encode(alone, nn::padding_mask(alone));
    EXPECT_LT(largest_difference(narrow(model.encode(padded, nn::padding_mask(padded)), 1, 0, 5), y), 1e-12);
    EXPECT_TRUE(all_finite(model.encode(zeros({1, 4}, kInt64), nn::padding_mask(zeros({1, 4}, kInt64)))));
  }
}

// A causal module, too, which models only use without padding: its positions are those of the tokens alone.
TEST(AddedPositions, DynamicOnesAverageTokensOnly) {
  manual_seed(10);
  const nn::DynamicPositions model(8, 5, true);
  const Tensor x = randn({2, 6, 8}), mask = tensor({{1, 1, 1, 0, 0, 0}, {0, 0, 1, 1, 1, 1}}).reshape({2, 6, 1}) != 0.0;
  const Tensor p = model(x, 0, mask);
  EXPECT_LT(largest_difference(p[0].slice(0, 0, 3), model(x.slice(1, 0, 3))[0]), 1e-6);
  EXPECT_LT(largest_difference(p[1].slice(0, 2, 6), model(x.slice(1, 2, 6), 2, ones({2, 4, 1}, kBool))[1]), 1e-6);
}

TEST(AddedPositions, HaveNoEnd) {
  for (const std::string_view kind : kLearnedKinds) {
    SCOPED_TRACE(kind);
    EXPECT_EQ(gpt(nn::positions_named(kind)).config.longest_input(), std::numeric_limits<int64_t>::max());
    manual_seed(4);
    const nn::AddedPositions model(nn::positions_named(kind), 4, 8, small_options());
    const Tensor x = randn({1, 300, 8});
    EXPECT_TRUE(all_finite(model(x)));
    EXPECT_EQ(model(x.slice(1, 0, 0)).shape(), (Shape{1, 0, 8}));
    EXPECT_EQ(model(x.slice(0, 0, 0)).shape(), (Shape{0, 300, 8}));
    EXPECT_EQ(model(x.slice(1, 0, 1)).shape(), (Shape{1, 1, 8}));
  }
  nn::PositionOptions learned = small_options();  // a composite of a learned table is limited
  learned.of<nn::CompositePositionOptions>().added = "learned";
  EXPECT_EQ(gpt(Positions::composite, learned).config.longest_input(), 6);
  EXPECT_ERROR(gpt(Positions::composite, learned)(ones({1, 7}, kInt64)));
  learned.of<nn::LearnedPositionOptions>().interpolate_to = 20;
  EXPECT_EQ(gpt(Positions::composite, learned)(ones({1, 20}, kInt64)).shape(), (Shape{1, 20, 11}));
}

TEST(AddedPositions, ComplexOnesTurnWhenTheyShift) {  // z(i + j) = z(i) e^(i omega j)
  manual_seed(6);
  nn::ComplexPositions model(8);
  nn::to(model, kFloat64);
  for (const auto& [name, p] : nn::named_parameters(model)) p.set(randn(p->shape(), kFloat64));
  const Tensor z = model(30), shifted = model(30, 7), angle = model.frequency.tensor() * 7;
  EXPECT_LT(largest_difference(nn::rotate_pairs(z, cos(angle), sin(angle)), shifted), 1e-12);
  const nn::ComplexPositions first(8);  // begin as the sinusoidal ones, cosines first
  EXPECT_LT(largest_difference(first(50).slice(1, 0, kAll, 2), nn::sinusoidal_table(50, 8).slice(1, 1, kAll, 2)), 1e-5);
}

// alpha = 0 leaves the relative kind, beta = 0 the added one, for every pair.
TEST(AddedPositions, CompositeOnesAreAnyPair) {
  const Tensor ids = tensor({{1, 7, 3, 2, 9, 4}, {5, 5, 0, 8, 1, 6}});
  const auto set = [](nn::GPTModel& model, std::string_view name, double value) {
    const auto all = nn::named_parameters(model);
    std::ranges::find(all, name, &nn::NamedParameter::name)->parameter.set(full({}, value));
  };
  for (const std::string_view added : nn::added_position_names()) {
    for (const std::string_view relative : nn::relative_position_names()) {
      SCOPED_TRACE(std::string(added) + " and " + std::string(relative));
      nn::PositionOptions options = small_options();
      options.of<nn::CompositePositionOptions>() = {.added = std::string(added), .relative = std::string(relative)};
      nn::GPTModel pair = gpt(Positions::composite, options);
      EXPECT_EQ(pair.config.parameter_count(), nn::count_parameters(pair));
      const auto part = [&](std::string_view kind) {
        nn::GPTModel one = gpt(nn::positions_named(kind), options);
        nn::load_state_dict(one, nn::state_dict(pair), false);
        return one(ids);
      };
      const Tensor both = pair(ids);
      EXPECT_GT(largest_difference(both, part(added)), 1e-6);
      EXPECT_TRUE(added == "index" || largest_difference(both, part(relative)) > 1e-6);  // norms remove the index
      set(pair, "relative_positions.beta", 0);
      EXPECT_LT(largest_difference(pair(ids), part(added)), 1e-12);
      set(pair, "relative_positions.beta", 1);
      set(pair, "pos_emb.alpha", 0);
      EXPECT_LT(largest_difference(pair(ids), part(relative)), 1e-12);
    }
  }
}

TEST(AddedPositions, Errors) {
  EXPECT_TEXT(error_of([] { nn::ComplexPositions model(5); }));
  EXPECT_TEXT(error_of([] { nn::ConvPositions model(4, 2, true); }));
  EXPECT_TEXT(error_of([] { nn::MultiscaleConvPositions model(1, true); }));
  EXPECT_EQ(error_of([] { nn::LstmPositions model(0, 1); }), "[positions] expected the size of a vector > 0, got 0");
  nn::KVCache cache;
  EXPECT_ERROR(nn::ConvPositions(4, 3, false)(ones({1, 2, 4}), {}, &cache));
  EXPECT_ERROR(nn::DynamicPositions(4, 3, false)(ones({1, 2, 4}), 0, {}, &cache));
}

using nn::OdeOptions;
using nn::OdeSolver;

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
  const std::vector<double> times = (arange(201).to(kFloat64) * 0.05).to_vector<double>();
  int slopes = 0;
  const nn::OdeSlope counted = [&](double t, const Tensor& h, std::span<const Tensor> p) {
    ++slopes;
    return kTurn(t, h, p);
  };
  const Tensor h =
      nn::odeint(counted, tensor({1.0, 0.0}).to(kFloat64), {}, times, {.solver = OdeSolver::dopri5, .tolerance = 1e-7});
  EXPECT_LT(largest_difference(h.select(1, 0), cos(tensor(times, {201}))), 1e-5);
  EXPECT_LT(slopes, 6 * 100);  // fewer steps than times
}

TEST(Ode, EarlierResultsDoNotDependOnLaterTimes) {
  const double few[] = {0, 0.1, 0.7}, many[] = {0, 0.1, 0.7, 0.9, 5};
  for (const OdeSolver solver : {OdeSolver::rk4, OdeSolver::dopri5}) {
    const auto solved = [&](auto& times) {
      return nn::odeint(kTurn, tensor({1.0, 0.5}), {}, times, {.solver = solver});
    };
    EXPECT_TRUE(equal(solved(many).slice(0, 0, 3), solved(few)));
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
  for (const double factor : {kInf, kNan}) {
    const nn::OdeSlope steep = [&](double, const Tensor& h, std::span<const Tensor>) { return h * factor; };
    for (const OdeOptions& options : {adaptive, OdeOptions()})
      EXPECT_FALSE(std::isfinite(nn::odeint(steep, ones({2}), {}, times, options)[1][0].item()));
  }
  const nn::OdeSlope ends = [](double t, const Tensor& h, std::span<const Tensor>) { return t < 0.5 ? h : h * NAN; };
  expect_parts(error_of([&] { nn::odeint(ends, ones({2}), {}, times, adaptive); }), {"[odeint] the steps at t ="});
}

// The solution, and the gradients of the start and of a weight.
std::vector<Tensor> solution_and_gradients(const OdeOptions& options) {
  manual_seed(3);
  const double times[] = {0, 0.4, 1.1, 1.5};
  const nn::OdeSlope slope = [](double t, auto& h, std::span<const Tensor> p) { return tanh(matmul(h, p[0]) + t); };
  return value_and_gradients(
      [&](auto& x) {
        return nn::odeint(slope, x[0], {&x[1], 1}, times, options);
      },
      {randn({4, 3}, kFloat64), randn({3, 3}, kFloat64)}, [](const Tensor& h) { return 3 * h * h; });
}

TEST(Ode, AdjointGradientsAreThoseThroughTheSolver) {
  const auto difference = [](const OdeOptions& options) {
    OdeOptions other = options;
    other.adjoint = true;
    const std::vector<Tensor> through = solution_and_gradients(options), adjoint = solution_and_gradients(other);
    EXPECT_TRUE(equal(through[0], adjoint[0]));
    return std::max(largest_difference(through[1], adjoint[1]), largest_difference(through[2], adjoint[2]));
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
  const std::vector<double> times = arange(13).to(kFloat64).to_vector<double>();
  const Tensor start = ones({1}, kFloat64).as_leaf();
  const Gradients grads = Tape().backward(
      sum(nn::odeint(fast, start, {}, times, {.solver = OdeSolver::dopri5, .tolerance = 1e-6, .adjoint = true})));
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
  EXPECT_ERROR(second_order({}));
  EXPECT_TRUE(all_finite(second_order(of_slope)));
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
    EXPECT_ERROR(nn::odeint(wide, ones({2}), {}, ends, {.adjoint = adjoint}));
  }
  EXPECT_ERROR(nn::odeint(kTurn, ones({2}, kInt64), {}, ends));
  EXPECT_EQ(error_of([] { nn::ode_solver_named("euler"); }), "[odeint] expected one of rk4, dopri5, got \"euler\"");
  const double times[] = {0, 2};
  const nn::OdeSlope explosion = [](double, const Tensor& h, std::span<const Tensor>) { return h * h; };
  const OdeOptions adaptive{.solver = OdeSolver::dopri5};
  expect_parts(error_of([&] { nn::odeint(explosion, ones({1}, kFloat64), {}, times, adaptive); }),
               {"[odeint] the steps at t = 1.0"});
}

}  // namespace
}  // namespace tapegrad::tests
