// Transforms of gradients: the values of each, their order, the errors of wrong options.
#include <tapegrad/tests/support/testing.h>

namespace tapegrad {
namespace {

using namespace tests;

// The gradients {3, -4} and {12} after some transforms, one list.
std::vector<float> after(const std::vector<optim::GradientTransform>& transforms) {
  const Tensor a = zeros({2}).as_leaf(), b = zeros({1}).as_leaf();
  Gradients grads = gradients_given({{a, tensor({3., -4.})}, {b, tensor({12.})}});
  optim::StepGradients step(grads);
  for (const optim::GradientTransform& transform : transforms) transform(step);
  std::vector<float> all = grads[a].to_vector<float>();
  all.push_back(grads[b].to_vector<float>()[0]);
  return all;
}

TEST(GradientTransforms, AreAppliedInOrder) {
  const auto doubled = [](optim::StepGradients& grads) { grads.map([](auto x) { return 2 * x; }); };
  EXPECT_EQ(after({}), (std::vector<float>{3, -4, 12}));
  EXPECT_EQ(after({optim::ClipValue{3.5}}), (std::vector<float>{3, -3.5F, 3.5F}));
  EXPECT_EQ(after({optim::ClipValue{3.5}, doubled}), (std::vector<float>{6, -7, 7}));
  EXPECT_EQ(after({doubled, optim::ClipValue{3.5}}), (std::vector<float>{3.5F, -3.5F, 3.5F}));
  EXPECT_EQ(after({optim::ClipNorm{13.1}}), (std::vector<float>{3, -4, 12}));
  const std::vector<float> clipped = after({optim::ClipNorm{1.3}});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(clipped[i], std::vector<float>({0.3F, -0.4F, 1.2F})[i], 1e-6);
}

TEST(GradientTransforms, TheFunctionsOnGradientsAreTheSame) {
  const Tensor a = zeros({40'000}).as_leaf(), b = zeros({7}).as_leaf();
  const auto changed = [&](const auto& change) {
    Gradients grads = gradients_given({{a, arange(40'000, kFloat32) * 1e-4}, {b, full({7}, -2)}});
    manual_seed(4);
    change(grads);
    return std::pair(grads[a].to_vector<float>(), grads[b].to_vector<float>());
  };
  const auto by = [&](const optim::GradientTransform& transform) {
    return changed([&](Gradients& grads) {
      optim::StepGradients step(grads);
      transform(step);
    });
  };
  const auto unchanged = changed([](Gradients&) {});
  const auto noisy = by(optim::GradientNoise{0.5});
  EXPECT_EQ(by(optim::ClipNorm{2}), changed([](Gradients& grads) { optim::clip_grad_norm(grads, 2); }));
  EXPECT_EQ(by(optim::ClipValue{1}), changed([](Gradients& grads) { optim::clip_grad_value(grads, 1); }));
  EXPECT_EQ(noisy, changed([](Gradients& grads) { optim::add_noise(grads, 0.5); }));
  EXPECT_NE(noisy, unchanged);
  manual_seed(4);
  const Tensor noise = randn({40'000}) * 0.5;
  EXPECT_EQ(noisy.first, (tensor(unchanged.first, {40'000}) + noise).to_vector<float>());
  Generator first(9), second(9);
  EXPECT_EQ(by(optim::GradientNoise{1, &first}), by(optim::GradientNoise{1, &second}));
}

TEST(GradientTransforms, DoNotChangeSharedTensors) {
  const optim::GradientTransform more = [](optim::StepGradients& step) { step.map([](auto x) { return x + 1; }); };
  for (const auto& [transform, expected] : {std::pair{more, std::vector<float>{4, 5}}, {optim::ClipValue{2}, {2, 2}}}) {
    const Tensor a = zeros({2}).as_leaf(), b = zeros({2}).as_leaf(), shared = tensor({3., 4.});
    Gradients grads = gradients_given({{a, shared}, {b, shared}});
    optim::StepGradients step(grads);
    transform(step);
    EXPECT_EQ(shared.to_vector<float>(), (std::vector<float>{3, 4}));
    for (const Tensor& leaf : {a, b}) EXPECT_EQ(grads[leaf].to_vector<float>(), expected);
  }
}

TEST(GradientTransforms, LeaveOutWhatTheOptimiserIgnores) {
  const Tensor own = tensor({3., 4.}).as_leaf(), other = tensor({12.}).as_leaf();
  optim::SGD sgd({{"own", own}}, {.lr = 1});
  sgd.ignore({{"other", other}});
  Gradients grads = Tape().backward(0.5 * (sum(own * own) + sum(other * other)));
  optim::StepGradients step(grads, sgd);
  EXPECT_EQ(step.norm(), 5);
  EXPECT_EQ(step.clipped_norm(), 0);
  EXPECT_EQ(step.clip_norm(1), 5);
  EXPECT_LT(step.clip_norm(0.1), 1);
  EXPECT_EQ(step.clipped_norm(), 5);
}

TEST(GradientTransforms, WrongOptionsAreErrors) {
  const double nan = std::nan("");
  const std::pair<optim::GradientTransform, std::string> wrong[] = {
      {optim::ClipNorm{0}, "[clip_grad_norm] expected max_norm > 0, got 0"},
      {optim::ClipNorm{nan}, "[clip_grad_norm] expected max_norm > 0, got nan"},
      {optim::ClipValue{-1}, "[clip_grad_value] expected a limit > 0, got -1"},
      {optim::ClipValue{nan}, "[clip_grad_value] expected a limit > 0, got nan"},
      {optim::GradientNoise{-1}, "[add_noise] expected a standard deviation of at least 0, got -1"},
      {optim::GradientNoise{nan}, "[add_noise] expected a standard deviation of at least 0, got nan"},
  };
  for (const auto& [transform, text] : wrong) {
    EXPECT_EQ(error_of([&, of = &transform] { of->check(); }), text);
    EXPECT_EQ(error_of([&, of = &transform] { after({*of}); }), text);
  }
  const optim::GradientTransform own = [](optim::StepGradients&) { fail("own", "called"); };
  own.check();
  EXPECT_EQ(error_of([&] { after({own}); }), "[own] called");
}

}  // namespace
}  // namespace tapegrad
