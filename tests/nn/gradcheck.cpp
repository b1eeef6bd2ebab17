// Gradient checks of whole modules: correct ones pass, mistakes are found and named.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tests {
namespace {

const Op kForgetful{"forgetful"};

// x * scale, whose backward omits the factor for x, or is slightly wrong for scale.
struct Scale {
  int64_t dim;
  nn::Parameter scale{ones({dim})};
  bool forgets_x = false;
  double factor = 1;
  Tensor operator()(const Tensor& x) const {
    Tensor y;
    {
      const PauseRecording pause;
      y = x * scale;
    }
    const Tensor s = scale;
    return record(kForgetful, y, {x, s}, [x, s, forgets = forgets_x, factor = factor](const Tensor& dy) -> Grads {
      return {forgets ? dy : dy * s, x * dy * factor};
    });
  }
};

struct ScaledBlock {
  nn::Linear up{2, 3};
  Scale scale{3};
  Tensor operator()(const Tensor& x) const { return tanh(scale(up(x))); }
};

// Wrong for the scale if the gradient of what it multiplies is not wanted.
struct Inner {
  nn::Linear up{2, 2};
  nn::Parameter scale{ones({2})};
  Tensor operator()(const Tensor& x) const {
    const Tensor h = tanh(up(x)), s = scale;
    return record(kForgetful, h.detach() * s.detach(), {h, s},
                  [h, s](const Tensor& dy, const BackwardPass& pass) -> Grads {
                    return {dy * s, dy * h * (pass.wants(0) ? 1.0 : 2.0)};
                  });
  }
};

TEST(ModuleGradcheck, CorrectModulesPassUnchanged) {
  manual_seed(3);
  nn::FeedForward block(3, 5, 0.2, nn::Activation::gelu);
  const std::vector<float> weight = block.w_1.weight->to_vector<float>();
  const Tensor x = rand({2, 3});
  const std::vector<std::byte> generator = default_generator().state();
  const GradcheckReport report = nn::gradcheck(block, {x});
  EXPECT_TRUE(report.ok) << report.text;
  EXPECT_GE(report.entries, 6 * (6 + 3 * 5 + 5 + 5 * 3 + 3));  // every output by every input and parameter
  EXPECT_EQ(block.w_1.weight->dtype(), kFloat32);
  EXPECT_EQ(block.w_1.weight->to_vector<float>(), weight);
  EXPECT_EQ(default_generator().state(), generator);
}

TEST(ModuleGradcheck, TakesAnyCallAndIntegerInputs) {
  const nn::MultiHeadSelfAttention attention({.d_in = 3, .d_out = 4, .num_heads = 2, .dropout = 0.3});
  const auto call = [](auto& module, std::span<const Tensor> in) { return module(in[0], nn::padding_mask(in[1])); };
  EXPECT_TRUE(
      nn::gradients_match(attention, {randn({1, 3, 3}), tensor({{4, 0, 5}})}, call, {.gradcheck = {.order = 1}}));
}

TEST(ModuleGradcheck, FindsAWrongGradientAndNamesItsParameter) {
  ScaledBlock block;
  EXPECT_TRUE(nn::gradcheck(block, {randn({2, 2})}).ok);
  block.scale.factor = 1 + 1e-5;
  GradcheckReport report = nn::gradcheck(block, {randn({2, 2})});
  EXPECT_FALSE(report.ok);
  EXPECT_EQ(report.order, 1);
  EXPECT_NE(report.text.find(" of scale.scale)"), std::string::npos) << report.text;
  block.scale.factor = 1;
  block.scale.forgets_x = true;  // right where the scale is 1, as it is at the start: the check moves away from there
  report = nn::gradcheck(block, {randn({2, 2})});
  EXPECT_FALSE(report.ok);
  report = nn::gradcheck(block, {randn({2, 2})}, {.gradcheck = {.order = 1}, .move = 0});
  EXPECT_TRUE(report.ok) << report.text;
}

TEST(ModuleGradcheck, IsAnAssertionOfGoogleTest) {
  const Tensor x = randn({2, 2});
  EXPECT_TRUE(nn::gradients_match(ScaledBlock(), {x}));
  EXPECT_TRUE(nn::gradients_match(ScaledBlock(), {x}, {.gradcheck = {.order = 1}}));
  const auto call = [](ScaledBlock& block, std::span<const Tensor> in) { return block(in[0]) * block(in[0]); };
  EXPECT_TRUE(nn::gradients_match(ScaledBlock(), {x}, call));
  ScaledBlock wrong;
  wrong.scale.factor = 1 + 1e-5;
  const testing::AssertionResult failed = nn::gradients_match(wrong, {x});
  EXPECT_FALSE(failed);
  EXPECT_EQ(failed.message(), nn::gradcheck(wrong, {x}).text);
  const std::vector<Tensor> inputs{x};
  EXPECT_TRUE(gradients_match(nn::Linear(2, 1), inputs)) << "found by its argument's namespace";

  const Tensor point = tensor({0.5, 0.0}, kFloat64);
  EXPECT_TRUE(gradients_match([](const Tensor& v) { return v * v; }, {point}));
  EXPECT_EQ(std::string(gradients_match([](const Tensor& v) { return relu(v); }, {point}).message()).substr(0, 48),
            "all 12 derivatives match, 2 of them undecidable:");
}

TEST(ModuleGradcheck, FindsAParameterThatIsWrongWhenOthersAreNotWanted) {
  const std::string text = nn::gradcheck(Inner(), {randn({2, 2})}).text;
  EXPECT_TRUE(text.starts_with("order 1: scale gets a different gradient under BackwardOptions::only")) << text;
}

TEST(ModuleGradcheck, ErrorsOfTheModuleReachTheCaller) {
  EXPECT_EQ(error_of([] { nn::gradcheck(nn::Linear(2, 3), {ones({2, 5})}); }).substr(0, 8), "[linear]");
}

}  // namespace
}  // namespace tapegrad::tests
