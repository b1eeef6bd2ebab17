// GPT: a causal Transformer with one stack of layers.
#include <fmt/format.h>
#include <tapegrad/autograd/detail/check.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/gpt.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/recompute.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kWhere = "gpt";
constexpr std::string_view kConfig = "gpt_config";

struct Preset {
  std::string_view name;
  GPTConfig config;
};

const Preset kPresets[] = {
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
          .attention = c.attention};
}

}  // namespace

// --- configuration ---

void GPTConfig::check() const {
  require_positive(kConfig, "vocab_size", vocab_size);
  require_positive(kConfig, "context_length", context_length);
  require_positive(kConfig, "emb_dim", emb_dim);
  require_positive(kConfig, "n_heads", n_heads);
  require_positive(kConfig, "n_layers", n_layers);
  require_probability(kConfig, "drop_rate", drop_rate);
  require_divisible(kConfig, "emb_dim", emb_dim, "n_heads", n_heads);
  kv_width(kConfig, emb_dim, n_heads, n_kv_heads);
  position_options.check();
  attention.check(positions);
}

int64_t GPTConfig::longest_input() const { return nn::longest_input(positions, context_length, position_options); }

int64_t GPTConfig::parameter_count() const {
  const int64_t c = emb_dim, norm = 2 * c;
  const int64_t kv = kv_width(kConfig, c, n_heads, n_kv_heads);
  const int64_t attention = 2 * c * (c + kv) + c + (qkv_bias ? c + 2 * kv : 0), feed_forward = 8 * c * c + 5 * c;
  const int64_t table = vocab_size * c;
  const PositionOptions& o = position_options;
  int64_t position_count = 0;
  if (positions == Positions::learned) position_count = context_length * c;
  if (positions == Positions::t5) position_count = o.t5_buckets * n_heads;
  if (positions == Positions::shaw) {
    position_count = n_layers * (2 * o.shaw_distance + 1) * (c / n_heads) * (o.shaw_values ? 2 : 1);
  }
  return table + position_count + n_layers * (attention + feed_forward + 2 * norm) + norm + (tied_head ? 0 : table);
}

GPTConfig gpt_preset(std::string_view name) {
  std::string known;
  for (const Preset& preset : kPresets) {
    if (preset.name == name) return preset.config;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", preset.name);
  }
  fail(kWhere, fmt::format("expected one of the presets {}, got \"{}\"", known, name));
}

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
      fail(kWhere, fmt::format("expected \"{}\" to have ones above its diagonal and zeros elsewhere, got {} {}", t.name,
                               name(m.dtype()), str(m.shape())));
    }
  }
  return kept;
}

// --- parts ---

GPTFeedForward::GPTFeedForward(int64_t emb_dim) : expand(emb_dim, 4 * emb_dim), contract(4 * emb_dim, emb_dim) {}

Tensor GPTFeedForward::operator()(const Tensor& x) const { return contract(gelu(expand(x), Gelu::tanh)); }

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

GPTHead::GPTHead(const GPTConfig& config) {
  if (config.tied_head) return;
  weight = Parameter(Tensor::empty({config.vocab_size, config.emb_dim}));
  init::kaiming_uniform(weight, std::sqrt(5.0));
}

Tensor GPTHead::operator()(const Tensor& x, const Tensor& table) const {
  return linear(x, weight.defined() ? weight : table);
}

// --- the whole model ---

// Members are in the order of their draws.
GPTModel::GPTModel(const GPTConfig& config)
    : config(checked(config)),
      tok_emb(config.vocab_size, config.emb_dim),
      pos_emb(config.positions, config.context_length, config.emb_dim, config.position_options),
      relative_positions(config.positions, config.n_heads, config.emb_dim / config.n_heads, true,
                         config.position_options),
      drop_emb(config.drop_rate),
      trf_blocks(repeat<GPTBlock>(config.n_layers, config)),
      final_norm(config.emb_dim),
      out_head(config) {
  if (config.tied_head && !init::Skip::on()) tok_emb.weight.set(tok_emb.weight.tensor().detach() * 0.02);
}

void GPTModel::store_in_bfloat16() {
  tok_emb.weight.convert(kBFloat16);
  if (out_head.weight.defined()) out_head.weight.convert(kBFloat16);
  for (GPTBlock& block : trf_blocks) {
    MultiHeadSelfAttention& att = block.att;
    for (Linear* layer :
         {&att.W_query, &att.W_key, &att.W_value, &att.out_proj, &block.ff.expand, &block.ff.contract}) {
      layer->weight.convert(kBFloat16);
    }
  }
}

Tensor GPTModel::hidden(const Tensor& ids, KVCache* cache, AttentionMaps* maps) const {
  if (ids.dim() != 2 || ids.dtype() != kInt64) {
    fail(kWhere, fmt::format("expected ids int64 [B, T], got {} {}", name(ids.dtype()), str(ids.shape())));
  }
  const int64_t start = cache ? cache->length() : 0, tokens = ids.size(1);
  if (start + tokens > config.longest_input()) {
    fail(kWhere, fmt::format("{} tokens are more than the context_length {}", start + tokens, config.longest_input()));
  }
  Tensor x = drop_emb(pos_emb(tok_emb(ids), start));
  const auto positions_of = [this, tokens, start](DType dtype) {
    return relative_positions(tokens, start + tokens, start, dtype);
  };
  const PositionBias positions = positions_of(x.dtype());
  for (std::size_t i = 0; i < trf_blocks.size(); ++i) {
    const GPTBlock& block = trf_blocks[i];
    Tensor weights;
    AttentionVectors vectors;
    const AttentionPass pass{.cache = cache,
                             .layer = i,
                             .positions = &positions,
                             .weights = maps ? &weights : nullptr,
                             .vectors = maps ? &vectors : nullptr};
    if (recompute_blocks && !cache && !maps && needs_grad(x)) {
      x = recompute(x, [&block, positions_of](const Tensor& in) {
        const PositionBias again = positions_of(in.dtype());
        return block(in, {.positions = &again});
      });
    } else {
      x = block(x, pass);
    }
    if (maps) maps->add(fmt::format("trf_blocks.{}.att", i), weights, vectors);
  }
  if (cache) cache->advance(tokens);
  return final_norm(x);
}

Tensor GPTModel::head(const Tensor& hidden) const { return out_head(hidden, tok_emb.weight); }

Tensor GPTModel::operator()(const Tensor& ids, KVCache* cache, AttentionMaps* maps) const {
  return head(hidden(ids, cache, maps));
}

// --- decoding ---

Tensor GPTNext::logits(const Tensor& ids) {
  const PauseRecording pause;
  const int64_t longest = model_.config.longest_input(), read = cache_.length(), length = ids.size(1);
  const bool continues = cached_ && length <= longest;
  const Tensor given = continues ? narrow(ids, 1, read, length - read) : ids.slice(1, -std::min(length, longest));
  return model_.head(model_.hidden(given, continues ? &cache_ : nullptr).select(1, -1));
}

void GPTNext::reorder(const Tensor& rows) {
  if (cache_.length() > 0) cache_.reorder(rows);
}

}  // namespace tapegrad::nn
