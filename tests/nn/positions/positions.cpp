// Positions: tables and attention against the papers' formulas in PyTorch, and the properties of each kind.
#include <tapegrad/tests/nn/models/small_models.h>
#include <tapegrad/tests/nn/positions/stored_gradients.h>
#include <tapegrad/tests/support/long_inputs.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

using nn::Positions;

void expect_like_stored(const Tensor& x, const Json& expected, const std::string& what) {
  tests::expect_close(x, expected, {.relative = 0, .absolute = 1e-10}, what);
}

// --- tables ---

TEST(Positions, RopeRotatesPairs) {
  const Tensor x = filled({2, 6, 8}, 7);
  expect_like_stored(nn::rope(x, 3), stored("positions.json")["rope"], "rope");
  expect_like_stored(nn::rope(x, 3, nn::ntk_base(10000, 4, 8)), stored("positions.json")["rope_ntk"],
                     "with NTK-aware scaling");
}

TEST(Positions, NtkScalingKeepsTheFastestPairAndSlowsTheSlowestByTheScale) {
  constexpr int64_t kDim = 64;
  const double base = nn::ntk_base(10000, 4, kDim);
  EXPECT_NEAR(std::pow(base, -(kDim - 2.0) / kDim), std::pow(10000, -(kDim - 2.0) / kDim) / 4, 1e-12);
  EXPECT_EQ(nn::rope_angles(3, kDim, 0, base, kFloat64).sines[1][0].item(), std::sin(1.0));
  EXPECT_EQ(nn::ntk_base(500, 1, kDim), 500);
}

TEST(Positions, T5BucketsAndAlibiSlopesAreThePapers) {
  for (int distance = -300; distance <= 300; ++distance) {
    const auto i = static_cast<std::size_t>(distance + 300);
    EXPECT_EQ(nn::t5_bucket(distance, 32, 128, false), stored("positions.json")["t5_causal"][i]) << distance;
    EXPECT_EQ(nn::t5_bucket(distance, 32, 128, true), stored("positions.json")["t5_both"][i]) << distance;
  }
  for (const auto& [heads, slopes] : stored("positions.json")["slopes"].items()) {
    expect_like_stored(nn::alibi_slopes(std::stoi(heads), kFloat64), slopes, "slopes of " + heads);
  }
}

TEST(Positions, LearnedInterpolate) {
  nn::LearnedPositions positions(5, 3);
  nn::to(positions, kFloat64);
  positions.weight.set(filled({5, 3}, 1));
  expect_like_stored(positions.interpolated(12, 0, 12), stored("positions.json")["interpolated"],
                     "5 rows for 12 positions");
  EXPECT_EQ(largest_difference(positions.interpolated(4, 8, 12), narrow(positions.interpolated(12, 0, 12), 0, 8, 4)),
            0);
  EXPECT_EQ(largest_difference(positions.interpolated(5, 0, 5), positions(5)), 0);
  EXPECT_ERROR(positions.interpolated(5, 8, 12));
}

TEST(Positions, IndexIsTheTutorialsDisplay) {  // section 8.3.1
  const Tensor words = tensor({{0.2, 0.3, 0.1, 0.4}, {0.5, 0.2, 0.8, 0.1}, {0.3, 0.7, 0.2, 0.5}, {0.6, 0.4, 0.3, 0.2}});
  expect_near(nn::add_index(words), {0.2, 0.3, 0.1, 0.4, 1.5, 1.2, 1.8, 1.1,  //
                                     2.3, 2.7, 2.2, 2.5, 3.6, 3.4, 3.3, 3.2});
}

TEST(Positions, SinusoidalHasNoEnd) {
  const nn::AddedPositions added(Positions::sinusoidal, 4, 6);
  const Tensor long_table = nn::sinusoidal_table(50, 6);
  EXPECT_EQ(largest_difference(added(zeros({1, 50, 6}))[0], long_table), 0);
  EXPECT_EQ(largest_difference(added(zeros({1, 3, 6}), 40)[0], narrow(long_table, 0, 40, 3)), 0);
}

// --- attention ---

struct SelfAttention {
  nn::MultiHeadAttention attention;
  nn::RelativePositions relative;
  SelfAttention(Positions kind, bool causal, const nn::PositionOptions& options)
      : attention(8, 2, 0, kind, options), relative(kind, 2, 4, causal, options) {}
  Tensor operator()(const Tensor& x, const Tensor& mask = {}) const {
    const nn::PositionBias terms = relative(x.size(1), x.size(1), 0, x.dtype());
    return attention(x, x, x, {.mask = mask, .positions = &terms});
  }
  void visit(auto&& field) {
    field("attention", attention);
    field("relative", relative);
  }
};

TEST(Positions, HiddenNanHasNoInfluence) {
  for (const std::string_view kind : {"shaw", "t5", "alibi", "rope"}) {
    for (const bool values : {false, true}) {
      SCOPED_TRACE(std::string(kind) + (values ? ", values" : ""));
      nn::PositionOptions options = kSmallDistances;
      options.of<nn::ShawOptions>().values = values;
      manual_seed(4);
      SelfAttention model(nn::positions_named(kind), false, options);
      const Tensor mask = (arange(6) < 4).reshape({1, 1, 1, 6});
      const nn::PositionBias terms = model.relative(6, 6, 0, kFloat32);
      const auto attend = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
        return model.attention(q, k, v, {.mask = mask, .positions = &terms});
      };
      expect_hidden_from(4, attend, {2, 6, 8}, randn({2, 6, 8}), 2, 6);
    }
  }
}

TEST(Positions, AttentionAndItsGradientsEqualPyTorchs) {
  for (const Json& expected : stored("positions.json")["attention"]) {
    std::string kind = expected["kind"];
    const bool causal = expected["causal"], composite = expected["composite"];
    SCOPED_TRACE(kind + (causal ? ", causal" : "") + (composite ? ", composite" : ""));
    nn::PositionOptions options = kSmallDistances;
    if (kind == "shaw_values") {
      options.of<nn::ShawOptions>().values = true;
      kind = "shaw";
    }
    if (composite) options.of<nn::CompositePositionOptions>().relative = kind;
    SelfAttention model(composite ? Positions::composite : nn::positions_named(kind), causal, options);
    const Tensor mask = causal ? nn::causal_mask(6) : Tensor();
    expect_stored_gradients(
        model, [&](const Tensor& x) { return model(x, mask); }, expected, 1e-10,
        [](int64_t i) { return i < 8 ? i : i + 12; });
  }
}

TEST(Positions, FullyMaskedRowsGiveZerosForEveryKind) {
  manual_seed(4);
  for (const bool values : {false, true}) {
    for (const std::string_view kind : nn::position_names()) {
      SCOPED_TRACE(kind);
      nn::PositionOptions options = kSmallDistances;
      options.of<nn::ShawOptions>().values = values;
      SelfAttention model(nn::positions_named(kind), false, options);
      const Tensor x = randn({2, 3, 8}).as_leaf();
      const Tensor mask = nn::padding_mask(tensor({{1, 2, 3}, {0, 0, 0}}));
      Tape tape;
      const Tensor y = model(x, mask);
      // Fully masked: the output is the output layer's bias.
      EXPECT_EQ(largest_difference(y[1], model.attention.output.bias->expand({3, 8})), 0);
      const Gradients grads = tape.backward(sum(y * y));
      EXPECT_TRUE(all_finite(grads[x]));
      EXPECT_EQ(amax(abs(grads[x][1])).item(), 0);
    }
  }
}

TEST(Positions, TheTableHasNamesHelpAndOptionsOfEachEncoding) {
  nn::PositionOptions options;
  nn::Fields all;
  nn::list_positions("composite", options, all);
  std::vector<std::string> used;
  for (const nn::Field& field : all) {
    EXPECT_FALSE(field.setting.help.empty()) << field.setting.name;
    EXPECT_EQ(field.setting.group, "Positions");
    EXPECT_EQ(all.find(field.setting.name), &field) << field.setting.name << " is listed twice";
    if (field.used) used.emplace_back(field.setting.name);
  }
  EXPECT_EQ(used, (std::vector<std::string>{"rope-base", "ntk-scale", "composite-added", "composite-relative"}));
  for (const nn::PositionKind* kind : nn::position_kinds()) {
    SCOPED_TRACE(kind->name);
    EXPECT_FALSE(kind->help.empty());
    EXPECT_EQ(&nn::kind_of(kind->positions()), kind);
    EXPECT_EQ(nn::name(nn::positions_named(kind->name)), kind->name);
    const nn::PositionSizes sizes{.width = 8, .max_positions = 6, .heads = 2, .head_dim = 4};
    const bool acts_inside = kind->relative(sizes, options).defined() || kind->pairs(sizes, options).defined();
    using Role = nn::PositionKind::Role;
    EXPECT_EQ(kind->added(sizes, options).defined(), kind->role == Role::added || kind->name == "composite");
    EXPECT_EQ(acts_inside, kind->role == Role::relative || kind->name == "composite");
  }
}

TEST(Positions, OptionsAreDefaultsUntilTheyAreSetAndCopiesAreTheirOwn) {
  nn::PositionOptions options(nn::RopeOptions{.base = 500});
  const nn::PositionOptions copy = options;
  options.of<nn::RopeOptions>().base = 700;
  options.of<nn::T5Options>().buckets = 8;
  EXPECT_EQ(copy.of<nn::RopeOptions>().base, 500);
  EXPECT_EQ(copy.of<nn::T5Options>().buckets, 32);
  EXPECT_EQ(std::as_const(options).of<nn::RopeOptions>().base, 700);
  EXPECT_EQ(std::as_const(options).of<nn::RopeOptions>().ntk_scale, 1);
}

TEST(Positions, Errors) {
  EXPECT_EQ(error_of([] { nn::positions_named("ropes"); }),
            fmt::format("[positions] expected one of {}, got \"ropes\"", fmt::join(nn::position_names(), ", ")));
  EXPECT_EQ(error_of([] { nn::rope(ones({2, 3})); }), "[positions] expected heads of an even size for rope, got 3");
  EXPECT_EQ(error_of([] { nn::rope(ones({2})); }), "[positions] expected x [..., T, D], got [2]");
  EXPECT_EQ(error_of([] { nn::add_index(ones({2})); }), "[positions] expected x [..., T, C], got [2]");
  EXPECT_ERROR(nn::ntk_base(10000, 2, 2));
  const auto of = [](nn::PositionOptions options) { return error_of([&] { options.check(); }); };
  EXPECT_EQ(of({}), "no error");
  EXPECT_EQ(of(nn::LearnedPositionOptions{.interpolate_to = -1}), "[positions] expected interpolate_to >= 0, got -1");
  EXPECT_EQ(of(nn::RopeOptions{.base = 1}), "[positions] expected rope_base > 1, got 1");
  EXPECT_EQ(of(nn::RopeOptions{.ntk_scale = 0.5}), "[positions] expected ntk_scale >= 1, got 0.5");
  EXPECT_EQ(of(nn::ShawOptions{.distance = 0}), "[positions] expected shaw_distance > 0, got 0");
  EXPECT_EQ(of(nn::T5Options{.buckets = 5}), "[positions] t5_buckets: expected an even number >= 4, got 5");
  EXPECT_TEXT(of(nn::T5Options{.distance = 16}));
  EXPECT_EQ(of(nn::ConvPositionOptions{.width = 4}), "[positions] conv_width: expected an odd number > 0, got 4");
  EXPECT_EQ(of(nn::LstmPositionOptions{.size = -1}), "[positions] expected lstm_size >= 0, got -1");
  EXPECT_EQ(of(nn::OdePositionOptions{.size = -2}), "[positions] expected ode_size >= 0, got -2");
  EXPECT_EQ(of(nn::OdePositionOptions{.interval = 0}), "[positions] expected ode_interval > 0, got 0");
  EXPECT_EQ(of(nn::OdePositionOptions{.solver = {.steps = 0}}), "[positions] expected ode_steps > 0, got 0");
  EXPECT_EQ(of(nn::OdePositionOptions{.solver = {.tolerance = 0}}), "[positions] expected ode_tolerance > 0, got 0");
  EXPECT_EQ(of(nn::DynamicPositionOptions{.size = -1}), "[positions] expected dynamic_size >= 0, got -1");
  EXPECT_EQ(of(nn::CompositePositionOptions{.added = "rope"}),
            fmt::format("[positions] expected composite_added to be one of {}, got rope",
                        fmt::join(nn::added_position_names(), ", ")));
  EXPECT_EQ(of(nn::CompositePositionOptions{.relative = "none"}),
            fmt::format("[positions] expected composite_relative to be one of {}, got none",
                        fmt::join(nn::relative_position_names(), ", ")));
}

TEST(Positions, EachIsARowOfThePageAboutModels) {
  const std::string page = slurp(std::string(kSourceDir) + "/docs/models.md");
  for (const std::string_view name : nn::position_names())
    EXPECT_NE(page.find(fmt::format("\n| `{}`", name)), std::string::npos) << name;
}

}  // namespace
}  // namespace tapegrad::tests
