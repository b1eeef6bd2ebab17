// The encoder-decoder Transformer. Vaswani et al. 2017, with Pre-LN by default; tutorial 003, section 8.4.
#pragma once

#include <tapegrad/nn/added_positions.h>
#include <tapegrad/nn/attention.h>
#include <tapegrad/nn/embedding.h>
#include <tapegrad/nn/feed_forward.h>
#include <tapegrad/nn/fields.h>
#include <tapegrad/nn/next_token.h>

#include <span>
#include <string_view>

namespace tapegrad::nn {

/// Names and defaults of tutorial 003, section 8.4.4; where its text and its code differ, the code's.
struct TransformerConfig {
  int64_t vocab_size = 30000;                 ///< number of token ids, of source and target
  int64_t hidden_size = 768;                  ///< C, a multiple of num_attention_heads
  int64_t num_hidden_layers = 12;             ///< of the encoder, and of the decoder
  int64_t num_attention_heads = 12;           ///< of each attention
  int64_t intermediate_size = 3072;           ///< width inside the feed-forward block
  double dropout_prob = 0.1;                  ///< in the feed-forward block and after the decoder's blocks
  double hidden_dropout_prob = 0.1;           ///< after the embeddings and after the encoder's blocks
  double attention_probs_dropout_prob = 0.1;  ///< on attention weights
  int64_t max_position_embeddings = 512;      ///< the longest input
  double layer_norm_eps = 1e-6;               ///< added to the standard deviation
  int64_t pad_token_id = 0;                   ///< its vector is 0 and gets no gradient
  Positions positions = Positions::learned;   ///< relative kinds act in self-attention, not between source and target
  PositionOptions position_options = {};      ///< of these positions
  /// The form of self-attention, causal in the decoder (with Linformer, which cannot be causal, the decoder has full
  /// attention). Attention to the source is full.
  AttentionChoice attention = {};
  Activation activation = Activation::relu;  ///< of the feed-forward blocks
  bool post_norm = false;  ///< normalise after each residual sum (Vaswani et al.), not before each block (Pre-LN)

  /// The members, with help and limits; `positions` and `attention` list their options themselves.
  void list(Fields& fields);
  /// The longest source or target: max_position_embeddings, or more if `positions` allows it (nn::longest_input).
  int64_t longest_input() const;
  /// Error that names the first invalid member.
  void check() const;
  /// Number of parameters of a model with these settings, without making one.
  int64_t parameter_count() const;
};

/// base, big (Vaswani et al. 2017), bert-base (of the encoder; Devlin et al. 2018), t5-base (Raffel et al. 2020).
std::span<const std::string_view> transformer_presets();
/// One of these. Error for another name, which lists them. Sets the sizes only.
TransformerConfig transformer_preset(std::string_view name);

/// ids [B, T], the first one at position `start` -> dropout(norm(token + position)), [B, T, C]. Error beyond
/// longest_input(). `causal`, a cache, and a mask of tokens [B, T, 1] are what AddedPositions takes.
struct Embeddings {
  explicit Embeddings(const TransformerConfig& config, bool causal = false);
  Tensor operator()(const Tensor& ids, int64_t start = 0, const Tensor& mask = {}, KVCache* cache = nullptr) const;
  void visit(auto&& field) {
    field("token_embeddings", token_embeddings);
    field("position_embeddings", position_embeddings);
    field("norm", norm);
    field("dropout", dropout);
  }

  Embedding token_embeddings;          ///< [V, C]
  AddedPositions position_embeddings;  ///< what is added to the embeddings; may be nothing
  LayerNormStd norm;                   ///< of the sum
  Dropout dropout;                     ///< after norm
};

/// Full self-attention and a feed-forward block, each with a residual connection. Vaswani et al. 2017.
struct TransformerEncoderLayer {
  explicit TransformerEncoderLayer(const TransformerConfig& config);
  Tensor operator()(const Tensor& x, const AttentionPass& pass = {}) const;  ///< [B, S, C] -> [B, S, C]
  void visit(auto&& field) {
    field("attention", attention);
    field("feed_forward", feed_forward);
    field("sublayer", sublayer);
  }

  MultiHeadAttention attention;                ///< of the source to itself
  FeedForward feed_forward;                    ///< C -> intermediate_size -> C
  std::array<SublayerConnection, 2> sublayer;  // around the two
};

/// Embeddings and a stack of encoder layers. Tutorial 003, section 8.4.
struct TransformerEncoder {
  explicit TransformerEncoder(const TransformerConfig& config);
  /// ids [B, S], mask as in AttentionPass -> [B, S, C]. A bool mask [B, 1, 1, S] also hides padding from positions that
  /// read the embeddings.
  Tensor operator()(const Tensor& ids, const Tensor& mask = {}, AttentionMaps* maps = nullptr) const;
  void visit(auto&& field) {
    field("embeddings", embeddings);
    field("relative_positions", relative_positions);
    field("layers", layers);
    field("norm", norm);
  }

  Embeddings embeddings;                 ///< of the source
  RelativePositions relative_positions;  ///< shared by all layers; may be nothing
  List<TransformerEncoderLayer> layers;  ///< num_hidden_layers of them
  LayerNormStd norm;                     ///< after the last layer
};

/// What a decoder keeps from step to step: the source's keys and values in every layer, which are computed once, and
/// the keys and values of the target's tokens so far. Copies are cheap and independent.
struct DecoderCache {
  std::vector<KeysAndValues> memory;  ///< by layer
  Tensor src_mask;                    ///< of the source's tokens, as in AttentionPass; may be empty
  KVCache target;                     ///< of the tokens so far
  /// Row i continues from row rows[i]; rows [B'] int64, where B' may differ from the batch. For beam search.
  void reorder(const Tensor& rows);
};

/// Causal self-attention, attention to the source, and a feed-forward block. Vaswani et al. 2017.
struct TransformerDecoderLayer {
  explicit TransformerDecoderLayer(const TransformerConfig& config);
  /// x [B, T, C], memory [B, S, C] of the encoder -> [B, T, C]. `self` is for the attention to x, `cross` for the one
  /// to the memory.
  Tensor operator()(const Tensor& x, const Tensor& memory, const AttentionPass& self = {},
                    const AttentionPass& cross = {}) const;
  /// The same with the memory's keys and values, which cross_attn.project_kv(memory, memory) gives.
  Tensor operator()(const Tensor& x, const KeysAndValues& memory, const AttentionPass& self,
                    const AttentionPass& cross) const;
  void visit(auto&& field) {
    field("self_attn", self_attn);
    field("cross_attn", cross_attn);
    field("feed_forward", feed_forward);
    field("norm1", norm1);
    field("norm2", norm2);
    field("norm3", norm3);
    field("dropout", dropout);
  }

  MultiHeadAttention self_attn, cross_attn;  ///< to the target, and to the source
  FeedForward feed_forward;                  ///< C -> intermediate_size -> C
  LayerNormStd norm1, norm2, norm3;          // before each of the three, or after them
  Dropout dropout;                           // after each of them
  bool post_norm;                            ///< TransformerConfig::post_norm
};

/// Embeddings and a stack of decoder layers. Tutorial 003, section 8.4.
struct TransformerDecoder {
  explicit TransformerDecoder(const TransformerConfig& config);
  /// ids [B, T], memory [B, S, C] -> [B, T, C].
  Tensor operator()(const Tensor& ids, const Tensor& memory, const Tensor& src_mask = {}, const Tensor& tgt_mask = {},
                    AttentionMaps* maps = nullptr) const;
  /// An empty cache for `memory`, and the same outputs for ids [B, T] that follow the tokens in the cache.
  DecoderCache begin(const Tensor& memory, const Tensor& src_mask = {}) const;
  Tensor step(const Tensor& ids, DecoderCache& cache) const;
  void visit(auto&& field) {
    field("embeddings", embeddings);
    field("relative_positions", relative_positions);
    field("layers", layers);
    field("norm", norm);
  }

  Embeddings embeddings;                 ///< of the target
  RelativePositions relative_positions;  ///< shared by all layers; may be nothing
  List<TransformerDecoderLayer> layers;  ///< num_hidden_layers of them
  LayerNormStd norm;                     ///< after the last layer
};

/// Encoder, decoder and generator. Parameters start as the tutorial's, number by number (in the end all matrices are
/// xavier-uniform).
struct Transformer {
  explicit Transformer(const TransformerConfig& config);

  /// src [B, S], src_mask as in AttentionPass -> [B, S, C].
  Tensor encode(const Tensor& src, const Tensor& src_mask = {}, AttentionMaps* maps = nullptr) const;
  /// tgt [B, T] -> [B, T, C].
  Tensor decode(const Tensor& memory, const Tensor& src_mask, const Tensor& tgt, const Tensor& tgt_mask = {},
                AttentionMaps* maps = nullptr) const;
  /// Log-probabilities [B, T, V] of the next tokens.
  Tensor operator()(const Tensor& src, const Tensor& tgt, const Tensor& src_mask = {}, const Tensor& tgt_mask = {},
                    AttentionMaps* maps = nullptr) const;
  void redraw_features();                      ///< new random features for performer attention; nothing for other forms
  Tensor predict(const Tensor& hidden) const;  ///< decoder output [B, T, C] -> log-probabilities [B, T, V]
  void visit(auto&& field) {
    field("encoder", encoder);
    field("decoder", decoder);
    field("generator", generator);
  }

  TransformerConfig config;    ///< as it was given
  TransformerEncoder encoder;  ///< reads the source
  TransformerDecoder decoder;  ///< reads the target and the encoder's result
  Linear generator;            ///< [C] -> [V]
};

/// The encoder-decoder in decoding. The source is encoded once. If `cached`, every target token is decoded once, too
/// (the keys and values of earlier tokens are kept); otherwise all of them at every step, with equal results. The model
/// should be in eval mode.
class TransformerNext final : public NextTokenLogits {
 public:
  /// src [B, S], src_mask as for encode(). A fully padded source is treated as empty: attention with nothing to attend
  /// to returns zeros.
  TransformerNext(const Transformer& model, const Tensor& src, const Tensor& src_mask = {}, bool cached = true);
  void restart() override;
  Tensor logits(const Tensor& ids) override;
  void reorder(const Tensor& rows) override;

 private:
  const Transformer& model_;
  bool cached_;
  Tensor source_, source_mask_;  // [B, S, C] and its mask, before any reorder
  Tensor memory_;                // not cached: the same, in the order of the rows
  DecoderCache cache_;
};

}  // namespace tapegrad::nn
