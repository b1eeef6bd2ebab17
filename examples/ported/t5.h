// The encoder-decoder T5 of Hugging Face's transformers, T5ForConditionalGeneration (Apache License 2.0,
// github.com/huggingface/transformers, version 5.24), with the names of its parameters, so that its weights load.
//
// Raffel et al. 2020.
#pragma once

#include <tapegrad/tapegrad.h>

#include <cmath>

namespace ported {

namespace nn = tapegrad::nn;
using tapegrad::Tensor;

/// The members of T5Config that shape the model, with the same names and defaults.
struct T5Options {
  int64_t vocab_size = 32128, d_model = 512, d_kv = 64, d_ff = 2048, num_layers = 6, num_decoder_layers = num_layers;
  int64_t num_heads = 8, relative_attention_num_buckets = 32, relative_attention_max_distance = 128;
  double dropout_rate = 0.1, layer_norm_epsilon = 1e-6;
  int64_t decoder_start_token_id = 0;
};

struct T5Attention {
  T5Options o;
  bool has_bias = false, decoder = false;
  nn::Linear q{o.d_model, o.num_heads*o.d_kv, false}, k{o.d_model, o.num_heads*o.d_kv, false};
  nn::Linear v{o.d_model, o.num_heads*o.d_kv, false}, o_{o.num_heads * o.d_kv, o.d_model, false};
  nn::T5Bias bias =
      has_bias ? nn::T5Bias(o.relative_attention_num_buckets, o.relative_attention_max_distance, o.num_heads, !decoder)
               : nn::T5Bias();
  nn::Mode training = true;

  // x [B, T, d_model], keys [B, S, d_model]; a mask is added to the scores, or bool
  Tensor operator()(const Tensor& x, const Tensor& keys, const Tensor& mask, bool causal = false) const {
    const auto heads = [&](const Tensor& y) { return unflatten(y, -1, {o.num_heads, -1}).transpose(1, 2); };
    return o_(scaled_dot_product_attention(
                  heads(q(x)), heads(k(keys)), heads(v(keys)),
                  {.mask = mask, .causal = causal, .dropout = o.dropout_rate, .training = training, .scale = 1.0})
                  .transpose(1, 2)
                  .flatten(2));
  }
  void visit(auto&& field) {
    field("q", q);
    field("k", k);
    field("v", v);
    field("o", o_);
    field("relative_attention_bias", bias);
  }
};

struct T5DenseActDense {
  T5Options o;
  nn::Linear wi{o.d_model, o.d_ff, false}, wo{o.d_ff, o.d_model, false};
  nn::Dropout dropout{o.dropout_rate};
  Tensor operator()(const Tensor& x) const { return wo(dropout(relu(wi(x)))); }
};

struct T5LayerSelfAttention {
  T5Options o;
  bool first, decoder;
  T5Attention SelfAttention{o, first, decoder};
  nn::RMSNorm layer_norm{o.d_model, o.layer_norm_epsilon};
  nn::Dropout dropout{o.dropout_rate};
  Tensor operator()(const Tensor& x, const Tensor& bias) const {
    const Tensor y = layer_norm(x);
    return x + dropout(SelfAttention(y, y, bias, decoder));
  }
};

struct T5LayerCrossAttention {
  T5Options o;
  T5Attention EncDecAttention{o};
  nn::RMSNorm layer_norm{o.d_model, o.layer_norm_epsilon};
  nn::Dropout dropout{o.dropout_rate};
  Tensor operator()(const Tensor& x, const Tensor& source, const Tensor& mask) const {
    return x + dropout(EncDecAttention(layer_norm(x), source, mask));
  }
};

struct T5LayerFF {
  T5Options o;
  T5DenseActDense DenseReluDense{o};
  nn::RMSNorm layer_norm{o.d_model, o.layer_norm_epsilon};
  nn::Dropout dropout{o.dropout_rate};
  Tensor operator()(const Tensor& x) const { return x + dropout(DenseReluDense(layer_norm(x))); }
};

struct T5Block {
  T5Options o;
  bool first, decoder;
  T5LayerSelfAttention self{o, first, decoder};
  nn::Optional<T5LayerCrossAttention> cross{};
  T5LayerFF feed_forward{o};

  Tensor operator()(Tensor x, const Tensor& bias, const Tensor& source, const Tensor& source_mask) const {
    x = self(x, bias);
    if (cross) x = (*cross)(x, source, source_mask);
    return feed_forward(x);
  }
  void visit(auto&& field) {
    field("layer.0", self);
    field("layer.1", cross);
    field(decoder ? "layer.2" : "layer.1", feed_forward);
  }
};

struct T5Stack {
  T5Options o;
  bool decoder;
  nn::List<T5Block> block = make_blocks();
  nn::RMSNorm final_layer_norm{o.d_model, o.layer_norm_epsilon};
  nn::Dropout dropout{o.dropout_rate};

  // x [B, T, d_model]; mask bool [B, 1, 1, T] or none, in the decoder that of the source
  Tensor operator()(Tensor x, const Tensor& mask, const Tensor& source = {}) const {
    Tensor bias = block[0].self.SelfAttention.bias(x.size(1), x.size(1));
    if (!decoder && mask.defined()) bias = where(mask, bias, -INFINITY);
    x = dropout(x);
    for (const T5Block& b : block) x = b(x, bias, source, mask);
    return dropout(final_layer_norm(x));
  }

 private:
  nn::List<T5Block> make_blocks() const {
    nn::List<T5Block> made;
    for (int64_t i = 0; i < (decoder ? o.num_decoder_layers : o.num_layers); ++i) {
      made.push_back({o, i == 0, decoder});
      if (decoder) made.back().cross.emplace(T5LayerCrossAttention{o});
    }
    return made;
  }
};

/// ids [B, S], labels [B, T], mask bool [B, S] or none (true: a word) -> logits [B, T, vocab_size]; the decoder reads
/// the labels before each position. Its head is the table of words.
struct T5ForConditionalGeneration {
  T5Options o;
  nn::Embedding shared{o.vocab_size, o.d_model};
  T5Stack encoder{o, false}, decoder{o, true};

  Tensor operator()(const Tensor& ids, const Tensor& labels, const Tensor& mask = {}) const {
    const Tensor keys = mask.defined() ? mask(tapegrad::all, tapegrad::newaxis, tapegrad::newaxis) : Tensor();
    const Tensor source = encoder(shared(ids), keys);
    const Tensor given = pad(labels(tapegrad::all, tapegrad::range(0, -1)), {1, 0}, tapegrad::PadMode::constant,
                             double(o.decoder_start_token_id));
    return linear(decoder(shared(given), keys, source) / std::sqrt(double(o.d_model)), shared.weight);
  }
  void visit(auto&& field) {
    field("shared", shared);
    field("encoder.embed_tokens", shared);
    field("encoder", encoder);
    field("decoder.embed_tokens", shared);
    field("decoder", decoder);
    field("lm_head", shared);
  }
};

}  // namespace ported
