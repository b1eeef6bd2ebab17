// The encoder-decoder Transformer.
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/nn/models/detail/presets.h>
#include <tapegrad/nn/transformer.h>

#include <algorithm>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kTransformerConfig = "transformer_config";
constexpr std::string_view kNorms[] = {"pre", "post"};

LayerNormStd norm_of(const TransformerConfig& c) { return LayerNormStd(c.hidden_size, c.layer_norm_eps); }
// Where a form cannot be causal, the decoder has full attention. That takes the causal mask of a pass; other forms are
// causal by themselves.
MultiHeadAttention self_attention_of(const TransformerConfig& c, bool causal) {
  const bool possible = !causal || c.attention.traits().not_causal.empty();
  const AttentionChoice choice = possible ? c.attention : AttentionChoice();
  return MultiHeadAttention({.d_in = c.hidden_size,
                             .d_out = c.hidden_size,
                             .num_heads = c.num_attention_heads,
                             .dropout = c.attention_probs_dropout_prob,
                             .qkv_bias = true,
                             .causal = causal && !choice.traits().scores,
                             .positions = c.positions,
                             .position_options = c.position_options,
                             .attention = choice,
                             .form_length = c.max_position_embeddings},
                            kAttentionNames);
}
MultiHeadAttention cross_attention_of(const TransformerConfig& c) {
  return MultiHeadAttention(c.hidden_size, c.num_attention_heads, c.attention_probs_dropout_prob);
}
RelativePositions relative_of(const TransformerConfig& c, bool causal) {
  return RelativePositions(c.positions, c.num_attention_heads, c.hidden_size / c.num_attention_heads, causal,
                           c.position_options);
}
FeedForward feed_forward_of(const TransformerConfig& c) {
  return FeedForward(c.hidden_size, c.intermediate_size, c.dropout_prob, c.activation);
}
SublayerConnection sublayer_of(const TransformerConfig& c) {
  return SublayerConnection(c.hidden_size, c.hidden_dropout_prob, c.layer_norm_eps, c.post_norm);
}

const detail::NamedConfig<TransformerConfig> kTransformerPresets[] = {
    {"base",
     {.vocab_size = 37000,
      .hidden_size = 512,
      .num_hidden_layers = 6,
      .num_attention_heads = 8,
      .intermediate_size = 2048}},
    {"big",
     {.vocab_size = 37000,
      .hidden_size = 1024,
      .num_hidden_layers = 6,
      .num_attention_heads = 16,
      .intermediate_size = 4096}},
    {"bert-base", {.vocab_size = 30522}},
    {"t5-base", {.vocab_size = 32128}},
};

}  // namespace

void TransformerConfig::list(Fields& f) {
  f.add("vocab_size", "number of tokens, including the padding token", vocab_size, kPositive);
  f.add("hidden_size", "width of the model; a multiple of the number of heads", hidden_size, kPositive);
  f.add("num_hidden_layers", "layers of the encoder, and of the decoder", num_hidden_layers, kPositive);
  f.add("num_attention_heads", "heads per attention", num_attention_heads, kPositive);
  f.add("intermediate_size", "width inside the feed-forward blocks", intermediate_size, kPositive);
  f.add("max_position_embeddings", "longest sequence that the model accepts", max_position_embeddings, kPositive);
  f.add_named({.name = "activation", .help = "activation of the feed-forward blocks"}, activation.kind,
              activation_names());
  f.add("activation_parameter", "leaky_relu's slope for x < 0, elu's alpha", activation.parameter);
  f.add_named(
      {.name = "norm", .help = "layer normalisation before each block (pre), or after each residual sum (post)"},
      post_norm, kNorms);
  f.add("dropout_prob", "dropout probability in the feed-forward blocks and after the decoder's blocks", dropout_prob,
        kShare);
  f.add("hidden_dropout_prob", "dropout probability after the embeddings and after the encoder's blocks",
        hidden_dropout_prob, kShare);
  f.add("attention_probs_dropout_prob", "dropout probability of attention weights", attention_probs_dropout_prob,
        kShare);
  f.add("layer_norm_eps", "added to the deviation in layer normalisation", layer_norm_eps, kNotNegative);
  f.add("pad_token_id", "the padding token", pad_token_id);
}

void TransformerConfig::check() const {
  check_fields(kTransformerConfig, *this);
  require_divisible(kTransformerConfig, "hidden_size", hidden_size, "num_attention_heads", num_attention_heads);
  require(pad_token_id >= 0 && pad_token_id < vocab_size, kTransformerConfig,
          "expected pad_token_id in [0, vocab_size {}), got {}", vocab_size, pad_token_id);
  activation.check();
  position_options.check();
  attention.check(relative_kind(positions, position_options), false);
}

int64_t TransformerConfig::parameter_count() const {
  return detail::counted<Transformer>(*this, &TransformerConfig::num_hidden_layers);
}

std::span<const std::string_view> transformer_presets() {
  static const std::vector<std::string_view> names = detail::names_of<TransformerConfig>(kTransformerPresets);
  return names;
}

TransformerConfig transformer_preset(std::string_view name) {
  return detail::config_of<TransformerConfig>(kTransformerConfig, kTransformerPresets, name);
}

int64_t TransformerConfig::longest_input() const {
  const int64_t longest = nn::longest_input(positions, max_position_embeddings, position_options);
  const int64_t of_form = attention.traits().longest_input;
  return std::min(longest, of_form > 0 ? of_form : max_position_embeddings);
}

// --- embeddings ---

Embeddings::Embeddings(const TransformerConfig& config, bool causal)
    : token_embeddings(checked(config).vocab_size, config.hidden_size, config.pad_token_id),
      position_embeddings(config.positions, config.max_position_embeddings, config.hidden_size, config.position_options,
                          causal),
      norm(norm_of(config)),
      dropout(config.hidden_dropout_prob) {
  init::xavier_uniform(token_embeddings.weight);
  if (Parameter* const table = position_embeddings.table()) init::xavier_uniform(*table);
}

Tensor Embeddings::operator()(const Tensor& ids, int64_t start, const Tensor& mask, KVCache* cache) const {
  if (ids.dim() != 2 || ids.dtype() != kInt64) fail_ids("embeddings", "[B, T]", ids);
  return dropout(norm(position_embeddings(token_embeddings(ids), start, mask, cache)));
}

namespace {

// The mask of keys [B, 1, 1, S] as a mask of tokens [B, S, 1]; none for masks of another form.
Tensor mask_of_tokens(const Tensor& mask, const Tensor& ids) {
  if (!mask.defined() || mask.dtype() != kBool || mask.shape() != Shape{ids.size(0), 1, 1, ids.size(1)}) return {};
  return mask.reshape({ids.size(0), ids.size(1), 1});
}

}  // namespace

// --- encoder ---

TransformerEncoderLayer::TransformerEncoderLayer(const TransformerConfig& config)
    : attention(self_attention_of(config, false)),
      feed_forward(feed_forward_of(config)),
      sublayer{sublayer_of(config), sublayer_of(config)} {}

Tensor TransformerEncoderLayer::operator()(const Tensor& x, const AttentionPass& pass) const {
  const Tensor attended = sublayer[0](x, [&](const Tensor& n) { return attention(n, n, n, pass); });
  return sublayer[1](attended, feed_forward);
}

TransformerEncoder::TransformerEncoder(const TransformerConfig& config)
    : embeddings(config),
      relative_positions(relative_of(config, false)),
      layers(repeat<TransformerEncoderLayer>(config.num_hidden_layers, config)),
      norm(norm_of(config)) {}

Tensor TransformerEncoder::operator()(const Tensor& ids, const Tensor& mask, AttentionMaps* maps) const {
  Tensor x = embeddings(ids, 0, mask_of_tokens(mask, ids));
  const PositionBias positions = relative_positions(ids.size(1), ids.size(1), 0, x.dtype());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    AttentionPass pass{.mask = mask, .positions = &positions};
    if (maps) {
      maps->add(fmt::format("encoder.layers.{}.attention", i));
      maps->receive(maps->size() - 1, pass);
    }
    x = layers[i](x, pass);
  }
  return norm(x);
}

// --- decoder ---

TransformerDecoderLayer::TransformerDecoderLayer(const TransformerConfig& config)
    : self_attn(self_attention_of(config, true)),
      cross_attn(cross_attention_of(config)),
      feed_forward(feed_forward_of(config)),
      norm1(norm_of(config)),
      norm2(norm_of(config)),
      norm3(norm_of(config)),
      dropout(config.dropout_prob),
      post_norm(config.post_norm) {}

Tensor TransformerDecoderLayer::operator()(const Tensor& x, const Tensor& memory, const AttentionPass& self,
                                           const AttentionPass& cross) const {
  return (*this)(x, cross_attn.project_kv(memory, memory), self, cross);
}

Tensor TransformerDecoderLayer::operator()(const Tensor& x, const KeysAndValues& memory, const AttentionPass& self,
                                           const AttentionPass& cross) const {
  const auto around = [&](const Tensor& y, const LayerNormStd& norm, auto&& block) {  // [B, T, C] -> the same
    return post_norm ? norm(y + dropout(block(y))) : y + dropout(block(norm(y)));
  };
  Tensor y = around(x, norm1, [&](const Tensor& m) { return self_attn(m, m, m, self); });
  y = around(y, norm2, [&](const Tensor& m) { return cross_attn.attend(m, memory, cross); });
  return around(y, norm3, feed_forward);
}

void DecoderCache::reorder(const Tensor& rows) {
  const PauseRecording pause;
  for (KeysAndValues& m : memory) m = {index_select(m.keys, 0, rows), index_select(m.values, 0, rows)};
  if (src_mask.defined() && src_mask.dim() == 4 && src_mask.size(0) > 1) src_mask = index_select(src_mask, 0, rows);
  if (target.length() > 0) target.reorder(rows);
}

TransformerDecoder::TransformerDecoder(const TransformerConfig& config)
    : embeddings(config, true),
      relative_positions(relative_of(config, true)),
      layers(repeat<TransformerDecoderLayer>(config.num_hidden_layers, config)),
      norm(norm_of(config)) {}

namespace {

// A decoder whose attention is causal by itself takes only masks of keys; a causal mask is redundant.
Tensor mask_for(const TransformerDecoder& decoder, const Tensor& mask, int64_t length) {
  if (!mask.defined() || !decoder.layers[0].self_attn.config.causal) return mask;
  const bool is_causal =
      mask.dtype() == kBool && mask.shape() == Shape{length, length} && equal(mask, causal_mask(length));
  return is_causal ? Tensor() : mask;
}

// One pass through the decoder: `memory_of(i)` is the encoder's output, or its keys and values, for layer i.
Tensor decode(const TransformerDecoder& decoder, const Tensor& ids, const auto& memory_of, AttentionPass self,
              AttentionPass cross, AttentionMaps* maps) {
  const int64_t start = self.cache ? self.cache->length() : 0;
  Tensor x = decoder.embeddings(ids, start, {}, self.cache);
  const int64_t length = ids.size(1);
  const PositionBias positions = decoder.relative_positions(length, start + length, start, x.dtype());
  self.positions = &positions;
  for (std::size_t i = 0; i < decoder.layers.size(); ++i) {
    self.layer = i;
    if (maps) {
      maps->add(fmt::format("decoder.layers.{}.self_attn", i));
      maps->add(fmt::format("decoder.layers.{}.cross_attn", i));
      maps->receive(maps->size() - 2, self);
      maps->receive(maps->size() - 1, cross);
    }
    x = decoder.layers[i](x, memory_of(i), self, cross);
  }
  if (self.cache) self.cache->advance(length);
  return decoder.norm(x);
}

}  // namespace

Tensor TransformerDecoder::operator()(const Tensor& ids, const Tensor& memory, const Tensor& src_mask,
                                      const Tensor& tgt_mask, AttentionMaps* maps) const {
  const auto memory_of = [&memory](std::size_t) -> const Tensor& { return memory; };
  return nn::decode(*this, ids, memory_of, {.mask = mask_for(*this, tgt_mask, ids.size(-1))}, {.mask = src_mask}, maps);
}

DecoderCache TransformerDecoder::begin(const Tensor& memory, const Tensor& src_mask) const {
  DecoderCache cache;
  cache.src_mask = src_mask;
  for (const TransformerDecoderLayer& layer : layers) {
    cache.memory.push_back(layer.cross_attn.project_kv(memory, memory));
  }
  return cache;
}

Tensor TransformerDecoder::step(const Tensor& ids, DecoderCache& cache) const {
  require(cache.memory.size() == layers.size(), "transformer_decoder",
          "expected a cache of {} layers, which begin() makes, got {}", layers.size(), cache.memory.size());
  const int64_t start = cache.target.length(), length = ids.size(-1);
  const Tensor causal = length > 1 && !layers[0].self_attn.config.causal
                            ? narrow(causal_mask(start + length), 0, start, length)
                            : Tensor();  // [T, start + T]
  const auto memory_of = [&cache](std::size_t i) -> const KeysAndValues& { return cache.memory[i]; };
  return nn::decode(*this, ids, memory_of, {.mask = causal, .cache = &cache.target}, {.mask = cache.src_mask}, nullptr);
}

// --- the whole model ---

Transformer::Transformer(const TransformerConfig& config)
    : config(checked(config)), encoder(config), decoder(config), generator(config.hidden_size, config.vocab_size) {
  for (const NamedParameter& p : named_parameters(*this)) {
    if (p.parameter->dim() > 1) init::xavier_uniform(p.parameter);
  }
}

Tensor Transformer::encode(const Tensor& src, const Tensor& src_mask, AttentionMaps* maps) const {
  return encoder(src, src_mask, maps);
}

Tensor Transformer::decode(const Tensor& memory, const Tensor& src_mask, const Tensor& tgt, const Tensor& tgt_mask,
                           AttentionMaps* maps) const {
  return decoder(tgt, memory, src_mask, tgt_mask, maps);
}

Tensor Transformer::predict(const Tensor& hidden) const { return log_softmax(generator(hidden), -1); }

Tensor Transformer::operator()(const Tensor& src, const Tensor& tgt, const Tensor& src_mask, const Tensor& tgt_mask,
                               AttentionMaps* maps) const {
  return predict(decode(encode(src, src_mask, maps), src_mask, tgt, tgt_mask, maps));
}

void Transformer::redraw_features() {
  for (TransformerEncoderLayer& layer : encoder.layers) layer.attention.redraw();
  for (TransformerDecoderLayer& layer : decoder.layers) layer.self_attn.redraw();
}

// --- decoding ---

TransformerNext::TransformerNext(const Transformer& model, const Tensor& src, const Tensor& src_mask, bool cached)
    : model_(model), cached_(cached) {
  const PauseRecording pause;
  source_ = model.encode(src, src_mask);
  source_mask_ = src_mask;
  restart();
}

void TransformerNext::restart() {
  const PauseRecording pause;
  if (cached_) {
    cache_ = model_.decoder.begin(source_, source_mask_);
  } else {
    memory_ = source_;
    cache_.src_mask = source_mask_;
  }
}

Tensor TransformerNext::logits(const Tensor& ids) {
  const PauseRecording pause;
  Tensor hidden;  // [B, T, C] of the new tokens, or of all
  if (cached_) {
    const int64_t read = cache_.target.length();
    hidden = model_.decoder.step(narrow(ids, 1, read, ids.size(1) - read), cache_);
  } else {
    hidden = model_.decode(memory_, cache_.src_mask, ids, causal_mask(ids.size(1)));
  }
  return model_.generator(hidden.select(1, -1));
}

void TransformerNext::reorder(const Tensor& rows) {
  const PauseRecording pause;
  if (!cached_) memory_ = index_select(memory_, 0, rows);
  cache_.reorder(rows);
}

}  // namespace tapegrad::nn
