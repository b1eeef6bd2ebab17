// The classes of tutorial 003, sections 8.2.4 and 8.4, method by method in the operations that they use there. The
// library's types of these names give the same numbers from the same seed, and are faster.
#pragma once

#include <tapegrad/nn/dropout.h>
#include <tapegrad/nn/embedding.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/linear.h>
#include <tapegrad/nn/transformer.h>

#include <array>
#include <cmath>

namespace tapegrad::tasks::tutorial003 {

// [config]
using TransformerConfig = nn::TransformerConfig;  // its members have the tutorial's names and defaults
// [/config]

// [attention]
struct MultiHeadAttention {
  explicit MultiHeadAttention(const TransformerConfig& c)
      : d_k(c.hidden_size / c.num_attention_heads),
        h(c.num_attention_heads),
        linear_layers(nn::repeat<nn::Linear>(4, c.hidden_size, c.hidden_size)),  // of Q, K, V and the output
        dropout(c.attention_probs_dropout_prob) {}

  // query, key, value [B, heads, T, d_k]; mask true where a key is visible. The tutorial fills in -1e9, which hides as
  // well, but lets a row without visible keys look at all of them.
  Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask) const {
    Tensor scores = matmul(query, key.transpose(-2, -1)) / std::sqrt(static_cast<double>(d_k));
    if (mask.defined()) scores = masked_fill(scores, !mask, -INFINITY);
    return matmul(dropout(softmax(scores)), value);
  }
  // [B, T, C] each -> [B, T, C]
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask = {}) const {
    const auto heads = [&](const nn::Linear& layer, const Tensor& x) {
      return layer(x).reshape({x.size(0), x.size(1), h, d_k}).transpose(1, 2);
    };
    const Tensor q = heads(linear_layers[0], query), k = heads(linear_layers[1], key),
                 v = heads(linear_layers[2], value);
    const Tensor x = attention(q, k, v, mask).transpose(1, 2);
    return linear_layers[3](x.reshape({query.size(0), query.size(1), h * d_k}));
  }
  void visit(auto&& field) {
    field("linear_layers", linear_layers);
    field("dropout", dropout);
  }

  int64_t d_k, h;
  nn::List<nn::Linear> linear_layers;
  nn::Dropout dropout;
};
// [/attention]

// [feed_forward]
struct FeedForward {  // as the tutorial's package runs it: ReLU, and dropout inside
  explicit FeedForward(const TransformerConfig& c)
      : w_1(c.hidden_size, c.intermediate_size), w_2(c.intermediate_size, c.hidden_size), dropout(c.dropout_prob) {
    for (nn::Linear* layer : {&w_1, &w_2}) nn::init::xavier_uniform(layer->weight);
    for (nn::Linear* layer : {&w_1, &w_2}) nn::init::zeros(layer->bias);
  }

  Tensor operator()(const Tensor& x) const { return w_2(dropout(relu(w_1(x)))); }
  void visit(auto&& field) {
    field("w_1", w_1);
    field("w_2", w_2);
    field("dropout", dropout);
  }

  nn::Linear w_1, w_2;
  nn::Dropout dropout;
};
// [/feed_forward]

// [norm]
struct LayerNorm {
  explicit LayerNorm(const TransformerConfig& c)
      : gamma(ones({c.hidden_size})), beta(zeros({c.hidden_size})), eps(c.layer_norm_eps) {}

  Tensor operator()(const Tensor& x) const {
    const Tensor centred = x - mean(x, -1, true);
    const Tensor deviation = sqrt(mean(centred * centred, -1, true));
    return gamma * centred / (deviation + eps) + beta;  // eps is outside of the root
  }
  void visit(auto&& field) {
    field("gamma", gamma);
    field("beta", beta);
  }

  nn::Parameter gamma, beta;
  double eps;
};
// [/norm]

// [encoder_layer]
struct SublayerConnection {  // Pre-LN: what the block reads is normalised, what is added to is not
  explicit SublayerConnection(const TransformerConfig& c) : norm(c), dropout(c.hidden_dropout_prob) {}

  Tensor operator()(const Tensor& x, auto&& block) const { return x + dropout(block(norm(x))); }
  void visit(auto&& field) {
    field("norm", norm);
    field("dropout", dropout);
  }

  LayerNorm norm;
  nn::Dropout dropout;
};

struct TransformerEncoderLayer {
  explicit TransformerEncoderLayer(const TransformerConfig& c)
      : attention(c), feed_forward(c), sublayer{SublayerConnection(c), SublayerConnection(c)} {}

  Tensor operator()(const Tensor& x, const Tensor& mask = {}) const {
    const Tensor attended = sublayer[0](x, [&](const Tensor& m) { return attention(m, m, m, mask); });
    return sublayer[1](attended, feed_forward);
  }
  void visit(auto&& field) {
    field("attention", attention);
    field("feed_forward", feed_forward);
    field("sublayer", sublayer);
  }

  MultiHeadAttention attention;
  FeedForward feed_forward;
  std::array<SublayerConnection, 2> sublayer;
};
// [/encoder_layer]

// [embeddings]
struct Embeddings {  // ids [B, T] -> [B, T, C]
  explicit Embeddings(const TransformerConfig& c)
      : token_embeddings(c.vocab_size, c.hidden_size, c.pad_token_id),
        position_embeddings(c.max_position_embeddings, c.hidden_size),
        norm(c),
        dropout(c.hidden_dropout_prob) {
    nn::init::xavier_uniform(token_embeddings.weight);
    nn::init::xavier_uniform(position_embeddings.weight);
  }

  Tensor operator()(const Tensor& ids) const {
    return dropout(norm(token_embeddings(ids) + position_embeddings(arange(ids.size(1)))));
  }
  void visit(auto&& field) {
    field("token_embeddings", token_embeddings);
    field("position_embeddings", position_embeddings);
    field("norm", norm);
    field("dropout", dropout);
  }

  nn::Embedding token_embeddings, position_embeddings;
  LayerNorm norm;
  nn::Dropout dropout;
};
// [/embeddings]

// [encoder]
struct TransformerEncoder {
  explicit TransformerEncoder(const TransformerConfig& c)
      : embeddings(c), layers(nn::repeat<TransformerEncoderLayer>(c.num_hidden_layers, c)), norm(c) {}

  Tensor operator()(const Tensor& ids, const Tensor& mask = {}) const {
    Tensor x = embeddings(ids);
    for (const TransformerEncoderLayer& layer : layers) x = layer(x, mask);
    return norm(x);
  }
  void visit(auto&& field) {
    field("embeddings", embeddings);
    field("layers", layers);
    field("norm", norm);
  }

  Embeddings embeddings;
  nn::List<TransformerEncoderLayer> layers;
  LayerNorm norm;
};
// [/encoder]

// [decoder_layer]
struct TransformerDecoderLayer {
  explicit TransformerDecoderLayer(const TransformerConfig& c)
      : self_attn(c), cross_attn(c), feed_forward(c), norm1(c), norm2(c), norm3(c), dropout(c.dropout_prob) {}

  Tensor operator()(Tensor x, const Tensor& memory, const Tensor& src_mask = {}, const Tensor& tgt_mask = {}) const {
    Tensor m = norm1(x);
    x = x + dropout(self_attn(m, m, m, tgt_mask));
    m = norm2(x);
    x = x + dropout(cross_attn(m, memory, memory, src_mask));
    return x + dropout(feed_forward(norm3(x)));
  }
  void visit(auto&& field) {
    field("self_attn", self_attn);
    field("cross_attn", cross_attn);
    field("feed_forward", feed_forward);
    field("norm1", norm1);
    field("norm2", norm2);
    field("norm3", norm3);
    field("dropout", dropout);
  }

  MultiHeadAttention self_attn, cross_attn;
  FeedForward feed_forward;
  LayerNorm norm1, norm2, norm3;
  nn::Dropout dropout;
};
// [/decoder_layer]

// [decoder]
struct TransformerDecoder {
  explicit TransformerDecoder(const TransformerConfig& c)
      : embeddings(c), layers(nn::repeat<TransformerDecoderLayer>(c.num_hidden_layers, c)), norm(c) {}

  Tensor operator()(const Tensor& ids, const Tensor& memory, const Tensor& src_mask = {},
                    const Tensor& tgt_mask = {}) const {
    Tensor x = embeddings(ids);
    for (const TransformerDecoderLayer& layer : layers) x = layer(x, memory, src_mask, tgt_mask);
    return norm(x);
  }
  void visit(auto&& field) {
    field("embeddings", embeddings);
    field("layers", layers);
    field("norm", norm);
  }

  Embeddings embeddings;
  nn::List<TransformerDecoderLayer> layers;
  LayerNorm norm;
};
// [/decoder]

// [transformer]
struct Transformer {  // src [B, S], tgt [B, T] -> log-probabilities [B, T, V]
  explicit Transformer(const TransformerConfig& c) : encoder(c), decoder(c), generator(c.hidden_size, c.vocab_size) {
    for (const nn::NamedParameter& p : nn::named_parameters(*this))  // _init_weights
      if (p.parameter->dim() > 1) nn::init::xavier_uniform(p.parameter);
  }

  Tensor encode(const Tensor& src, const Tensor& src_mask) const { return encoder(src, src_mask); }
  Tensor decode(const Tensor& memory, const Tensor& src_mask, const Tensor& tgt, const Tensor& tgt_mask) const {
    return decoder(tgt, memory, src_mask, tgt_mask);
  }
  Tensor operator()(const Tensor& src, const Tensor& tgt, const Tensor& src_mask = {},
                    const Tensor& tgt_mask = {}) const {
    return log_softmax(generator(decode(encode(src, src_mask), src_mask, tgt, tgt_mask)));
  }
  void visit(auto&& field) {
    field("encoder", encoder);
    field("decoder", decoder);
    field("generator", generator);
  }

  TransformerEncoder encoder;
  TransformerDecoder decoder;
  nn::Linear generator;
};
// [/transformer]

}  // namespace tapegrad::tasks::tutorial003
