// GPT: a causal Transformer of one stack, which predicts every next token. Radford et al. 2019; tutorial 000.
#pragma once

#include <tapegrad/nn/attention.h>
#include <tapegrad/nn/embedding.h>
#include <tapegrad/nn/kv_cache.h>
#include <tapegrad/nn/positions.h>
#include <tapegrad/nn/relative_positions.h>
#include <tapegrad/nn/transformer.h>

#include <string>
#include <string_view>

namespace tapegrad::nn {

// The names and defaults of tutorial 000: GPT-2's smallest model, without biases on query, key and value, with a head
// of its own.
struct GPTConfig {
  int64_t vocab_size = 50257;
  int64_t context_length = 1024;
  int64_t emb_dim = 768;
  int64_t n_heads = 12;
  int64_t n_layers = 12;
  double drop_rate = 0.1;
  bool qkv_bias = false;
  bool tied_head = false;  // the head's weight is the token table
  Positions positions = Positions::learned;
  PositionOptions position_options = {};

  // The most tokens that a model reads at once: context_length, or more where `positions` can (nn::longest_input).
  int64_t longest_input() const;
  // Error that names the first member that makes no model.
  void check() const;
  // Of a model with these settings, without making one: 163,009,536 for the defaults.
  int64_t parameter_count() const;
};

// tiny, char, book, gpt2, gpt2-medium, gpt2-large, gpt2-xl. Error for another name, which lists these. The sizes only:
// GPT-2's own weights want qkv_bias and tied_head set, too.
GPTConfig gpt_preset(std::string_view name);

// (x - mean) / sqrt(var + eps) * scale + shift: LayerNorm under the names of tutorial 000.
struct GPTNorm {
  explicit GPTNorm(int64_t emb_dim, double eps = 1e-5);
  Tensor operator()(const Tensor& x) const;
  void visit(auto&& field) {
    field("scale", scale);
    field("shift", shift);
  }

  Parameter scale;  // [emb_dim], ones
  Parameter shift;  // [emb_dim], zeros
  double eps;
};

// What a block needs to know beside its input.
struct GPTPass {
  KVCache* cache = nullptr;                  // where it is given, x continues what the cache holds
  std::size_t layer = 0;                     // the block's place in the stack
  Tensor* weights = nullptr;                 // receives the attention weights [B, heads, T, S] before dropout, detached
  const PositionTerms* positions = nullptr;  // of the model's RelativePositions
};

// Causal attention of several heads: position t sees 0 .. t.
struct GPTAttention {
  explicit GPTAttention(const GPTConfig& config);
  Tensor operator()(const Tensor& x, const GPTPass& pass = {}) const;  // [B, T, C] -> [B, T, C]
  void visit(auto&& field) {
    field("W_query", W_query);
    field("W_key", W_key);
    field("W_value", W_value);
    field("out_proj", out_proj);
    field("dropout", dropout);
    field("shaw", shaw);
  }

  Linear W_query, W_key, W_value, out_proj;
  Dropout dropout;  // on the weights
  int64_t n_heads;
  ShawPositions shaw;  // or none
};

// expand to 4 C, gelu by tanh, contract.
struct GPTFeedForward {
  explicit GPTFeedForward(int64_t emb_dim);
  Tensor operator()(const Tensor& x) const;  // [..., C] -> [..., C]
  void visit(auto&& field) {
    field("layers.0", expand);
    field("layers.2", contract);
  }

  Linear expand, contract;
};

// x + dropout(att(norm1(x))), and then the same around ff.
struct GPTBlock {
  explicit GPTBlock(const GPTConfig& config);
  Tensor operator()(const Tensor& x, const GPTPass& pass = {}) const;  // [B, T, C] -> [B, T, C]
  void visit(auto&& field) {
    field("att", att);
    field("ff", ff);
    field("norm1", norm1);
    field("norm2", norm2);
    field("drop_shortcut", drop_shortcut);
  }

  GPTAttention att;
  GPTFeedForward ff;
  GPTNorm norm1, norm2;
  Dropout drop_shortcut;
};

// The projection on the vocabulary, without bias: [..., C] -> logits [..., V].
struct GPTHead {
  explicit GPTHead(const GPTConfig& config);
  Tensor operator()(const Tensor& x, const Tensor& table = {}) const;  // `table` [V, C] is the weight of a tied head
  void visit(auto&& field) { field("weight", weight); }

  Parameter weight;  // [V, C], or none where the head is tied
};

// The whole. Parameters start as PyTorch's nn.Embedding and nn.Linear do, draw for draw, in the order of tutorial 000;
// a tied table starts as N(0, 0.02^2), as it is the head as well.
struct GPTModel {
  explicit GPTModel(const GPTConfig& config);

  // ids [B, T] int64 -> logits [B, T, V]. With a cache the ids continue what it holds, and only they are computed.
  // `maps`, where given, receives "trf_blocks.0.att" -> [B, heads, T, S]. Error beyond longest_input().
  Tensor operator()(const Tensor& ids, KVCache* cache = nullptr, AttentionMaps* maps = nullptr) const;
  // The two halves: [B, T] -> [B, T, C] after the last norm, and [..., C] -> logits [..., V].
  Tensor hidden(const Tensor& ids, KVCache* cache = nullptr, AttentionMaps* maps = nullptr) const;
  Tensor head(const Tensor& hidden) const;
  // For generation: keeps the matrices that every token reads (linear layers, token table, head) in bfloat16, half of
  // their memory, and goes on computing in float32. No gradients afterwards.
  void store_in_bfloat16();
  void visit(auto&& field) {
    field("tok_emb", tok_emb);
    field("pos_emb", pos_emb);
    field("relative_positions", relative_positions);
    field("drop_emb", drop_emb);
    field("trf_blocks", trf_blocks);
    field("final_norm", final_norm);
    field("out_head", out_head);
  }

  GPTConfig config;
  // Training keeps the input of each block only and runs the block again in backward, with the same draws: the same
  // bits in less memory.
  bool recompute_blocks = false;
  Embedding tok_emb;
  AddedPositions pos_emb;
  RelativePositions relative_positions;
  Dropout drop_emb;
  List<GPTBlock> trf_blocks;
  GPTNorm final_norm;
  GPTHead out_head;
};

}  // namespace tapegrad::nn
