// Self-attention from one width to another.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/self_attention.h>

#include <tuple>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kWhere = "multi_head_self_attention";

const SelfAttentionConfig& checked(const SelfAttentionConfig& config) {
  config.check();
  return config;
}

}  // namespace

void SelfAttentionConfig::check() const {
  require_positive(kWhere, "d_in", d_in);
  require_positive(kWhere, "d_out", d_out);
  require_positive(kWhere, "num_heads", num_heads);
  require_probability(kWhere, "dropout", dropout);
  if (context_length < 0) {
    fail(kWhere, fmt::format("context_length is {}, it must be positive, or 0 for any length", context_length));
  }
  if (d_out % num_heads != 0) {
    fail(kWhere,
         fmt::format("d_out {} is not divisible by num_heads {} (each head takes an equal share)", d_out, num_heads));
  }
}

MultiHeadSelfAttention::MultiHeadSelfAttention(const SelfAttentionConfig& c)
    : config(checked(c)),
      W_query(c.d_in, c.d_out, c.qkv_bias),
      W_key(c.d_in, c.d_out, c.qkv_bias),
      W_value(c.d_in, c.d_out, c.qkv_bias),
      out_proj(c.d_out, c.d_out),
      dropout(c.dropout) {}

Tensor MultiHeadSelfAttention::operator()(const Tensor& x, const Tensor& mask, Tensor* weights) const {
  if (x.dim() != 3 || x.size(2) != config.d_in) {
    fail(kWhere, fmt::format("x has shape {}, [B, T, {}] is needed", str(x.shape()), config.d_in));
  }
  const int64_t batch = x.size(0), length = x.size(1);
  if (config.context_length > 0 && length > config.context_length) {
    fail(kWhere,
         fmt::format("a sequence of length {} is longer than context_length {}", length, config.context_length));
  }
  // [B, T, d_out] -> [B, heads, T, head_dim], a view
  const auto heads = [&](const Linear& project) {
    return project(x).reshape({batch, length, config.num_heads, config.d_out / config.num_heads}).transpose(1, 2);
  };
  const Tensor q = heads(W_query), k = heads(W_key), v = heads(W_value);
  const AttentionOptions options{
      .mask = mask, .causal = config.causal, .dropout = dropout.p, .training = dropout.training};
  Tensor mixed;  // [B, heads, T, head_dim]
  if (weights) {
    std::tie(mixed, *weights) = attention_with_weights(q, k, v, options);
  } else {
    mixed = scaled_dot_product_attention(q, k, v, options);
  }
  return out_proj(mixed.transpose(1, 2).reshape({batch, length, config.d_out}));
}

}  // namespace tapegrad::nn
