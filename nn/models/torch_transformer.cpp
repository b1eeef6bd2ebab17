// The Transformer layers of PyTorch's torch.nn.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/torch_transformer.h>

namespace tapegrad::nn::torch {

namespace {

MultiheadAttention attention_of(int64_t d_model, int64_t nhead, const TransformerLayerOptions& options) {
  return {d_model, nhead, {.dropout = options.dropout, .bias = options.bias, .batch_first = options.batch_first}};
}

LayerNorm norm_of(int64_t d_model, const TransformerLayerOptions& options) {
  return LayerNorm(d_model, options.layer_norm_eps, options.bias);
}

// The dropout of an attention's result, whose random numbers PyTorch draws in the order of memory: batch second.
Tensor dropped(const Dropout& dropout, const Tensor& y, const MultiheadAttention& of) {
  return of.batch_first && y.dim() == 3 ? dropout(y.transpose(0, 1)).transpose(0, 1) : dropout(y);
}

// A residual connection around one block.
Tensor around(const Tensor& x, const LayerNorm& norm, bool norm_first, auto&& block) {
  return norm_first ? x + block(norm(x)) : norm(x + block(x));
}

Tensor fed_forward(const auto& layer, const Tensor& x) {
  return layer.linear2(layer.dropout(activate(layer.activation, layer.linear1(x))));
}

template <class Layer>
List<Layer> copies(const Layer& layer, int64_t count) {
  require_positive("transformer", "num_layers", count);
  List<Layer> layers;
  for (int64_t i = 0; i < count; ++i) layers.push_back(clone(layer));
  return layers;
}

}  // namespace

TransformerEncoderLayer::TransformerEncoderLayer(int64_t d_model, int64_t nhead, const TransformerLayerOptions& options)
    : self_attn(attention_of(d_model, nhead, options)),
      linear1(d_model, options.dim_feedforward, options.bias),
      linear2(options.dim_feedforward, d_model, options.bias),
      norm1(norm_of(d_model, options)),
      norm2(norm_of(d_model, options)),
      dropout(options.dropout),
      dropout1(options.dropout),
      dropout2(options.dropout),
      activation(options.activation),
      norm_first(options.norm_first) {}

Tensor TransformerEncoderLayer::operator()(const Tensor& src, const Tensor& src_mask,
                                           const Tensor& src_key_padding_mask) const {
  const Tensor x = around(src, norm1, norm_first, [&](const Tensor& y) {
    return dropped(dropout1, self_attn(y, y, y, {src_key_padding_mask, src_mask}), self_attn);
  });
  return around(x, norm2, norm_first, [&](const Tensor& y) { return dropout2(fed_forward(*this, y)); });
}

TransformerEncoder::TransformerEncoder(const TransformerEncoderLayer& layer, int64_t num_layers,
                                       Optional<LayerNorm> norm)
    : layers(copies(layer, num_layers)), norm(std::move(norm)) {}

Tensor TransformerEncoder::operator()(const Tensor& src, const Tensor& mask, const Tensor& src_key_padding_mask) const {
  Tensor x = src;
  for (const TransformerEncoderLayer& layer : layers) x = layer(x, mask, src_key_padding_mask);
  return norm ? (*norm)(x) : x;
}

TransformerDecoderLayer::TransformerDecoderLayer(int64_t d_model, int64_t nhead, const TransformerLayerOptions& options)
    : self_attn(attention_of(d_model, nhead, options)),
      multihead_attn(attention_of(d_model, nhead, options)),
      linear1(d_model, options.dim_feedforward, options.bias),
      linear2(options.dim_feedforward, d_model, options.bias),
      norm1(norm_of(d_model, options)),
      norm2(norm_of(d_model, options)),
      norm3(norm_of(d_model, options)),
      dropout(options.dropout),
      dropout1(options.dropout),
      dropout2(options.dropout),
      dropout3(options.dropout),
      activation(options.activation),
      norm_first(options.norm_first) {}

Tensor TransformerDecoderLayer::operator()(const Tensor& tgt, const Tensor& memory, const DecoderMasks& masks) const {
  Tensor x = around(tgt, norm1, norm_first, [&](const Tensor& y) {
    return dropped(dropout1, self_attn(y, y, y, {masks.tgt_key_padding_mask, masks.tgt_mask}), self_attn);
  });
  x = around(x, norm2, norm_first, [&](const Tensor& y) {
    const MultiheadPass pass{masks.memory_key_padding_mask, masks.memory_mask};
    return dropped(dropout2, multihead_attn(y, memory, memory, pass), multihead_attn);
  });
  return around(x, norm3, norm_first, [&](const Tensor& y) { return dropout3(fed_forward(*this, y)); });
}

TransformerDecoder::TransformerDecoder(const TransformerDecoderLayer& layer, int64_t num_layers,
                                       Optional<LayerNorm> norm)
    : layers(copies(layer, num_layers)), norm(std::move(norm)) {}

Tensor TransformerDecoder::operator()(const Tensor& tgt, const Tensor& memory, const DecoderMasks& masks) const {
  Tensor x = tgt;
  for (const TransformerDecoderLayer& layer : layers) x = layer(x, memory, masks);
  return norm ? (*norm)(x) : x;
}

Transformer::Transformer(int64_t d_model, int64_t nhead, int64_t num_encoder_layers, int64_t num_decoder_layers,
                         const TransformerLayerOptions& options)
    : encoder(TransformerEncoderLayer(d_model, nhead, options), num_encoder_layers, norm_of(d_model, options)),
      decoder(TransformerDecoderLayer(d_model, nhead, options), num_decoder_layers, norm_of(d_model, options)) {
  for (const NamedParameter& p : named_parameters(*this)) {
    if (p.parameter->dim() > 1) init::xavier_uniform(p.parameter);
  }
}

Tensor Transformer::operator()(const Tensor& src, const Tensor& tgt, const TransformerMasks& masks) const {
  return decoder(tgt, encoder(src, masks.src_mask, masks.src_key_padding_mask), masks.decoder);
}

}  // namespace tapegrad::nn::torch
