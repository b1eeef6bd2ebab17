// GPT: a causal Transformer with one stack of layers.
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/gpt.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/models/detail/presets.h>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kGPT = "gpt";
constexpr std::string_view kGPTConfig = "gpt_config";

const detail::NamedConfig<GPTConfig> kGPTPresets[] = {
    {"tiny", {.context_length = 64, .emb_dim = 64, .n_heads = 4, .n_layers = 2}},
    {"char", {.context_length = 128, .emb_dim = 128, .n_heads = 4, .n_layers = 4}},
    {"book", {.context_length = 256}},
    {"gpt2", {}},
    {"gpt2-medium", {.emb_dim = 1024, .n_heads = 16, .n_layers = 24}},
    {"gpt2-large", {.emb_dim = 1280, .n_heads = 20, .n_layers = 36}},
    {"gpt2-xl", {.emb_dim = 1600, .n_heads = 25, .n_layers = 48}},
};

SelfAttentionConfig attention_of(const GPTConfig& c) {
  return {.d_in = c.emb_dim,
          .d_out = c.emb_dim,
          .num_heads = c.n_heads,
          .dropout = c.drop_rate,
          .qkv_bias = c.qkv_bias,
          .positions = c.positions,
          .position_options = c.position_options,
          .num_kv_heads = c.n_kv_heads,
          .attention = c.attention,
          .form_length = c.context_length};
}

}  // namespace

// --- configuration ---

void GPTConfig::list(Fields& f) {
  f.add("vocab_size", "number of tokens", vocab_size, kPositive);
  f.add("context_length", "longest sequence of tokens that the model accepts", context_length, kPositive);
  f.add("emb_dim", "width of the model; a multiple of the number of heads", emb_dim, kPositive);
  f.add("n_heads", "heads per attention", n_heads, kPositive);
  f.add("n_kv_heads", "heads of keys and values, each shared by a group of queries", n_kv_heads, kNotNegative).special =
      "0: as many as query heads";
  f.add("n_layers", "number of blocks", n_layers, kPositive);
  f.add("drop_rate", "dropout probability, everywhere in the model", drop_rate, kShare);
  f.add("qkv_bias", "biases on query, key and value", qkv_bias);
  f.add("tied_head", "the output head shares the weight of the token embedding", tied_head);
}

void GPTConfig::check() const {
  check_fields(kGPTConfig, *this);
  require_divisible(kGPTConfig, "emb_dim", emb_dim, "n_heads", n_heads);
  kv_width(kGPTConfig, emb_dim, n_heads, n_kv_heads);
  position_options.check();
  attention.check(relative_kind(positions, position_options), true, n_kv_heads > 0 && n_kv_heads != n_heads);
}

int64_t GPTConfig::longest_input() const { return nn::longest_input(positions, context_length, position_options); }

int64_t GPTConfig::parameter_count() const { return detail::counted<GPTModel>(*this, &GPTConfig::n_layers); }

std::span<const std::string_view> gpt_presets() {
  static const std::vector<std::string_view> names = detail::names_of<GPTConfig>(kGPTPresets);
  return names;
}

GPTConfig gpt_preset(std::string_view name) { return detail::config_of<GPTConfig>(kGPT, kGPTPresets, name); }

// --- the masks of tutorial 000 ---

namespace {

Tensor saved_mask(int64_t length) { return triu(ones({length, length}), 1); }

}  // namespace

NamedTensors with_masks(NamedTensors state, const GPTConfig& config) {
  const Tensor mask = saved_mask(config.context_length);
  for (int64_t i = 0; i < config.n_layers; ++i) state.push_back({fmt::format("trf_blocks.{}.att.mask", i), mask});
  return state;
}

NamedTensors without_masks(const NamedTensors& state) {
  NamedTensors kept;
  for (const NamedTensor& t : state) {
    if (!t.name.ends_with(".att.mask")) {
      kept.push_back(t);
    } else if (const Tensor& m = t.tensor;
               m.dim() != 2 || m.size(0) != m.size(1) || !all(m.to(kFloat32) == saved_mask(m.size(0)))) {
      fail(kGPT, "expected \"{}\" to have ones above its diagonal and zeros elsewhere, got {} {}", t.name, m.dtype(),
           m.shape());
    }
  }
  return kept;
}

// --- parts ---

GPTFeedForward::GPTFeedForward(int64_t emb_dim) : expand(emb_dim, 4 * emb_dim), contract(4 * emb_dim, emb_dim) {}

Tensor GPTFeedForward::operator()(const Tensor& x) const { return contract(gelu(expand(x), Gelu::tanh)); }

std::string GPTFeedForward::describe() const { return fmt::format("nn::GPTFeedForward({})", expand.weight.inputs()); }

GPTBlock::GPTBlock(const GPTConfig& config)
    : att(attention_of(config)),
      ff(config.emb_dim),
      norm1(config.emb_dim),
      norm2(config.emb_dim),
      drop_shortcut(config.drop_rate) {}

Tensor GPTBlock::operator()(const Tensor& x, const AttentionPass& pass) const {
  const Tensor y = x + drop_shortcut(att(norm1(x), pass));
  return y + drop_shortcut(ff(norm2(y)));
}

// --- the whole model ---

// Members are in the order of their draws.
GPTModel::GPTModel(const GPTConfig& config)
    : config(checked(config)),
      tok_emb(config.vocab_size, config.emb_dim),
      pos_emb(config.positions, config.context_length, config.emb_dim, config.position_options, true),
      relative_positions(config.positions, config.n_heads, config.emb_dim / config.n_heads, true,
                         config.position_options),
      drop_emb(config.drop_rate),
      trf_blocks(repeat<GPTBlock>(config.n_layers, config)),
      final_norm(config.emb_dim),
      out_head(config.vocab_size, config.emb_dim, config.tied_head) {
  if (config.tied_head && !init::Skip::on()) tok_emb.weight.set(tok_emb.weight.tensor().detach() * 0.02);
}

void GPTModel::redraw_features() {
  for (GPTBlock& block : trf_blocks) block.att.redraw();
}

Tensor GPTModel::placed(const Tensor& vectors, int64_t start, KVCache* cache) const {
  return drop_emb(pos_emb(vectors, start, {}, cache));
}

PositionBias GPTModel::positions(int64_t queries, int64_t start, DType dtype) const {
  return relative_positions(queries, start + queries, start, dtype);
}

Tensor GPTModel::block(std::size_t layer, const Tensor& x, const AttentionPass& pass) const {
  return trf_blocks[layer](x, pass);
}

Tensor GPTModel::head(const Tensor& hidden) const { return out_head(hidden, tok_emb); }

void GPTModel::walk_in(Visitor& visitor) { visitor.go(*this); }  // here, where the walk is compiled once

}  // namespace tapegrad::nn
