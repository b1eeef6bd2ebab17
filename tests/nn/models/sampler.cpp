// Trainer equals sampler: tokens that are generated one by one have the logits of the forward pass, bit by bit.
// ctest: products families
#include <tapegrad/tests/support/testing.h>

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

struct SampledLengths {
  std::vector<int64_t> batches = {1, 2, 3, 4, 5, 16};
  int64_t length = 40;
  std::vector<int64_t> prompts = {1, 3, 20};
};

void expect_training_bits(nn::Decoder& model, const std::string& what, const SampledLengths& lengths = {}) {
  const auto& [batches, length, prompts] = lengths;
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

nn::GPTModel sampled_gpt(int64_t width, int64_t heads, int64_t layers, int64_t length, int64_t vocab = 61) {
  manual_seed(1);
  nn::GPTConfig config{.vocab_size = vocab, .context_length = length, .emb_dim = width, .n_heads = heads};
  config.n_layers = layers;
  config.drop_rate = 0;
  return nn::GPTModel(config);
}

nn::LlamaModel sampled_llama(int64_t width, int64_t inner, int64_t key_heads, int64_t layers, int64_t length,
                             bool tied) {
  manual_seed(1);
  return nn::LlamaModel({.vocab_size = 61,
                         .hidden_size = width,
                         .intermediate_size = inner,
                         .num_hidden_layers = layers,
                         .num_attention_heads = 4,
                         .num_key_value_heads = key_heads,
                         .max_position_embeddings = length,
                         .tie_word_embeddings = tied});
}

// More keys than attention takes head by head, also in a prompt: the first prompt has few keys.
const std::vector<SampledLengths> kManyKeys = {{{1, 3, 16}, 300, {240, 290}}, {{1, 3, 16}, 700, {690}}};

TEST(Sampler, GPTHasTheBitsOfTraining) {
  for (const auto& [width, heads] : {std::pair{32, 4}, {96, 4}, {128, 2}}) {
    nn::GPTModel model = sampled_gpt(width, heads, 2, 48);
    expect_training_bits(model, fmt::format("width {}", width));
  }
  nn::GPTModel wide = sampled_gpt(320, 5, 1, 256, 333);  // products in several blocks along k
  expect_training_bits(wide, "wide", {.batches = {1, 3}});
  expect_training_bits(wide, "long", {.batches = {1}, .length = 256});  // as many keys as one block holds
  nn::GPTModel longer = sampled_gpt(32, 2, 1, 700);
  for (const SampledLengths& lengths : kManyKeys)
    expect_training_bits(longer, fmt::format("{} keys", lengths.length), lengths);
  // Updates of low rank, which products of their own compute, also together with those of few rows.
  nn::GPTModel adapted = sampled_gpt(96, 4, 2, 48);
  nn::lora(adapted, {.rank = 4, .targets = {"W_query", "W_value", "out_proj"}});
  for (const auto& [name, p] : nn::named_parameters(adapted)) {
    if (name.ends_with("lora_B.weight")) nn::init::normal(p, 0, 0.3);  // an update of zero would hide a difference
  }
  expect_training_bits(adapted, "lora");
}

TEST(Sampler, LlamaHasTheBitsOfTraining) {
  for (const int64_t key_heads : {1, 2, 4}) {
    for (const bool tied : {false, true}) {
      nn::LlamaModel model = sampled_llama(64, 172, key_heads, 2, 48, tied);
      expect_training_bits(model, fmt::format("{} heads of keys{}", key_heads, tied ? ", tied" : ""),
                           {.batches = {1, 2, 4, 5, 16}});
    }
  }
  nn::LlamaModel longer = sampled_llama(32, 60, 2, 1, 700, false);
  for (const SampledLengths& lengths : kManyKeys)
    expect_training_bits(longer, fmt::format("{} keys", lengths.length), lengths);
}

TEST(Sampler, LaterTokensChangeNoBit) {
  nn::GPTModel model = sampled_gpt(32, 2, 2, 600);
  for (const DType dtype : {kFloat32, kBFloat16}) {
    const Autocast autocast(dtype);
    const Tensor ids = some_ids(2, 600, 61), all = trained(model, ids);
    for (const int64_t length : {3, 63, 64, 255, 256, 257, 300, 512, 513}) {
      const Tensor first = trained(model, narrow(ids, 1, 0, length));
      EXPECT_EQ(positions_that_differ(first, narrow(all, 1, 0, length)), 0) << name(dtype) << ", " << length;
    }
  }
}

}  // namespace
}  // namespace tapegrad
