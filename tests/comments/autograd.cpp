// The blocks of code in the comments of autograd/ and optim/, compiled and run (blocks.py).
#include <tapegrad/tests/comments/block_test.h>
#include <tapegrad/tests/support/testing.h>

#include <iostream>

namespace tapegrad::tests {
namespace {

TEST_F(Comments, Autocast) {
  optim::Adam adam(nn::parameters(model), {.lr = 0.01});
#include "comments/autograd/autocast_1.inc"
  EXPECT_EQ(adam.steps(), 1);
}

TEST_F(Comments, Derivatives) {
  const Tensor x = tensor({1.0, 2.0}), v = ones({2});
#include "comments/autograd/derivatives/derivatives_1.inc"
  EXPECT_EQ(g.to_vector<float>(), (std::vector<float>{3, 12}));
  EXPECT_EQ(h.to_vector<float>(), (std::vector<float>{6, 12}));
  EXPECT_EQ(y.item(), 9);
  EXPECT_EQ(hv.to_vector<float>(), (std::vector<float>{6, 12}));
}

TEST_F(Comments, PerExample) {
  optim::SGD optimizer(nn::parameters(model), {.lr = 0.1});
  const double max_norm = 1, noise_multiplier = 0.5, batch_size = 4;
  Generator generator(1);
#include "comments/autograd/derivatives/per_example_1.inc"
  EXPECT_EQ(grads[model.weight].shape(), (Shape{4, 3, 2}));
#include "comments/autograd/derivatives/per_example_2.inc"
  EXPECT_EQ(optimizer.steps(), 1);
}

TEST_F(Comments, Distributions) {
  const Tensor mean = zeros({2}), std = ones({2});
#include "comments/autograd/distributions/dist_1.inc"
  EXPECT_EQ(z.shape(), Shape{2});
  EXPECT_EQ(kl.to_vector<float>(), (std::vector<float>{0, 0}));
}

TEST_F(Comments, Index) {
  const Tensor x = arange(12).reshape({3, 4}), ids = tensor({2, 0}), mask = x > 5;
#include "comments/autograd/index_1.inc"
  EXPECT_EQ(x(range(kAll, kAll, -1))(0).to_vector<int64_t>(), (std::vector<int64_t>{8, 9, 10, 11}));
}

TEST_F(Comments, Assignment) {
  Tensor x = arange(12).reshape({3, 4}).to(kFloat32);
  const Tensor y = full({}, 2.0), mask = x > 5, ids = tensor({2, 0});
#include "comments/autograd/tensor_1.inc"
  EXPECT_EQ(x(0).to_vector<float>(), (std::vector<float>{2, 5, 0, 0}));
  EXPECT_EQ(x(2).to_vector<float>(), (std::vector<float>{2, 2, 2, 2}));
}

namespace own_operation {
#include "comments/autograd/op_1.inc"
}

TEST_F(Comments, OwnOperation) { EXPECT_TRUE(gradcheck(own_operation::cube, {randn({3}, kFloat64)})); }

TEST_F(Comments, FlexAttention) {
  const int64_t T = 6;
  const Tensor query = randn({1, 2, T, 8}), key = randn({1, 2, T, 8}), value = randn({1, 2, T, 8});
#include "comments/autograd/ops/attention/flex/flex_attention_1.inc"
  EXPECT_EQ(y.shape(), query.shape());
}

TEST_F(Comments, FlexScore) {
  const Tensor query = randn({1, 2, 6, 8});
  const flex::Table<float> slopes(tensor({0.5, 0.25}).to(kFloat32));
#include "comments/autograd/ops/attention/flex/flex_score_1.inc"
  EXPECT_EQ(flex_attention(query, query, query, {.score_mod = soft_cap}).shape(), query.shape());
  EXPECT_EQ(flex_attention(query, query, query, {.score_mod = slope}).shape(), query.shape());
}

TEST_F(Comments, Fuse) {
  const Tensor u = ones({3}), u_x = full({3}, 2.0);
#include "comments/autograd/ops/fuse/fuse_1.inc"
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{2, 2, 2}));
}

TEST_F(Comments, FuseWithANumber) {
  const double nu = 0.5;
  const Tensor u = ones({2}), u_t = ones({2}), u_x = ones({2}), u_xx = full({2}, 2.0);
#include "comments/autograd/ops/fuse/fuse_2.inc"
  EXPECT_EQ(residual.to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST_F(Comments, Losses) {
  const Tensor y = randn({4}), target = randn({4}), logits = randn({4, 3}), classes = tensor({0, 1, 2, 0});
#include "comments/autograd/ops/loss/losses_1.inc"
}

TEST_F(Comments, LinearCrossEntropy) {
  const nn::GPTModel gpt({.vocab_size = 7, .context_length = 4, .emb_dim = 8, .n_heads = 2, .n_layers = 1});
  const Tensor hidden = randn({2, 4, 8}), y = randint(0, 7, {2, 4});
#include "comments/autograd/ops/loss/losses_2.inc"
  EXPECT_NEAR(loss.item(), cross_entropy(linear(hidden, gpt.out_head.weight).reshape({8, 7}), y.reshape({8})).item(),
              1e-6);
}

TEST_F(Comments, Graph) {
#include "comments/autograd/profiler/graph_1.inc"
  EXPECT_GT(std::filesystem::file_size("step.dot"), 100u);
}

TEST_F(Comments, Profiler) {
  optim::Adam adam(nn::parameters(model), {.lr = 0.01});
  testing::internal::CaptureStdout();
#include "comments/autograd/profiler/profiler_1.inc"
  EXPECT_NE(testing::internal::GetCapturedStdout().find("cross_entropy"), std::string::npos);
  EXPECT_GT(std::filesystem::file_size("trace.json"), 100u);
}

TEST_F(Comments, Average) {
  optim::SGD adam(nn::parameters(model), {.lr = 0.01});
  const auto evaluate = [&](const nn::Linear& tested) { EXPECT_TRUE(tested.weight->defined()); };
  const Gradients grads = gradients();
#include "comments/optim/average_1.inc"
  EXPECT_EQ(adam.steps(), 1);
}

namespace own_optimiser {
#include "comments/optim/optimizer_1.inc"
}

TEST_F(Comments, OwnOptimiser) {
  own_optimiser::Sign sign(nn::parameters(model), 0.5);
  const std::vector<float> before = model.bias->to_vector<float>();
  sign.step(gradients());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(std::abs(model.bias->to_vector<float>()[i] - before[i]), 0.5, 1e-6);
}

TEST_F(Comments, Lbfgs) {
  const Tensor y = x(all, range(0, 1)) + zeros({4, 3});
#include "comments/optim/rules/lbfgs_1.inc"
  EXPECT_LT(mse_loss(model(x), y).item(), 1e-6);
}

TEST_F(Comments, Schedules) {
  using namespace optim;
#include "comments/optim/schedule_1.inc"
  EXPECT_NEAR(chain(100), 1e-3, 1e-12);
}

}  // namespace
}  // namespace tapegrad::tests
