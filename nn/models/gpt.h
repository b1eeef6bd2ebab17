// GPT: a causal Transformer with one stack of layers, from token ids to the logits of the next token. Radford et al.
// 2019; tutorial 000.
#pragma once

#include <tapegrad/nn/added_positions.h>
#include <tapegrad/nn/decoder.h>
#include <tapegrad/nn/fields.h>
#include <tapegrad/nn/norm.h>
#include <tapegrad/nn/self_attention.h>

#include <span>
#include <string>
#include <string_view>

namespace tapegrad::nn {

/// Names and defaults of tutorial 000: the smallest GPT-2, without biases on query, key and value, and with a head that
/// is not tied.
struct GPTConfig {
  int64_t vocab_size = 50257;     ///< number of token ids
  int64_t context_length = 1024;  ///< the longest input, and the size of the table of learned positions
  int64_t emb_dim = 768;          ///< C, a multiple of n_heads
  int64_t n_heads = 12;           ///< of each block
  int64_t n_layers = 12;          ///< number of blocks
  double drop_rate = 0.1;         ///< after the embeddings, on attention weights, and after both parts of a block
  bool qkv_bias = false;          ///< of the projections of query, key and value
  bool tied_head = false;         ///< the head uses the token table as its weight
  Positions positions = Positions::learned;  ///< any of position_names()
  PositionOptions position_options = {};     ///< of these positions
  int64_t n_kv_heads = 0;          ///< heads of keys and values, each shared by a group of queries; 0: n_heads
  AttentionChoice attention = {};  ///< the form of attention; default: full attention

  /// The members, with help and limits; `positions` and `attention` list their options themselves.
  void list(Fields& fields);
  /// The longest input: context_length, or more if `positions` allows it (nn::longest_input).
  int64_t longest_input() const;
  /// Error that names the first invalid member.
  void check() const;
  /// Number of parameters of a model with these settings, without making one: 163,009,536 for the defaults.
  int64_t parameter_count() const;
};

/// tiny, char, book, gpt2, gpt2-medium, gpt2-large, gpt2-xl.
std::span<const std::string_view> gpt_presets();
/// One of these. Error for another name, which lists them. Sets the sizes only: GPT-2's own weights also need qkv_bias
/// and tied_head.
GPTConfig gpt_preset(std::string_view name);

/// Tutorial 000's model also saves its causal masks, "trf_blocks.0.att.mask" [context_length, context_length] with ones
/// above the diagonal. The first function adds them to a state, which that model then loads strictly; the second
/// removes them, for load_state_dict. Error for a mask that is not causal.
NamedTensors with_masks(NamedTensors state, const GPTConfig& config);
NamedTensors without_masks(const NamedTensors& state);

/// Expands to 4 C, applies the tanh form of gelu, contracts.
struct GPTFeedForward {
  explicit GPTFeedForward(int64_t emb_dim);
  Tensor operator()(const Tensor& x) const;  ///< [..., C] -> [..., C]
  std::string describe() const;              ///< the C++ that makes it, for nn::watch
  void visit(auto&& field) {
    field("layers.0", expand);
    field("layers.2", contract);
  }

  Linear expand, contract;  ///< [C] -> [4 C] -> [C]
};

namespace detail {

// A LayerNorm whose parameters have the tutorial's names.
struct ScaleAndShift {
  using Wrapped = LayerNorm;  // the type that names show
  std::string describe() const { return norm.describe(); }
  void visit(auto&& field) {
    field("scale", norm.weight);
    field("shift", norm.bias);
  }
  LayerNorm& norm;
};

}  // namespace detail

/// y = x + dropout(att(norm1(x))); y + dropout(ff(norm2(y))).
struct GPTBlock {
  explicit GPTBlock(const GPTConfig& config);
  Tensor operator()(const Tensor& x, const AttentionPass& pass = {}) const;  ///< [B, T, C] -> [B, T, C]
  void visit(auto&& field) {
    field("att", att);
    field("ff", ff);
    detail::ScaleAndShift first{norm1}, second{norm2};
    field("norm1", first);
    field("norm2", second);
    field("drop_shortcut", drop_shortcut);
  }

  MultiHeadSelfAttention att;  ///< causal
  GPTFeedForward ff;           ///< with GELU
  LayerNorm norm1, norm2;      ///< before attention, and before the feed-forward block
  Dropout drop_shortcut;       ///< after both parts
};

/// Embeddings, blocks and head. Parameters start as PyTorch's nn.Embedding and nn.Linear do, sampled in the
/// order of tutorial 000; a tied table starts as N(0, 0.02^2), because it is the head as well.
struct GPTModel final : Decoder {
  explicit GPTModel(const GPTConfig& config);

  Tensor head(const Tensor& hidden) const override;
  int64_t vocab_size() const override { return config.vocab_size; }
  int64_t context_length() const override { return config.context_length; }
  int64_t longest_input() const override { return config.longest_input(); }
  void redraw_features();  ///< new random features for performer attention; nothing for other forms
  void visit(auto&& field) {
    field("tok_emb", tok_emb);
    field("pos_emb", pos_emb);
    field("relative_positions", relative_positions);
    field("drop_emb", drop_emb);
    field("trf_blocks", trf_blocks);
    detail::ScaleAndShift last{final_norm};
    field("final_norm", last);
    field("out_head", out_head);
  }

  Names names() const override { return {"gpt", "context_length", "trf_blocks.{}.att"}; }
  std::size_t blocks() const override { return trf_blocks.size(); }
  Tensor embed(const Tensor& ids) const override { return tok_emb(ids); }
  Tensor placed(const Tensor& vectors, int64_t start, KVCache* cache) const override;
  PositionBias positions(int64_t queries, int64_t start, DType dtype) const override;
  Tensor block(std::size_t layer, const Tensor& x, const AttentionPass& pass) const override;
  Tensor last_norm(const Tensor& x) const override { return final_norm(x); }
  void walk_in(Visitor& visitor) override;

  GPTConfig config;                      ///< as it was given
  Embedding tok_emb;                     ///< [V, C]
  AddedPositions pos_emb;                ///< what is added to the embeddings; may be nothing
  RelativePositions relative_positions;  ///< what acts inside attention; may be nothing
  Dropout drop_emb;                      ///< after the embeddings
  List<GPTBlock> trf_blocks;             ///< n_layers of them
  LayerNorm final_norm;                  ///< before the head
  LanguageHead out_head;                 ///< without a weight if tied_head
};

}  // namespace tapegrad::nn
