// The blocks of code in the comments of nn/, compiled and run (blocks.py).
#include <tapegrad/tests/comments/block_test.h>
#include <tapegrad/tests/support/testing.h>

#include <iostream>

namespace tapegrad::tests {
namespace {

TEST_F(Comments, Lists) {
#include "comments/nn/module/module_2.inc"
  EXPECT_EQ(layers.size(), 3u);
#include "comments/nn/module/parameter_1.inc"
  EXPECT_EQ(Tensor(mask).shape(), (Shape{8, 8}));
}

TEST_F(Comments, Watch) {
  const Tensor ids = tensor({{1, 2}});
  nn::GPTModel model = small_gpt();
#include "comments/nn/module/watch/watch_1.inc"
  EXPECT_EQ(seen.result.shape(), (Shape{1, 2, 7}));
}

TEST_F(Comments, AdditiveAttention) {
  const Tensor state = randn({2, 64}), encoded = randn({2, 5, 128});
#include "comments/nn/attention/additive_1.inc"
  EXPECT_EQ(context.shape(), (Shape{2, 1, 128}));
}

TEST_F(Comments, Convolution) {
#include "comments/nn/layers/convolution_1.inc"
  EXPECT_EQ(half(randn({1, 64, 10})).shape(), (Shape{1, 128, 5}));
  EXPECT_EQ(same(randn({1, 64, 10})).shape(), (Shape{1, 128, 10}));
}

TEST_F(Comments, Recurrent) {
  const Tensor x = randn({3, 2, 10});
#include "comments/nn/layers/recurrent_1.inc"
  EXPECT_EQ(again.shape(), (Shape{3, 2, 20}));
  EXPECT_EQ(c.shape(), (Shape{2, 2, 20}));
}

TEST_F(Comments, Lora) {
  nn::GPTModel model = small_gpt();
  const auto train = [](const nn::GPTModel& gpt, optim::AdamW& adam) {
    Tape tape;
    adam.step(tape.backward(mean(gpt(zeros({1, 4}, kInt64)))));
  };
#include "comments/nn/layers/weight/lora_1.inc"
  EXPECT_EQ(adam.steps(), 1);
}

TEST_F(Comments, Adapter) {
  nn::GPTModel model = small_gpt(), other = small_gpt();
  nn::lora(model, {.rank = 2, .targets = {"out_proj"}});
#include "comments/nn/models/adapter_1.inc"
  EXPECT_GT(nn::trainable_parameters(other).size(), 0u);
}

TEST_F(Comments, WeightNorm) {
  const Tensor x = randn({1, 64, 5});
#include "comments/nn/layers/weight/weight_norm_1.inc"
  EXPECT_EQ(score(randn({2, 64})).shape(), (Shape{2, 1}));
}

TEST_F(Comments, Llama) {
  const Tensor ids = randint(0, 1000, {2, 3});
#include "comments/nn/models/llama_1.inc"
  EXPECT_EQ(logits.shape(), (Shape{2, 3, 1000}));
}

struct Encoded {
  Tensor states;
};
struct LstmEncoder {
  nn::Embedding table;
  explicit LstmEncoder(int64_t width) : table(10, width) {}
  Encoded operator()(const Tensor& ids) const { return {table(ids)}; }
  void visit(auto&& field) { field("table", table); }
};

TEST_F(Comments, AnyOf) {
  const nn::SelfAttentionConfig config{.d_in = 8, .d_out = 8, .num_heads = 2, .context_length = 4};
#include "comments/nn/module/containers/any_of_1.inc"
  EXPECT_EQ(attention(randn({1, 4, 8}), Tensor()).shape(), (Shape{1, 4, 8}));
  EXPECT_EQ(encoder(tensor({1, 2})).states.shape(), (Shape{2, 8}));
}

TEST_F(Comments, AnyModules) {
#include "comments/nn/module/containers/any_of_2.inc"
  EXPECT_EQ(layers[1](layers[0](x)).shape(), (Shape{4, 8}));
}

TEST_F(Comments, Dict) {
  const Tensor x = randn({3, 64});
  testing::internal::CaptureStdout();
#include "comments/nn/module/containers/dict_1.inc"
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "policy: [2, 64]\nvalue: [1, 64]\n");
  EXPECT_EQ(value.shape(), (Shape{3, 1}));
}

TEST_F(Comments, Sequential) {
#include "comments/nn/module/containers/sequential_1.inc"
  EXPECT_EQ(nn::parameters(net).at(2).name, "2.weight");
}

TEST_F(Comments, Variant) {
  const Tensor x = randn({3, 64});
#include "comments/nn/module/containers/variant_1.inc"
  EXPECT_EQ(y.shape(), x.shape());
}

namespace derivatives_of_models {

using Net = nn::Linear;

TEST_F(Comments, DerivativesOfModels) {
  const std::vector<Tensor> v{ones({3, 2}), ones({3})}, values{zeros({3, 2}), zeros({3})};
#include "comments/nn/module/derivatives_1.inc"
  EXPECT_EQ(grads.size(), 2u);
  EXPECT_NEAR(other.item(), std::log(3), 1e-6);
}

}  // namespace derivatives_of_models

TEST_F(Comments, Fields) {
  using nn::kNotNegative, nn::kOdeSolverNames;
  const std::string kind = "window";
  int64_t window = -1;
  nn::OdeSolver solver = nn::OdeSolver::rk4;
  nn::Fields f;
#include "comments/nn/module/fields_1.inc"
  EXPECT_NE(f.find("solver"), nullptr);
  EXPECT_THROW(nn::check_fields("test", f), Error);
}

namespace module_with_visit {
// The test is one of the struct.
// clang-format off
#include "comments/nn/module/module_1.inc"
#include "comments/nn/module/gradcheck_gtest_1.inc"
// clang-format on
}  // namespace module_with_visit

namespace plain_module {
#include "comments/nn/module/reflection_1.inc"
}  // namespace plain_module

TEST_F(Comments, PlainModule) {
  const plain_module::Mlp mlp;
  EXPECT_EQ(mlp(randn({2, 8})).shape(), (Shape{2, 8}));
  EXPECT_EQ(nn::parameters(mlp).size(), 4u);
}

namespace ensemble {
#include "comments/nn/layers/ensemble_1.inc"
struct Net {
  nn::Linear up{8, 32}, down{32, 1};
};
}  // namespace ensemble

TEST_F(Comments, Ensemble) {
  ensemble::Nets nets;
  std::vector<ensemble::Net> models(5);
  ensemble::Net plain;
  std::vector<NamedTensors> states;
  for (const ensemble::Net& model : models) states.push_back(nn::state_dict(model));
#include "comments/nn/layers/ensemble_2.inc"
  EXPECT_EQ(nets(randn({3, 8})).shape(), (Shape{5, 3, 1}));
  EXPECT_TRUE(equal(plain.down.weight, models[3].down.weight));
}

struct Block {
  nn::Linear up{2, 2};
  Tensor operator()(const Tensor& x, const Tensor& mask) const { return up(x) * mask.to(x.dtype()); }
};

TEST_F(Comments, Gradcheck) {
  const Block model;
  const Tensor mask = x > 0;
#include "comments/nn/module/gradcheck_1.inc"
  EXPECT_TRUE(report) << report.text;
}

TEST_F(Comments, Hooks) {
  struct {
    nn::Hooked<nn::Linear> up{2, 3};
  } model;
  testing::internal::CaptureStdout();
#include "comments/nn/module/hooked_1.inc"
  model.up(x);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");  // the hook is removed before the call
}

TEST_F(Comments, Positions) {
#include "comments/nn/positions/position_options_1.inc"
  EXPECT_EQ(options.of<nn::RopeOptions>().base, 500'000);
}

}  // namespace
}  // namespace tapegrad::tests
