// Blocks of code in pages of docs/, compiled and run (blocks.py).
#include <tapegrad/tests/comments/block_test.h>
#include <tapegrad/tests/support/testing.h>

#include <iostream>

namespace tapegrad::tests {
namespace {

#include "comments/docs/modules_1.inc"

TEST_F(Comments, GradientChecks) {
  const Mlp model(8);
#include "comments/docs/gradients_6.inc"
  EXPECT_TRUE(report.ok) << report.text;
}

#include "comments/docs/gradients_7.inc"

TEST_F(Comments, DerivativesByParameters) {
  Mlp model(3);
  const tg::Tensor x = tg::randn({2, 3}), y = tg::randn({2, 3});
  std::vector<tg::Tensor> v, values;
  for (const auto& p : nn::parameters(model))
    v.push_back(tg::randn(p.tensor.shape())), values.push_back(p.tensor * 0.5);
#include "comments/docs/gradients_3.inc"
  EXPECT_EQ(value.item(), again.item());
  EXPECT_EQ(grads.size(), hv.size());
  EXPECT_EQ(blocks[0][1].shape(), (tg::Shape{12, 3, 12}));
  EXPECT_EQ(loss(model).item(), other.item());
}

TEST_F(Comments, ForwardMode) {
  Mlp model(3);
  const tg::Tensor x = tg::randn({2, 3});
  std::vector<tg::Tensor> v;
  for (const auto& p : nn::parameters(model)) v.push_back(tg::randn(p.tensor.shape()));
#include "comments/docs/gradients_5.inc"
  EXPECT_TRUE(same_bits(u, y));
  EXPECT_TRUE(dy.shape() == slope.shape());
}

TEST_F(Comments, RecurrentNetworks) {
  const tg::Tensor x = tg::randn({5, 3, 10}), more = tg::randn({2, 3, 10}), lengths = tg::tensor({5, 2, 3});
#include "comments/docs/models_3.inc"
  EXPECT_EQ(output.shape(), (tg::Shape{5, 3, 40}));
  EXPECT_EQ(later.shape(), (tg::Shape{2, 3, 40}));
  for (const tg::Tensor& state : {hidden, cell, h, c, last, memory}) EXPECT_EQ(state.shape(), (tg::Shape{4, 3, 20}));
  EXPECT_EQ(padded.shape(), output.shape());
  EXPECT_EQ(next.shape(), (tg::Shape{3, 20}));
}

TEST_F(Comments, TheFormOfAttentionOfAModel) {
  const nn::init::Skip no_draws;
#include "comments/docs/models_5.inc"
  EXPECT_EQ(model.config.attention.as<nn::WindowAttention>()->window, 128);
}

TEST_F(Comments, LinformerPerformerReformer) {
  const tg::Tensor x = tg::randn({2, 100, 16}), mask = nn::padding_mask(tg::ones({2, 100}, tg::kInt64));
#include "comments/docs/models_1.inc"
  EXPECT_EQ(y.shape(), (tg::Shape{2, 100, 32}));
  EXPECT_EQ(linformer(x, mask).shape(), y.shape());
  EXPECT_EQ(reformer(x, mask).shape(), y.shape());
}

TEST_F(Comments, ReversibleLayers) {
  const tg::Tensor x = tg::randn({2, 100, 16});
#include "comments/docs/models_2.inc"
  EXPECT_EQ(mixed.shape(), x.shape());
}

#include "comments/docs/models_8.inc"
struct OneNet {
  nn::Linear up{4, 8}, down{8, 2};
  tg::Tensor operator()(const tg::Tensor& x) const { return down(tanh(up(x))); }
};

TEST_F(Comments, Ensembles) {
  tg::manual_seed(1);
  OneNet a, b, c;
  const tg::Tensor x = tg::randn({5, 4}), target = tg::randn({5, 2}), before = a(x);
  Nets nets;
#include "comments/docs/models_9.inc"
  EXPECT_TRUE(equal(a(x), before));
  tg::Tape tape;
  const tg::Tensor y = nets(x);
  const tg::Gradients grads = tape.backward(sum(mean(square(y - target), {1, 2})));
  int64_t member = 0;
  for (const OneNet* net : {&a, &b, &c}) {
    tg::Tape own;
    const tg::Gradients of = own.backward(mse_loss((*net)(x), target));
    EXPECT_TRUE(tg::allclose(grads[nets.up.weight][member], of[net->up.weight], 1e-5, 1e-6));
    EXPECT_TRUE(tg::allclose(grads[nets.down.bias][member++], of[net->down.bias], 1e-5, 1e-6));
  }
}

TEST_F(Comments, GradientsPerExample) {
  nn::Sequential model{nn::Linear(4, 8), [](const tg::Tensor& x) { return relu(x); }, nn::Linear(8, 3)};
  const tg::Tensor x = tg::randn({6, 4}), y = tg::tensor({0, 1, 2, 0, 1, 2});
  tg::Generator generator(0);
  tg::optim::SGD optimizer(nn::parameters(model), {.lr = 0.1});
  const double max_norm = 1, noise_multiplier = 0.1, batch_size = 6;
  for (int step = 0; step < 2; ++step) {
#include "comments/docs/gradients_4.inc"
  }
}

struct Language {
  nn::Embedding table{5, 3};
  nn::Linear encoder{3, 3}, head{3, 5};
  tg::Tensor operator()(const tg::Tensor& ids) const { return head(encoder(table(ids))); }
};

TEST_F(Comments, TiedAndFrozenParameters) {
  Language model;
  const tg::Tensor ids = tg::tensor({{1, 2}});
#include "comments/docs/modules_9.inc"
  EXPECT_EQ(nn::count_trainable_parameters(model), 20);
}

TEST_F(Comments, Decoding) {
  const nn::Transformer model({.vocab_size = 6,
                               .hidden_size = 4,
                               .num_hidden_layers = 1,
                               .num_attention_heads = 2,
                               .intermediate_size = 8,
                               .max_position_embeddings = 32});
  const nn::GPTModel gpt(nn::gpt_preset("tiny"));
  const tg::Tensor src = tg::tensor({{3, 4, 5, 0}}), start = tg::tensor({1}).reshape({1, 1}),
                   prompt = tg::tensor({{3, 4}});
#include "comments/docs/models_7.inc"
  EXPECT_EQ(sampled.lengths[0], 20);
  EXPECT_LE(best.lengths[0], 20);
}

TEST_F(Comments, Gpt) {
  const tg::Tensor ids = tg::tensor({{1, 2, 3}}), prompt = ids, next = tg::tensor({4}).reshape({1, 1});
#include "comments/docs/gpt_1.inc"
  EXPECT_EQ(logits.shape(), (tg::Shape{1, 3, 50257}));
  EXPECT_EQ(cache.length(), 4);
  const tg::Tensor y = tg::tensor({{2, 3, 4}});
  const nn::EvalMode eval(model);
#include "comments/docs/gpt_2.inc"
  EXPECT_NEAR(loss.item(), tg::cross_entropy(model(ids), y).item(), 1e-5);
}

TEST_F(Comments, Gpt2OfHuggingFace) {
  {
    const nn::GPTModel small({.vocab_size = 6,
                              .context_length = 4,
                              .emb_dim = 4,
                              .n_heads = 2,
                              .n_layers = 1,
                              .qkv_bias = true,
                              .tied_head = true});
    std::filesystem::create_directory("gpt2");
    spill("gpt2/config.json", nn::to_hugging_face_config(small.config));
    tg::save_safetensors("gpt2/model.safetensors", nn::to_hugging_face(small));
  }
#include "comments/docs/gpt_3.inc"
  EXPECT_EQ(model(tg::tensor({{1, 2}})).shape(), (tg::Shape{1, 2, 6}));
}

TEST_F(Comments, LowRankAdapters) {
  nn::GPTModel model({.vocab_size = 6, .context_length = 4, .emb_dim = 4, .n_heads = 2, .n_layers = 1});
#include "comments/docs/lora_1.inc"
  EXPECT_FALSE(nn::has_lora(model));
  EXPECT_EQ(adam.parameters().size(), 4U);
}

TEST_F(Comments, LlamaOfHuggingFace) {
  {
    const nn::LlamaModel small({.vocab_size = 6,
                                .hidden_size = 4,
                                .intermediate_size = 6,
                                .num_hidden_layers = 1,
                                .num_attention_heads = 2,
                                .max_position_embeddings = 32});
    std::filesystem::create_directory("llama");
    spill("llama/config.json", nn::to_hugging_face_config(small.config));
    tg::save_safetensors("llama/model.safetensors", nn::to_hugging_face(small));
  }
  const tg::Tensor prompt = tg::tensor({{3, 4}});
#include "comments/docs/gpt_4.inc"
  EXPECT_EQ(answer.lengths[0], 20);
}

TEST_F(Comments, MixedPrecision) {
  Mlp model(4);
  const std::vector<std::pair<tg::Tensor, tg::Tensor>> batches(3, {tg::randn({2, 4}), tg::randn({2, 4})});
  tg::optim::Adam adam(tg::nn::parameters(model), {.lr = 1e-4});
#include "comments/docs/models_6.inc"
}

TEST_F(Comments, ATrainingLoop) {
  Mlp model(4);
  const std::vector<std::pair<tg::Tensor, tg::Tensor>> batches(3, {tg::randn({2, 4}), tg::randn({2, 4})});
#include "comments/docs/training_1.inc"
  EXPECT_EQ(adam.steps(), 3);
}

TEST_F(Comments, PositionsHaveOptions) {
#include "comments/docs/models_4.inc"
  EXPECT_EQ(options.of<nn::RopeOptions>().ntk_scale, 4);
}

namespace from_pytorch {

#include "comments/docs/from_pytorch_1.inc"

void train(const std::vector<std::pair<Tensor, Tensor>>& batches){
#include "comments/docs/from_pytorch_2.inc"
}

nn::TwinReport checked_port() {
#include "comments/docs/from_pytorch_3.inc"
  return report;
}

}  // namespace from_pytorch

// The Python code of the page prints these losses for the same batches, in PyTorch 2.15 and in 1.13.
TEST_F(Comments, FromPyTorchHasTheSameLosses) {
  std::vector<std::pair<Tensor, Tensor>> batches;
  for (int batch = 0; batch < 4; ++batch) {
    const Tensor index = arange(32 * 14 * 14).to(kFloat64) + 1000.0 * batch;
    batches.emplace_back(sin(index * index).to(kFloat32).reshape({32, 1, 14, 14}),
                         remainder(arange(32) * (batch + 1.0), 10));
  }
  testing::internal::CaptureStdout();
  from_pytorch::train(batches);
  std::istringstream printed(testing::internal::GetCapturedStdout());
  for (const double expected : {2.5762925, 2.5197179, 2.2818916, 2.1498680}) {
    double loss = 0;
    printed >> loss;
    EXPECT_NEAR(loss, expected, 2e-5);
  }
  EXPECT_EQ(load_safetensors("net.safetensors").tensors.size(), 9u);
}

TEST_F(Comments, FromPyTorchIsATwin) {
  std::filesystem::copy(std::string(kTestsDir) + "/data/twin_net.safetensors", "net_twin.safetensors");
  testing::internal::CaptureStdout();
  const nn::TwinReport report = from_pytorch::checked_port();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), report.text + "\n");
  EXPECT_TRUE(report) << report.text;
  EXPECT_EQ(report.noise, std::vector<std::string>{"conv.bias"});
}

}  // namespace
}  // namespace tapegrad::tests
