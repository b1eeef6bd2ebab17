// Llama: a causal Transformer with RMSNorm, rotary positions, grouped queries and SwiGLU. Touvron et al. 2023.
//
//   nn::LlamaModel model({.vocab_size = 1000, .hidden_size = 64, .intermediate_size = 172, .num_hidden_layers = 2,
//                         .num_attention_heads = 4, .num_key_value_heads = 2});
//   Tensor logits = model(ids);     // ids [B, T] -> [B, T, V]
// llama_hugging_face.h reads and writes Hugging Face's folders; parameters have the names that these have.
#pragma once

#include <tapegrad/nn/attention.h>
#include <tapegrad/nn/decoder.h>
#include <tapegrad/nn/dropout.h>
#include <tapegrad/nn/fields.h>
#include <tapegrad/nn/linear.h>
#include <tapegrad/nn/norm.h>

#include <string_view>
#include <vector>

namespace tapegrad::nn {

/// How the angles of RoPE are slowed down for contexts that are longer than those of training.
struct RopeScaling {
  /// - none: not at all
  /// - linear: all pairs, by `factor`. Chen et al. 2023
  /// - llama3: pairs that rotate less than `low` times in `trained_length` positions, by `factor`; pairs that rotate
  ///   more than `high` times, not at all; in between by a mixture. Llama 3.1
  /// - dynamic: only for inputs longer than max_position_embeddings, which are not accepted. Otherwise as none
  /// - yarn: as llama3, but mixed by the index of the pair; cosines and sines are multiplied by `attention`.
  ///   Peng et al. 2023
  enum class Kind { none, linear, llama3, dynamic, yarn };
  Kind kind = Kind::none;         ///< the rule
  double factor = 1;              ///< by which contexts are longer than in training
  double low = 1, high = 4;       ///< llama3, yarn: rotations within trained_length; low < high
  int64_t trained_length = 8192;  ///< llama3, yarn: context of the training, in tokens
  double attention = 1;           ///< yarn: factor of cosines and sines
  bool whole_pairs = true;        ///< yarn: the mixture begins and ends at whole indices of pairs

  void list(Fields& fields);  ///< The members, with help and limits
};

/// What Hugging Face's files call a rule: "default", "linear" ...
std::string_view rope_type_name(RopeScaling::Kind kind);

/// Names of Hugging Face's LlamaConfig; defaults of Llama-2 7B.
struct LlamaConfig {
  int64_t vocab_size = 32000;              ///< number of token ids
  int64_t hidden_size = 4096;              ///< C
  int64_t intermediate_size = 11008;       ///< width inside the feed-forward block
  int64_t num_hidden_layers = 32;          ///< number of blocks
  int64_t num_attention_heads = 32;        ///< heads of the queries
  int64_t num_key_value_heads = 0;         ///< each is shared by a group of query heads; 0: num_attention_heads
  int64_t head_dim = 0;                    ///< 0: hidden_size / num_attention_heads
  int64_t max_position_embeddings = 2048;  ///< the longest input
  double rms_norm_eps = 1e-6;              ///< added to the mean square before its root
  double rope_theta = 10000;               ///< base of the angles
  RopeScaling rope_scaling = {};           ///< for contexts longer than in training
  double attention_dropout = 0;            ///< on the attention weights, in training
  bool attention_bias = false;             ///< of all four projections
  bool mlp_bias = false;                   ///< of the three layers of the feed-forward block
  bool tie_word_embeddings = false;        ///< the head uses the token table as its weight
  double initializer_range = 0.02;         ///< standard deviation of the initial weights; biases start as zeros

  /// The members, with help and limits.
  void list(Fields& fields);
  int64_t kv_heads() const { return num_key_value_heads > 0 ? num_key_value_heads : num_attention_heads; }
  int64_t head_size() const { return head_dim > 0 ? head_dim : hidden_size / num_attention_heads; }
  /// Error that names the first invalid member.
  void check() const;
  /// Number of parameters of a model with these settings, without making one.
  int64_t parameter_count() const;
};

/// What each pair of a head rotates by per position, [head_size / 2], scaled.
std::vector<double> rope_speeds(const LlamaConfig& config);

/// Causal self-attention with grouped queries; RoPE rotates the pairs i and i + D/2 of each head.
struct LlamaAttention : MultiHeadAttention {
  explicit LlamaAttention(const LlamaConfig& config);
  std::string describe() const;  ///< the C++ that makes it, for nn::watch
};

/// down(silu(gate(x)) up(x)). Shazeer 2020.
struct LlamaMLP {
  explicit LlamaMLP(const LlamaConfig& config);
  Tensor operator()(const Tensor& x) const;  ///< [..., C] -> [..., C]
  std::string describe() const;              ///< the C++ that makes it, for nn::watch
  void visit(auto&& field) {
    field("gate_proj", gate_proj);
    field("up_proj", up_proj);
    field("down_proj", down_proj);
  }

  Linear gate_proj, up_proj, down_proj;  ///< C -> intermediate_size twice, and back
};

/// y = x + attention(norm(x)); y + mlp(norm(y)).
struct LlamaBlock {
  explicit LlamaBlock(const LlamaConfig& config);
  Tensor operator()(const Tensor& x, const AttentionPass& pass = {}) const;  ///< [B, T, C] -> [B, T, C]
  void visit(auto&& field) {
    field("self_attn", self_attn);
    field("mlp", mlp);
    field("input_layernorm", input_layernorm);
    field("post_attention_layernorm", post_attention_layernorm);
  }

  LlamaAttention self_attn;                           ///< causal, with rotary positions
  LlamaMLP mlp;                                       ///< with SiLU
  RMSNorm input_layernorm, post_attention_layernorm;  ///< before attention, and before the feed-forward block
};

/// Token table, blocks, norm and head. The weights of linear layers and tables start as N(0, initializer_range^2).
struct LlamaModel final : Decoder {
  explicit LlamaModel(const LlamaConfig& config);

  Tensor head(const Tensor& hidden) const override { return lm_head(hidden, embed_tokens); }
  int64_t vocab_size() const override { return config.vocab_size; }
  int64_t context_length() const override { return config.max_position_embeddings; }
  int64_t longest_input() const override { return config.max_position_embeddings; }
  void visit(auto&& field) {
    field("model.embed_tokens", embed_tokens);
    field("model.layers", layers);
    field("model.norm", norm);
    field("lm_head", lm_head);
  }

  Names names() const override { return {"llama", "max_position_embeddings", "model.layers.{}.self_attn"}; }
  std::size_t blocks() const override { return layers.size(); }
  Tensor embed(const Tensor& ids) const override { return embed_tokens(ids); }
  Tensor placed(const Tensor& vectors, int64_t, KVCache*) const override { return vectors; }
  PositionBias positions(int64_t queries, int64_t start, DType dtype) const override;
  Tensor block(std::size_t layer, const Tensor& x, const AttentionPass& pass) const override {
    return layers[layer](x, pass);
  }
  Tensor last_norm(const Tensor& x) const override { return norm(x); }
  void walk_in(Visitor& visitor) override;

  LlamaConfig config;          ///< as it was given
  Embedding embed_tokens;      ///< [V, C]
  List<LlamaBlock> layers;     ///< num_hidden_layers of them
  RMSNorm norm;                ///< before the head
  LanguageHead lm_head;        ///< without a weight if tie_word_embeddings
  std::vector<double> speeds;  // of the pairs of a head
};

}  // namespace tapegrad::nn
