// Trainer equals sampler: the logits of tokens that are generated one by one, with a cache, in batches of any size, are
// bit by bit those of the forward pass of training.
// ctest: products families
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tapegrad/autograd/autocast.h>
#include <tapegrad/autograd/inference.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/gpt.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/llama.h>
#include <tapegrad/nn/lora.h>
#include <tapegrad/nn/module.h>
#include <tapegrad/tests/support/near.h>

#include <optional>
#include <string>
#include <vector>

namespace tapegrad {
namespace {

Tensor some_ids(int64_t batch, int64_t length, int64_t vocab) {
  Generator draws(4);
  std::vector<int64_t> ids(static_cast<std::size_t>(batch * length));
  draws.randint(ids.data(), batch * length, 0, vocab);
  return tensor(ids, {batch, length});
}

// As a step of training computes them: recorded, with the whole sequences, by the modules in training mode.
Tensor trained(nn::Decoder& model, const Tensor& ids) {
  Tape tape;
  return log_softmax(model(ids), -1).detach();
}

// As generation computes them: `prompt` tokens at once, then one by one.
Tensor generated(const nn::Decoder& model, const Tensor& ids, int64_t prompt) {
  const InferenceMode inference;
  nn::KVCache cache;
  std::vector<Tensor> parts = {log_softmax(model(narrow(ids, 1, 0, prompt), &cache), -1)};
  for (int64_t t = prompt; t < ids.size(1); ++t) parts.push_back(log_softmax(model(narrow(ids, 1, t, 1), &cache), -1));
  return cat(parts, 1);
}

int64_t positions_that_differ(const Tensor& a, const Tensor& b) {
  int64_t count = 0;
  for (int64_t t = 0; t < a.size(1); ++t) count += tests::same_bits(a.select(1, t), b.select(1, t)) ? 0 : 1;
  return count;
}

void expect_same(nn::Decoder& model, const std::string& what, const std::vector<int64_t>& batches = {1, 2, 3, 4, 5, 16},
                 int64_t length = 40, const std::vector<int64_t>& prompts = {1, 3, 20}) {
  for (const DType dtype : {kFloat32, kBFloat16}) {
    const Autocast autocast(dtype);
    for (const int64_t batch : batches) {
      const Tensor ids = some_ids(batch, length, model.vocab_size()), expected = trained(model, ids);
      for (const int64_t prompt : prompts) {
        EXPECT_EQ(positions_that_differ(generated(model, ids, prompt), expected), 0)
            << what << ", " << name(dtype) << ", batch " << batch << ", prompt " << prompt;
      }
    }
  }
}

TEST(Sampler, GPTHasTheBitsOfTraining) {
  for (const int64_t width : {32, 96, 128}) {
    manual_seed(1);
    nn::GPTModel model({.vocab_size = 61,
                        .context_length = 48,
                        .emb_dim = width,
                        .n_heads = width == 128 ? 2 : 4,
                        .n_layers = 2,
                        .drop_rate = 0});
    expect_same(model, "width " + std::to_string(width));
  }
}

// Products in several blocks along k, and as many keys as one block holds.
TEST(Sampler, WideAndLongGPTHasTheBitsOfTraining) {
  manual_seed(1);
  nn::GPTModel model(
      {.vocab_size = 333, .context_length = 256, .emb_dim = 320, .n_heads = 5, .n_layers = 1, .drop_rate = 0});
  expect_same(model, "wide", {1, 3}, 40);
  expect_same(model, "long", {1}, 256);
}

// More keys than attention takes head by head, also in a prompt.
TEST(Sampler, GPTWithManyKeysHasTheBitsOfTraining) {
  manual_seed(1);
  nn::GPTModel model(
      {.vocab_size = 61, .context_length = 700, .emb_dim = 32, .n_heads = 2, .n_layers = 1, .drop_rate = 0});
  expect_same(model, "300 keys", {1, 3, 16}, 300, {240, 290});  // the first prompt has few keys
  expect_same(model, "700 keys", {1, 3, 16}, 700, {690});
}

TEST(Sampler, LlamaWithManyKeysHasTheBitsOfTraining) {
  manual_seed(1);
  nn::LlamaModel model({.vocab_size = 61,
                        .hidden_size = 32,
                        .intermediate_size = 60,
                        .num_hidden_layers = 1,
                        .num_attention_heads = 4,
                        .num_key_value_heads = 2,
                        .max_position_embeddings = 700});
  expect_same(model, "300 keys", {1, 3, 16}, 300, {240, 290});  // the first prompt has few keys
  expect_same(model, "700 keys", {1, 3, 16}, 700, {690});
}

// A token has the same bits in a sequence of any length: of so few tokens that attention takes head by head, and of
// more.
TEST(Sampler, LaterTokensChangeNoBit) {
  manual_seed(1);
  nn::GPTModel model(
      {.vocab_size = 61, .context_length = 600, .emb_dim = 32, .n_heads = 2, .n_layers = 2, .drop_rate = 0});
  for (const DType dtype : {kFloat32, kBFloat16}) {
    const Autocast autocast(dtype);
    const Tensor ids = some_ids(2, 600, 61), all = trained(model, ids);
    for (const int64_t length : {3, 63, 64, 255, 256, 257, 300, 512, 513}) {
      const Tensor first = trained(model, narrow(ids, 1, 0, length));
      EXPECT_EQ(positions_that_differ(first, narrow(all, 1, 0, length)), 0) << name(dtype) << ", " << length;
    }
  }
}

TEST(Sampler, LlamaHasTheBitsOfTraining) {
  for (const int64_t key_heads : {1, 2, 4}) {
    for (const bool tied : {false, true}) {
      manual_seed(1);
      nn::LlamaModel model({.vocab_size = 61,
                            .hidden_size = 64,
                            .intermediate_size = 172,
                            .num_hidden_layers = 2,
                            .num_attention_heads = 4,
                            .num_key_value_heads = key_heads,
                            .max_position_embeddings = 48,
                            .tie_word_embeddings = tied});
      expect_same(model, fmt::format("{} heads of keys{}", key_heads, tied ? ", tied" : ""), {1, 2, 4, 5, 16});
    }
  }
}

// Updates of low rank, which products of their own compute, also together with those of few rows.
TEST(Sampler, LoraHasTheBitsOfTraining) {
  manual_seed(1);
  nn::GPTModel model(
      {.vocab_size = 61, .context_length = 48, .emb_dim = 96, .n_heads = 4, .n_layers = 2, .drop_rate = 0});
  nn::lora(model, {.rank = 4, .targets = {"W_query", "W_value", "out_proj"}});
  for (const auto& [name, p] : nn::named_parameters(model)) {
    if (name.ends_with("lora_B.weight")) nn::init::normal(p, 0, 0.3);  // an update of zero would hide a difference
  }
  expect_same(model, "lora");
}

}  // namespace
}  // namespace tapegrad
