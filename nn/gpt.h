// GPT: a causal Transformer with one stack of layers, from token ids to the logits of the next token. Radford et al.
// 2019; tutorial 000.
#pragma once

#include <tapegrad/nn/added_positions.h>
#include <tapegrad/nn/embedding.h>
#include <tapegrad/nn/next_token.h>
#include <tapegrad/nn/norm.h>
#include <tapegrad/nn/self_attention.h>

#include <span>
#include <string>
#include <string_view>

namespace tapegrad::nn {

/// Names and defaults of tutorial 000: the smallest GPT-2, without biases on query, key and value, and with a head that
/// is not tied.
struct GPTConfig {
  int64_t vocab_size = 50257;
  int64_t context_length = 1024;
  int64_t emb_dim = 768;
  int64_t n_heads = 12;
  int64_t n_layers = 12;
  double drop_rate = 0.1;
  bool qkv_bias = false;
  bool tied_head = false;  ///< the head uses the token table as its weight
  Positions positions = Positions::learned;
  PositionOptions position_options = {};
  int64_t n_kv_heads = 0;  ///< heads of keys and values, each shared by a group of queries; 0: n_heads
  AttentionChoice attention = {};

  /// The longest input: context_length, or more if `positions` allows it (nn::longest_input).
  int64_t longest_input() const;
  /// Error that names the first invalid member.
  void check() const;
  /// Number of parameters of a model with these settings, without making one: 163,009,536 for the defaults.
  int64_t parameter_count() const;
};

/// tiny, char, book, gpt2, gpt2-medium, gpt2-large, gpt2-xl. Error for another name, which lists these. Sets the sizes
/// only: GPT-2's own weights also need qkv_bias and tied_head.
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
  void visit(auto&& field) {
    field("layers.0", expand);
    field("layers.2", contract);
  }

  Linear expand, contract;
};

/// y = x + dropout(att(norm1(x))); y + dropout(ff(norm2(y))).
struct GPTBlock {
  explicit GPTBlock(const GPTConfig& config);
  Tensor operator()(const Tensor& x, const AttentionPass& pass = {}) const;  ///< [B, T, C] -> [B, T, C]
  void visit(auto&& field) {
    field("att", att);
    field("ff", ff);
    field("norm1.scale", norm1.weight);  // the tutorial's names
    field("norm1.shift", norm1.bias);
    field("norm2.scale", norm2.weight);
    field("norm2.shift", norm2.bias);
    field("drop_shortcut", drop_shortcut);
  }

  MultiHeadSelfAttention att;
  GPTFeedForward ff;
  LayerNorm norm1, norm2;
  Dropout drop_shortcut;
};

/// The projection to the vocabulary, without bias: [..., C] -> logits [..., V].
struct GPTHead {
  explicit GPTHead(const GPTConfig& config);
  Tensor operator()(const Tensor& x, const Tensor& table = {}) const;  ///< `table` [V, C]: a tied head's weight
  Tensor operator()(const Tensor& x, const Embedding& tied) const;
  void visit(auto&& field) {
    field("weight", weight);
    field("weight_int8", int8.values);
    field("weight_scales", int8.scales);
  }

  Parameter weight;  // [V, C], or none if the head is tied or in int8
  Int8Weight int8;
};

/// Embeddings, blocks and head. Parameters start as PyTorch's nn.Embedding and nn.Linear do, draw for draw, in the
/// order of tutorial 000; a tied table starts as N(0, 0.02^2), because it is the head as well.
struct GPTModel {
  explicit GPTModel(const GPTConfig& config);

  /// ids [B, T] int64 -> logits [B, T, V]. With a cache, the ids continue those in it, and only they are computed.
  /// `maps`, if given, receives "trf_blocks.0.att" -> [B, heads, T, S]. Error beyond longest_input().
  Tensor operator()(const Tensor& ids, KVCache* cache = nullptr, AttentionMaps* maps = nullptr) const;
  /// The two halves: [B, T] -> [B, T, C] after the last norm, and [..., C] -> logits [..., V].
  Tensor hidden(const Tensor& ids, KVCache* cache = nullptr, AttentionMaps* maps = nullptr) const;
  Tensor head(const Tensor& hidden) const;
  /// One more token of each of several sequences of any lengths, ids [B, 1]; row b continues caches[b] -> [B, 1, C].
  /// The weights are read once for all rows. Error beyond longest_input().
  Tensor hidden_each(const Tensor& ids, std::span<KVCache* const> caches) const;
  /// For generation: stores the matrices that every token reads (linear layers, token table, head) in bfloat16, which
  /// halves their memory, and still computes in float32. No gradients afterwards.
  void store_in_bfloat16();
  /// The same in int8, a quarter of the memory (Int8Matrix): `weight` of these layers becomes the buffers weight_int8
  /// and weight_scales. Inside an init::Skip scope they are zeros, to be loaded: see int8_state. Error for weights that
  /// are not finite. Training is then an Error.
  void store_in_int8();
  void redraw_features();  ///< new random features for performer attention; nothing for other forms
  void visit(auto&& field) {
    field("tok_emb", tok_emb);
    field("pos_emb", pos_emb);
    field("relative_positions", relative_positions);
    field("drop_emb", drop_emb);
    field("trf_blocks", trf_blocks);
    field("final_norm.scale", final_norm.weight);
    field("final_norm.shift", final_norm.bias);
    field("out_head", out_head);
  }

  GPTConfig config;
  /// Training keeps only the input of each block and runs the block again in backward, with the same draws: the same
  /// bits in less memory.
  bool recompute_blocks = false;
  Embedding tok_emb;
  AddedPositions pos_emb;
  RelativePositions relative_positions;
  Dropout drop_emb;
  List<GPTBlock> trf_blocks;
  LayerNorm final_norm;
  GPTHead out_head;
};

/// A state for load_state_dict of a model in int8, from one of floating weights or of int8 ones: quantises "x.weight"
/// where the model has "x.weight_int8".
NamedTensors int8_state(NamedTensors state, const GPTModel& model);
/// Does a state have int8 weights?
bool is_int8(const NamedTensors& state);

/// GPT in decoding. If there are more tokens than its longest input, it reads the last ones, all of them at every step.
/// Otherwise, if `cached`, it reads every token once. The model should be in eval mode.
class GPTNext final : public NextTokenLogits {
 public:
  explicit GPTNext(const GPTModel& model, bool cached = true) : model_(model), cached_(cached) {}
  void restart() override { cache_ = {}; }
  Tensor logits(const Tensor& ids) override;
  void reorder(const Tensor& rows) override;

 private:
  const GPTModel& model_;
  bool cached_;
  KVCache cache_;
};

}  // namespace tapegrad::nn
