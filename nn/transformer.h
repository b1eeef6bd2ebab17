// The encoder-decoder Transformer of the tutorial (section 8.4). Vaswani et al. 2017, with Pre-LN.
#pragma once

#include <tapegrad/nn/attention.h>
#include <tapegrad/nn/embedding.h>
#include <tapegrad/nn/feed_forward.h>
#include <tapegrad/nn/kv_cache.h>
#include <tapegrad/nn/positions.h>
#include <tapegrad/nn/relative_positions.h>

namespace tapegrad::nn {

// The tutorial's names and defaults (8.4.4); where its text and its code differ, those of the code.
struct TransformerConfig {
  int64_t vocab_size = 30000;
  int64_t hidden_size = 768;
  int64_t num_hidden_layers = 12;
  int64_t num_attention_heads = 12;
  int64_t intermediate_size = 3072;
  double dropout_prob = 0.1;                  // in the feed-forward block and after the decoder's blocks
  double hidden_dropout_prob = 0.1;           // after the embeddings and after the encoder's blocks
  double attention_probs_dropout_prob = 0.1;  // on attention weights
  int64_t max_position_embeddings = 512;
  double layer_norm_eps = 1e-6;
  int64_t pad_token_id = 0;
  Positions positions =
      Positions::learned;  // relative ones work in every self-attention, not between source and target
  PositionOptions position_options = {};

  // The longest source or target: max_position_embeddings, or more where `positions` can (longest_input).
  int64_t longest_input() const;
  // Error that names the first member that makes no model.
  void check() const;
};

// Collects the attention weights of a forward pass: "encoder.layers.0.attention" -> [B, heads, T, S].
using AttentionMaps = NamedTensors;

// ids [B, T], the first of them at `start` -> dropout(norm(token + position)), [B, T, C]. Error beyond longest_input().
struct Embeddings {
  explicit Embeddings(const TransformerConfig& config);
  Tensor operator()(const Tensor& ids, int64_t start = 0) const;
  void visit(auto&& field) {
    field("token_embeddings", token_embeddings);
    field("position_embeddings", position_embeddings);
    field("norm", norm);
    field("dropout", dropout);
  }

  Embedding token_embeddings;
  AddedPositions position_embeddings;
  LayerNormStd norm;
  Dropout dropout;
};

struct TransformerEncoderLayer {
  explicit TransformerEncoderLayer(const TransformerConfig& config);
  Tensor operator()(const Tensor& x, const Tensor& mask = {}, Tensor* weights = nullptr,
                    const PositionTerms* positions = nullptr) const;
  void visit(auto&& field) {
    field("attention", attention);
    field("feed_forward", feed_forward);
    field("sublayer", sublayer);
  }

  MultiHeadAttention attention;
  FeedForward feed_forward;
  std::array<SublayerConnection, 2> sublayer;  // around the two
};

struct TransformerEncoder {
  explicit TransformerEncoder(const TransformerConfig& config);
  // ids [B, S], mask as for attention -> [B, S, C].
  Tensor operator()(const Tensor& ids, const Tensor& mask = {}, AttentionMaps* maps = nullptr) const;
  void visit(auto&& field) {
    field("embeddings", embeddings);
    field("relative_positions", relative_positions);
    field("layers", layers);
    field("norm", norm);
  }

  Embeddings embeddings;
  RelativePositions relative_positions;
  List<TransformerEncoderLayer> layers;
  LayerNormStd norm;
};

// What a decoder remembers from step to step: the source's keys and values in every layer, which are computed once, and
// those of the target's tokens so far.
struct DecoderCache {
  std::vector<KeysAndValues> memory;  // by layer
  Tensor src_mask;
  KVCache target;
  // Row i goes on from what row rows[i] was; rows [B'] int64, B' may differ from the batch. For beams.
  void reorder(const Tensor& rows);
};

struct TransformerDecoderLayer {
  explicit TransformerDecoderLayer(const TransformerConfig& config);
  Tensor operator()(const Tensor& x, const Tensor& memory, const Tensor& src_mask = {}, const Tensor& tgt_mask = {},
                    Tensor* self_weights = nullptr, Tensor* cross_weights = nullptr,
                    const PositionTerms* positions = nullptr) const;
  // The same for x [B, T, C] that follows what the cache holds; `layer` is this one's place in the stack.
  Tensor step(const Tensor& x, DecoderCache& cache, std::size_t layer, const Tensor& tgt_mask,
              const PositionTerms& positions) const;
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
  LayerNormStd norm1, norm2, norm3;  // before each of the three
  Dropout dropout;                   // after each of them
};

struct TransformerDecoder {
  explicit TransformerDecoder(const TransformerConfig& config);
  // ids [B, T], memory [B, S, C] -> [B, T, C].
  Tensor operator()(const Tensor& ids, const Tensor& memory, const Tensor& src_mask = {}, const Tensor& tgt_mask = {},
                    AttentionMaps* maps = nullptr) const;
  // An empty cache over `memory`, and the same outputs for ids [B, T] that follow the tokens which the cache has seen.
  DecoderCache begin(const Tensor& memory, const Tensor& src_mask = {}) const;
  Tensor step(const Tensor& ids, DecoderCache& cache) const;
  void visit(auto&& field) {
    field("embeddings", embeddings);
    field("relative_positions", relative_positions);
    field("layers", layers);
    field("norm", norm);
  }

  Embeddings embeddings;
  RelativePositions relative_positions;
  List<TransformerDecoderLayer> layers;
  LayerNormStd norm;
};

// The whole: parameters start as the tutorial's, draw for draw (all matrices xavier-uniform at the end).
struct Transformer {
  explicit Transformer(const TransformerConfig& config);

  // src [B, S], src_mask broadcasting to [B, heads, T, S] -> [B, S, C].
  Tensor encode(const Tensor& src, const Tensor& src_mask = {}, AttentionMaps* maps = nullptr) const;
  // tgt [B, T] -> [B, T, C].
  Tensor decode(const Tensor& memory, const Tensor& src_mask, const Tensor& tgt, const Tensor& tgt_mask = {},
                AttentionMaps* maps = nullptr) const;
  // log-probabilities [B, T, V] of the next tokens.
  Tensor operator()(const Tensor& src, const Tensor& tgt, const Tensor& src_mask = {}, const Tensor& tgt_mask = {},
                    AttentionMaps* maps = nullptr) const;
  Tensor predict(const Tensor& hidden) const;  // decoder output [B, T, C] -> log-probabilities [B, T, V]
  void visit(auto&& field) {
    field("encoder", encoder);
    field("decoder", decoder);
    field("generator", generator);
  }

  TransformerConfig config;
  TransformerEncoder encoder;
  TransformerDecoder decoder;
  Linear generator;
};

}  // namespace tapegrad::nn
