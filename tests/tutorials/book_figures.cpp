// Sizes of tutorial 003's table of models; numbers of GPT from scratch besides those in gpt_from_scratch.cpp.
#include <tapegrad/tests/support/printed.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train/data/data_loader.h>

namespace tapegrad {
namespace {

using tests::expect_prints;

// ---- Tutorial 003, section 8.4.3: the table of models ----

// Parameters of an encoder of these sizes without its embeddings, and of both stacks.
std::pair<int64_t, int64_t> layers_of(nn::TransformerConfig config) {
  const int64_t layers = std::exchange(config.num_hidden_layers, 1);
  const nn::init::Skip skip;
  return {layers * nn::count_parameters(nn::TransformerEncoderLayer(config)),
          layers * nn::count_parameters(nn::TransformerDecoderLayer(config))};
}

// In millions. tapegrad's Transformer has a table each for source, target and output; the models of the table share
// one.
TEST(Tutorial003_8_4_3, SizesOfModels) {
  const auto millions = [](int64_t n) { return std::round(static_cast<double>(n) / 1e6); };
  const nn::TransformerConfig base = nn::transformer_preset("base"), bert = nn::transformer_preset("bert-base"),
                              t5 = nn::transformer_preset("t5-base");
  const auto [base_encoder, base_decoder] = layers_of(base);
  EXPECT_NEAR(millions(base_encoder + base_decoder + base.vocab_size * base.hidden_size), 65, 2);
  EXPECT_NEAR(millions(layers_of(bert).first + (bert.vocab_size + 512) * bert.hidden_size), 110, 2);
  const auto [t5_encoder, t5_decoder] = layers_of(t5);
  EXPECT_NEAR(millions(t5_encoder + t5_decoder + t5.vocab_size * t5.hidden_size), 220, 4);
  nn::GPTConfig gpt2 = nn::gpt_preset("gpt2-xl");
  gpt2.tied_head = gpt2.qkv_bias = true;
  EXPECT_NEAR(millions(gpt2.parameter_count()), 1558, 0.5);  // "1.5B"
  const nn::GPTConfig gpt3{
      .context_length = 2048, .emb_dim = 12288, .n_heads = 96, .n_layers = 96, .qkv_bias = true, .tied_head = true};
  EXPECT_NEAR(millions(gpt3.parameter_count()), 175000, 500);
}

// ---- Chapter 4 ----

TEST(GPTFromScratch_4, DummyModelsLogitsSeed123) {
  manual_seed(123);
  const nn::Embedding tokens(50257, 768), positions(1024, 768);
  const nn::Linear head(768, 50257, false);
  const Tensor ids = tensor({{6109, 3626, 6100, 345}, {6109, 1110, 6622, 257}});
  const Tensor x = dropout(tokens(ids) + positions(arange(4)), 0.1);  // in training
  const Tensor logits = head(x);                                      // the blocks and the norm do nothing
  EXPECT_EQ(str(logits.shape()), "[2, 4, 50257]");
  const Tensor shown = cat({narrow(logits, 2, 0, 3), narrow(logits, 2, 50254, 3)}, 2);
  // One of them is a rounding error away from the edge of its last digit.
  const std::vector<double> printed{
      -1.2034, 0.3201, -0.7130, -1.5548, -0.2390, -0.4667, -0.1192, 0.4539,  -0.4432, 0.2392, 1.3469,  1.2430,
      0.5307,  1.6720, -0.4695, 1.1966,  0.0111,  0.5835,  0.0139,  1.6754,  -0.3388, 1.1586, -0.0435, -1.0400,
      -1.0908, 0.1798, -0.9484, -1.6047, 0.2439,  -0.4530, -0.7860, 0.5581,  -0.0610, 0.4835, -0.0077, 1.6621,
      0.3567,  1.2698, -0.6398, -0.0162, -0.1296, 0.3717,  -0.2407, -0.7349, -0.5102, 2.0057, -0.3694, 0.1814};
  const std::vector<float> ours = shown.contiguous().to_vector<float>();
  ASSERT_EQ(ours.size(), printed.size());
  for (std::size_t i = 0; i < printed.size(); ++i) EXPECT_NEAR(ours[i], printed[i], 5.5e-5) << i;
}

TEST(GPTFromScratch_4, LayerNormStepByStepSeed123) {
  manual_seed(123);
  const Tensor example = randn({2, 5});
  const nn::Linear layer(5, 6);
  const Tensor out = relu(layer(example));
  expect_prints(out, "{:.4f}", "0.2260 0.3470 0.0000 0.2216 0.0000 0.0000 0.2133 0.2394 0.0000 0.5198 0.3297 0.0000");
  const Tensor m = mean(out, -1, true), v = var(out, -1, true);
  expect_prints(m, "{:.4f}", "0.1324 0.2170");
  expect_prints(v, "{:.4f}", "0.0231 0.0398");
  const Tensor normalised = (out - m) / sqrt(v);
  expect_prints(normalised, "{:.4f}",
                "0.6159 1.4126 -0.8719 0.5872 -0.8719 -0.8719 -0.0189 0.1121 -1.0876 1.5173 0.5647 -1.0876");
  EXPECT_LT(amax(abs(mean(normalised, -1))).item(), 1e-6);
  expect_prints(var(normalised, -1, true), "{:.4f}", "1.0000 1.0000");
  const Tensor by_module = nn::LayerNorm(5)(example);  // population variance and eps: the deviation is nearly 1
  EXPECT_LT(amax(abs(mean(by_module, -1))).item(), 1e-6);
  expect_prints(var(by_module, -1, true, 0), "{:.4f}", "1.0000 1.0000");
}

TEST(GPTFromScratch_4, SizesOfTheModelAndItsParts) {
  const nn::GPTConfig config;
  EXPECT_EQ(fmt::format("{:.2f} MB", static_cast<double>(4 * config.parameter_count()) / (1024 * 1024)), "621.83 MB");
  nn::GPTConfig one = config;
  one.vocab_size = 1;
  one.n_layers = 1;
  const nn::GPTBlock block(one);
  EXPECT_EQ(nn::count_parameters(block.ff), 4'722'432);
  EXPECT_EQ(nn::count_parameters(block.att), 2'360'064);
  EXPECT_EQ(50257 * 768, 38'597'376);  // what a tied head saves
  EXPECT_EQ(config.parameter_count() - 38'597'376, 124'412'160);
}

// ---- Chapter 5 ----

TEST(GPTFromScratch_5, ProbabilitiesAndPerplexityOfTheUntrainedModelSeed123) {
  manual_seed(123);
  nn::GPTModel model({.context_length = 256});
  nn::eval(model);
  const Tensor inputs = tensor({{16833, 3626, 6100}, {40, 1107, 588}});
  const Tensor targets = tensor({{3626, 6100, 345}, {1107, 588, 11311}});
  const Tensor logits = model(inputs);
  const Tensor p = gather(softmax(logits), 2, targets.unsqueeze(2)).squeeze(2);
  // The last digit of the first one depends on the machine's rounding.
  const std::vector<double> printed{7.4541e-05, 3.1061e-05, 1.1563e-05, 1.0337e-05, 5.6776e-05, 4.7559e-06};
  const std::vector<float> ours = p.contiguous().to_vector<float>();
  ASSERT_EQ(ours.size(), printed.size());
  for (std::size_t i = 0; i < printed.size(); ++i) EXPECT_NEAR(ours[i], printed[i], 6e-5 * printed[i]) << i;
  expect_prints(log(p), "{:.4f}", "-9.5042 -10.3796 -11.3677 -11.4798 -9.7764 -12.2561");
  const double loss = cross_entropy(logits, targets).item();
  EXPECT_EQ(fmt::format("{:.4f}", loss), "10.7940");
  EXPECT_NEAR(std::exp(loss), 48725.82, 0.02);  // float32: a unit of the last place of the loss is 0.046
}

TEST(GPTFromScratch_5, TopThreeOfNine) {
  const Tensor logits = tensor({{4.51, 0.89, -1.90, 6.75, 1.63, -1.62, -1.89, 6.28, 1.79}});
  const Tensor p = nn::sampling_probabilities(logits, {.temperature = 1, .top_k = 3});
  expect_prints(p[0], "{:.4f}", "0.0615 0.0000 0.0000 0.5775 0.0000 0.0000 0.0000 0.3610 0.0000");
}

// ---- Appendix A ----

TEST(GPTFromScratch_A, LossAndGradientsOfOneWeight) {
  const Tensor y = tensor({1.0F}), x1 = tensor({1.1F});
  const Tensor w1 = tensor({2.2F}).as_leaf(), b = tensor({0.0F}).as_leaf();
  Tape tape;
  const Tensor loss = binary_cross_entropy(sigmoid(x1 * w1 + b), y);
  const Gradients grads = tape.backward(loss);
  EXPECT_EQ(fmt::format("{:.4f}", loss.item()), "0.0852");
  EXPECT_EQ(fmt::format("{:.4f}", grads[w1].item()), "-0.0898");
  EXPECT_EQ(fmt::format("{:.4f}", grads[b].item()), "-0.0817");
}

struct Toy {
  Tensor x = tensor({{-1.2, 3.1}, {-0.9, 2.9}, {-0.5, 2.6}, {2.3, -1.1}, {2.7, -1.5}});
  Tensor y = tensor({0, 0, 0, 1, 1});
  int64_t size() const { return 5; }
  std::pair<Tensor, int64_t> operator[](int64_t i) const { return {x[i], y[i].item<int64_t>()}; }
};

TEST(GPTFromScratch_A, OrderOfTheLoaderSeed123) {
  manual_seed(123);
  const Toy toy;
  const data::DataLoader loader(toy, {.batch_size = 2, .shuffle = true});
  std::vector<std::string> batches;
  auto iteration = loader.begin();
  while (const auto batch = iteration.next()) {
    const auto& [x, y] = *batch;
    std::string text;
    for (const double v : x.to_vector<float>()) text += fmt::format("{:.1f} ", v);
    for (const int64_t label : y.to_vector<int64_t>()) text += fmt::format("{} ", label);
    batches.push_back(text);
  }
  EXPECT_EQ(batches, (std::vector<std::string>{"2.3 -1.1 -0.9 2.9 1 0 ", "-1.2 3.1 -0.5 2.6 0 0 ", "2.7 -1.5 1 "}));
}

nn::Sequential<nn::Linear, nn::ReLU, nn::Linear, nn::ReLU, nn::Linear> network(int64_t inputs, int64_t outputs) {
  nn::Linear first(inputs, 30), second(30, 20), third(20, outputs);
  return nn::Sequential{std::move(first), nn::ReLU(), std::move(second), nn::ReLU(), std::move(third)};
}

TEST(GPTFromScratch_A, TrainingOfThreeEpochsSeed123) {
  EXPECT_EQ(nn::count_parameters(network(50, 3)), 2213);
  const Toy toy;
  const data::DataLoader loader(toy, {.batch_size = 2, .shuffle = true, .drop_last = true});
  manual_seed(123);
  auto model = network(2, 2);
  optim::SGD sgd(nn::parameters(model), {.lr = 0.5});
  std::vector<std::string> losses;
  for (int epoch = 0; epoch < 3; ++epoch) {
    auto iteration = loader.begin();
    while (const auto batch = iteration.next()) {
      const auto& [x, y] = *batch;
      Tape tape;
      const Tensor loss = cross_entropy(model(x), y);
      sgd.step(tape.backward(loss));
      losses.push_back(fmt::format("{:.2f}", loss.item()));
    }
  }
  EXPECT_EQ(losses, (std::vector<std::string>{"0.75", "0.65", "0.44", "0.13", "0.03", "0.00"}));
  expect_prints(model(toy.x), "{:.4f}", "2.8569 -4.1618 2.5382 -3.7548 2.0944 -3.1820 -1.4814 1.4816 -1.7176 1.7342");
  expect_prints(softmax(model(toy.x)), "{:.4f}",
                "0.9991 0.0009 0.9982 0.0018 0.9949 0.0051 0.0491 0.9509 0.0307 0.9693");
}

}  // namespace
}  // namespace tapegrad
