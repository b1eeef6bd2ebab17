// Multi-head attention. Vaswani et al. 2017; tutorial 003, section 8.2.4.
#pragma once

#include <tapegrad/nn/attention_choice.h>
#include <tapegrad/nn/attention_pass.h>
#include <tapegrad/nn/dropout.h>
#include <tapegrad/nn/linear.h>

#include <string_view>
#include <type_traits>

namespace tapegrad::nn {

/// Sizes and options of multi-head self-attention.
struct SelfAttentionConfig {
  int64_t d_in = 768;                     ///< width of the input
  int64_t d_out = 768;                    ///< width of queries, keys, values and the output; a multiple of num_heads
  int64_t num_heads = 12;                 ///< each head has d_out / num_heads elements
  int64_t context_length = 0;             ///< the longest input; 0: any length
  double dropout = 0;                     ///< on the attention weights, in training
  bool qkv_bias = false;                  ///< of the projections of query, key and value
  bool causal = true;                     ///< position t attends to 0 .. t
  Positions positions = Positions::none;  ///< a kind that acts inside attention, or none
  PositionOptions position_options = {};  ///< of that kind
  int64_t num_kv_heads = 0;               ///< heads of keys and values, each shared by a group of queries; 0: num_heads
  AttentionChoice attention = {};         ///< the form; default: full attention
  int64_t form_length = 0;                ///< the length for which a form of fixed sizes is made; 0: context_length
  int64_t output_size = 0;                ///< width of the output; 0: d_out
  bool output_bias = true;                ///< of the output's projection

  /// heads of keys and values
  int64_t kv_heads() const { return num_kv_heads > 0 ? num_kv_heads : num_heads; }
  /// Error, "[where] ...", that names the first invalid member.
  void check(std::string_view where = "multi_head_self_attention") const;
};

/// The name of one kind of attention module in errors, and the names of its projections.
struct AttentionNames {
  std::string_view where;                      ///< "multi_head_attention"
  std::string_view query, key, value, output;  ///< of the four projections, as parts of their parameters' paths
  /// The names of all parameters begin with this and a dot; empty: they do not. Forms that are AttentionTraits::nested
  /// put their name here.
  std::string_view group = {};
};
/// MultiHeadAttention of tutorial 003.
inline constexpr AttentionNames kAttentionNames{"multi_head_attention", "linear_layers.0", "linear_layers.1",
                                                "linear_layers.2", "linear_layers.3"};
/// MultiHeadAttention of tutorials 000 and 004.
inline constexpr AttentionNames kSelfAttentionNames{"multi_head_self_attention", "W_query", "W_key", "W_value",
                                                    "out_proj"};
/// Llama's names in Hugging Face's folders.
inline constexpr AttentionNames kLlamaNames{"llama_attention", "q_proj", "k_proj", "v_proj", "o_proj"};

/// Projects query, key and value, attends in every head (in full attention, softmax(q k^T / sqrt(head_dim)) v), and
/// projects the result. Scores are scaled by the size of a head, not of the model. Self-attention is attention with one
/// input. All attention modules are this one; they differ in their configurations and in the names of parameters.
struct MultiHeadAttention {
  /// Tutorial 003. Error unless num_attention_heads divides hidden_size. Relative positions come with each pass; the
  /// module has its own AttentionPositions. num_kv_heads key and value heads are shared by groups of query heads
  /// (grouped-query attention; 0: as many as query heads); Error unless they divide num_attention_heads. `causal` hides
  /// later keys in addition to the mask.
  MultiHeadAttention(int64_t hidden_size, int64_t num_attention_heads, double dropout_prob = 0,
                     Positions positions = Positions::none, const PositionOptions& options = {},
                     int64_t num_kv_heads = 0, const AttentionChoice& choice = {}, bool causal = false);
  MultiHeadAttention(const SelfAttentionConfig& config, const AttentionNames& names);

  /// Self-attention: x [B, T, d_in] -> [B, T, output_size]. The mask hides keys in addition to those that causality
  /// hides. Error beyond context_length.
  Tensor operator()(const Tensor& x, const AttentionPass& pass = {}) const;
  Tensor operator()(const Tensor& x, const Tensor& mask) const { return (*this)(x, AttentionPass{.mask = mask}); }
  /// query [B, T, d_in], key and value [B, S, d_in] -> [B, T, output_size]. Self-attention is (x, x, x),
  /// cross-attention (x, memory, memory). Error if the form is for self-attention only and the three are not one
  /// tensor.
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionPass& pass = {}) const;
  Tensor operator()(const Tensor& from, const Tensor& keys, const Tensor& values, const Tensor& mask) const {
    return (*this)(from, keys, values, AttentionPass{.mask = mask});
  }
  /// The two halves of a call, for callers that keep keys and values: [B, S, d_in] -> heads, and query [B, T, d_in] ->
  /// [B, T, output_size].
  KeysAndValues project_kv(const Tensor& key, const Tensor& value, const AttentionPass& pass = {}) const;
  Tensor attend(const Tensor& query, const KeysAndValues& from, const AttentionPass& pass = {}) const;
  /// Samples the random numbers of the form again, such as the features of Performer; does nothing for other forms.
  void redraw(Generator* generator = nullptr) { form->redraw(generator); }

  std::string describe() const;  ///< the C++ that makes it, for nn::watch
  void visit(auto&& field) {
    if constexpr (std::is_convertible_v<decltype(field), Visitor&>) visit_members(field);  // not when clone() looks
  }
  /// visit() for a Visitor.
  void visit_members(Visitor& field);

  SelfAttentionConfig config;    ///< as it was given
  AttentionNames names;          ///< in errors and in the state
  Linear query;                  ///< [d_in] -> [num_heads head_dim]
  Optional<Linear> key;          // none if queries and keys have one projection
  Linear value, output;          ///< [d_in] -> [kv_heads head_dim], and heads -> output_size
  Dropout dropout;               // on the weights
  AttentionPositions positions;  ///< not defined: no relative positions
  HeldForm form;                 ///< its parameters and buffers, if it has any

 protected:
  /// The module of one form, whose parameters are not grouped by its name.
  struct Alone {
    std::string_view where;
  };
  MultiHeadAttention(const SelfAttentionConfig& config, const Alone& names);
  /// "nn::Type({.d_in = 64, ...}, names)", with the members of the configuration that differ from its defaults.
  std::string describe_as(std::string_view type, std::string_view names_code = {}) const;

 private:
  void require_supported(const AttentionPass& pass) const;
  void check_input(const Tensor& x, const AttentionPass& pass) const;
  void check_inputs(const Tensor& query, const Tensor& key, const Tensor& value) const;
  Tensor rotated_heads(const Tensor& y, int64_t heads, const AttentionPass& pass) const;
  KeysAndValues with_earlier(const KeysAndValues& fresh, const AttentionPass& pass) const;
  Tensor mixed(const Tensor& q, const KeysAndValues& from, const AttentionPass& pass) const;
};

}  // namespace tapegrad::nn
