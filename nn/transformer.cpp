// The encoder-decoder Transformer of the tutorial.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/nn/transformer.h>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kConfig = "transformer_config";

const TransformerConfig& checked(const TransformerConfig& config) {
  config.check();
  return config;
}

LayerNormStd norm_of(const TransformerConfig& c) { return LayerNormStd(c.hidden_size, c.layer_norm_eps); }
MultiHeadAttention attention_of(const TransformerConfig& c, Positions positions) {
  return MultiHeadAttention(c.hidden_size, c.num_attention_heads, c.attention_probs_dropout_prob, positions,
                            c.position_options);
}
RelativePositions relative_of(const TransformerConfig& c, bool causal) {
  return RelativePositions(c.positions, c.num_attention_heads, c.hidden_size / c.num_attention_heads, causal,
                           c.position_options);
}
FeedForward feed_forward_of(const TransformerConfig& c) {
  return FeedForward(c.hidden_size, c.intermediate_size, c.dropout_prob);
}
SublayerConnection sublayer_of(const TransformerConfig& c) {
  return SublayerConnection(c.hidden_size, c.hidden_dropout_prob, c.layer_norm_eps);
}

template <class Layer>
List<Layer> layers_of(const TransformerConfig& config) {
  List<Layer> layers;
  layers.reserve(static_cast<std::size_t>(config.num_hidden_layers));
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) layers.emplace_back(config);
  return layers;
}

// Where a layer's attention weights go, if anybody wants them.
Tensor* map_for(AttentionMaps* maps, std::string_view stack, std::size_t layer, std::string_view block) {
  if (!maps) return nullptr;
  maps->push_back({fmt::format("{}.layers.{}.{}", stack, layer, block), {}});
  return &maps->back().tensor;
}

}  // namespace

void TransformerConfig::check() const {
  require_positive(kConfig, "vocab_size", vocab_size);
  require_positive(kConfig, "hidden_size", hidden_size);
  require_positive(kConfig, "num_hidden_layers", num_hidden_layers);
  require_positive(kConfig, "num_attention_heads", num_attention_heads);
  require_positive(kConfig, "intermediate_size", intermediate_size);
  require_positive(kConfig, "max_position_embeddings", max_position_embeddings);
  require_probability(kConfig, "dropout_prob", dropout_prob);
  require_probability(kConfig, "hidden_dropout_prob", hidden_dropout_prob);
  require_probability(kConfig, "attention_probs_dropout_prob", attention_probs_dropout_prob);
  if (hidden_size % num_attention_heads != 0) {
    fail(kConfig,
         fmt::format("hidden_size {} is not divisible by num_attention_heads {} (each head takes an equal share)",
                     hidden_size, num_attention_heads));
  }
  if (!(layer_norm_eps >= 0))
    fail(kConfig, fmt::format("layer_norm_eps is {}, it must not be negative", layer_norm_eps));
  if (!(pad_token_id >= 0 && pad_token_id < vocab_size)) {
    fail(kConfig, fmt::format("pad_token_id {} is not in [0, vocab_size {})", pad_token_id, vocab_size));
  }
  position_options.check();
}

int64_t TransformerConfig::longest_input() const {
  return nn::longest_input(positions, max_position_embeddings, position_options);
}

// --- embeddings ---

Embeddings::Embeddings(const TransformerConfig& config)
    : token_embeddings(checked(config).vocab_size, config.hidden_size, config.pad_token_id),
      position_embeddings(config.positions, config.max_position_embeddings, config.hidden_size,
                          config.position_options),
      norm(norm_of(config)),
      dropout(config.hidden_dropout_prob) {
  init::xavier_uniform(token_embeddings.weight);
  if (config.positions == Positions::learned) init::xavier_uniform(position_embeddings.learned.weight);
}

Tensor Embeddings::operator()(const Tensor& ids, int64_t start) const {
  if (ids.dim() != 2 || ids.dtype() != kInt64) {
    fail("embeddings", fmt::format("ids are {} {}, int64 [B, T] is needed", name(ids.dtype()), str(ids.shape())));
  }
  return dropout(norm(position_embeddings(token_embeddings(ids), start)));
}

// --- encoder ---

TransformerEncoderLayer::TransformerEncoderLayer(const TransformerConfig& config)
    : attention(attention_of(config, config.positions)),
      feed_forward(feed_forward_of(config)),
      sublayer{sublayer_of(config), sublayer_of(config)} {}

Tensor TransformerEncoderLayer::operator()(const Tensor& x, const Tensor& mask, Tensor* weights,
                                           const PositionTerms* positions) const {
  const Tensor attended = sublayer[0](x, [&](const Tensor& n) { return attention(n, n, n, mask, weights, positions); });
  return sublayer[1](attended, feed_forward);
}

TransformerEncoder::TransformerEncoder(const TransformerConfig& config)
    : embeddings(config),
      relative_positions(relative_of(config, false)),
      layers(layers_of<TransformerEncoderLayer>(config)),
      norm(norm_of(config)) {}

Tensor TransformerEncoder::operator()(const Tensor& ids, const Tensor& mask, AttentionMaps* maps) const {
  Tensor x = embeddings(ids);
  const PositionTerms positions = relative_positions(ids.size(1), ids.size(1), 0, x.dtype());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    x = layers[i](x, mask, map_for(maps, "encoder", i, "attention"), &positions);
  }
  return norm(x);
}

// --- decoder ---

TransformerDecoderLayer::TransformerDecoderLayer(const TransformerConfig& config)
    : self_attn(attention_of(config, config.positions)),
      cross_attn(attention_of(config, Positions::none)),
      feed_forward(feed_forward_of(config)),
      norm1(norm_of(config)),
      norm2(norm_of(config)),
      norm3(norm_of(config)),
      dropout(config.dropout_prob) {}

Tensor TransformerDecoderLayer::operator()(const Tensor& x, const Tensor& memory, const Tensor& src_mask,
                                           const Tensor& tgt_mask, Tensor* self_weights, Tensor* cross_weights,
                                           const PositionTerms* positions) const {
  Tensor y = x;  // [B, T, C]
  Tensor m = norm1(y);
  y = y + dropout(self_attn(m, m, m, tgt_mask, self_weights, positions));
  m = norm2(y);
  y = y + dropout(cross_attn(m, memory, memory, src_mask, cross_weights));
  m = norm3(y);
  return y + dropout(feed_forward(m));
}

Tensor TransformerDecoderLayer::step(const Tensor& x, DecoderCache& cache, std::size_t layer, const Tensor& tgt_mask,
                                     const PositionTerms& positions) const {
  Tensor y = x;  // [B, T, C]
  Tensor m = norm1(y);
  const KeysAndValues fresh = self_attn.project(m, m, &positions);
  const KVCache::Layer all = cache.target.append(layer, fresh.keys, fresh.values);
  y = y + dropout(self_attn.attend(m, {all.keys, all.values}, tgt_mask, nullptr, &positions));
  m = norm2(y);
  y = y + dropout(cross_attn.attend(m, cache.memory[layer], cache.src_mask));
  m = norm3(y);
  return y + dropout(feed_forward(m));
}

void DecoderCache::reorder(const Tensor& rows) {
  const PauseRecording pause;
  for (KeysAndValues& m : memory) m = {index_select(m.keys, 0, rows), index_select(m.values, 0, rows)};
  if (src_mask.defined() && src_mask.dim() == 4 && src_mask.size(0) > 1) src_mask = index_select(src_mask, 0, rows);
  if (target.length() > 0) target.reorder(rows);
}

TransformerDecoder::TransformerDecoder(const TransformerConfig& config)
    : embeddings(config),
      relative_positions(relative_of(config, true)),
      layers(layers_of<TransformerDecoderLayer>(config)),
      norm(norm_of(config)) {}

Tensor TransformerDecoder::operator()(const Tensor& ids, const Tensor& memory, const Tensor& src_mask,
                                      const Tensor& tgt_mask, AttentionMaps* maps) const {
  Tensor x = embeddings(ids);
  const PositionTerms positions = relative_positions(ids.size(1), ids.size(1), 0, x.dtype());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Tensor self_weights, cross_weights;
    x = layers[i](x, memory, src_mask, tgt_mask, maps ? &self_weights : nullptr, maps ? &cross_weights : nullptr,
                  &positions);
    if (!maps) continue;
    *map_for(maps, "decoder", i, "self_attn") = self_weights;
    *map_for(maps, "decoder", i, "cross_attn") = cross_weights;
  }
  return norm(x);
}

DecoderCache TransformerDecoder::begin(const Tensor& memory, const Tensor& src_mask) const {
  DecoderCache cache;
  cache.src_mask = src_mask;
  for (const TransformerDecoderLayer& layer : layers) cache.memory.push_back(layer.cross_attn.project(memory, memory));
  return cache;
}

Tensor TransformerDecoder::step(const Tensor& ids, DecoderCache& cache) const {
  const int64_t start = cache.target.length();
  Tensor x = embeddings(ids, start);
  const int64_t length = ids.size(1), seen = start + length;
  const PositionTerms positions = relative_positions(length, seen, start, x.dtype());
  const Tensor causal = length > 1 ? narrow(causal_mask(seen), 0, start, length) : Tensor();  // [T, start + T]
  for (std::size_t i = 0; i < layers.size(); ++i) x = layers[i].step(x, cache, i, causal, positions);
  cache.target.advance(length);
  return norm(x);
}

// --- the whole ---

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

}  // namespace tapegrad::nn
