// What the file of a form of attention includes: the definition of default_form, and what forms share.
#pragma once

#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/attention.h>

#include <limits>
#include <string_view>

namespace tapegrad::nn {

template <class Options>
AttentionChoice default_form() {
  return Options();
}

namespace detail {

// The configuration of a module that has one form of attention, from that of the module, which has the same members.
template <class Config>
SelfAttentionConfig self_attention(const Config& c, const AttentionChoice& form) {
  SelfAttentionConfig all{.d_in = c.d_in,
                          .d_out = c.d_out,
                          .num_heads = c.num_heads,
                          .context_length = c.context_length,
                          .qkv_bias = c.qkv_bias,
                          .causal = c.causal,
                          .attention = form};
  if constexpr (requires { c.dropout; }) all.dropout = c.dropout;
  return all;
}

inline constexpr double kHidden = -std::numeric_limits<double>::infinity();

// `mask`, with keys also hidden wherever `allowed` (bool) is false.
Tensor restrict_mask(const Tensor& mask, const Tensor& allowed);
// The mask as bool [..., 1, S]; an empty handle for none. Error if it is not bool, or hides keys from some queries
// only.
Tensor mask_of_keys(std::string_view where, const Tensor& mask);
// NaN and infinities of keys [..., S, D] and values [..., S, E] become 0. If there are any, a factor for the scores
// [..., T, S] is returned, [..., T, 1]: NaN for queries that see one, of which `hidden` is false, 1 for the others.
Tensor without_hidden_nan(Tensor& keys, Tensor& values, const Tensor& hidden);
// [B, kv_heads, S, D] -> [B, heads, S, D]: each head repeated once per query head that shares it.
Tensor shared_heads(const Tensor& x, int64_t heads);
// The weights that attention gives to the values, [B, heads, T, S]: the result of attend(values) for unit vectors.
Tensor implied_weights(const Tensor& values, auto attend) {
  const PauseRecording pause;
  const int64_t count = values.size(-2);
  return attend(eye(count, values.dtype()).expand({values.size(0), values.size(1), count, count})).detach();
}

}  // namespace detail
}  // namespace tapegrad::nn
