// Multi-head self-attention from one width to another.
#include <fmt/format.h>
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/attention/detail/attention_core.h>
#include <tapegrad/nn/attention/detail/long_attention.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/self_attention.h>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kWhere = "multi_head_self_attention";

// Of query, key or value; none if the form of attention has its own.
Linear projection(const SelfAttentionConfig& c, int64_t in, int64_t out) {
  return c.attention.is_module() ? Linear() : Linear(in, out, c.qkv_bias);
}

AttentionChoice with_length(AttentionChoice choice, int64_t length) {
  if (choice.length == 0) choice.length = length;
  return choice;
}

}  // namespace

void SelfAttentionConfig::check() const {
  require_positive(kWhere, "d_in", d_in);
  require_positive(kWhere, "d_out", d_out);
  require_positive(kWhere, "num_heads", num_heads);
  require_probability(kWhere, "dropout", dropout);
  detail::require_context_length(kWhere, context_length);
  require_divisible(kWhere, "d_out", d_out, "num_heads", num_heads);
  kv_width(kWhere, d_out, num_heads, num_kv_heads);
  position_options.check();
  attention.check(relative_kind(positions, position_options), causal, num_kv_heads > 0 && num_kv_heads != num_heads);
}

MultiHeadSelfAttention::MultiHeadSelfAttention(const SelfAttentionConfig& c)
    : config(checked(c)),
      W_query(projection(c, c.d_in, c.d_out)),
      W_key(projection(c, c.d_in, kv_width(kWhere, c.d_out, c.num_heads, c.num_kv_heads))),
      W_value(projection(c, c.d_in, kv_width(kWhere, c.d_out, c.num_heads, c.num_kv_heads))),
      out_proj(c.attention.is_module() ? Linear() : Linear(c.d_out, c.d_out)),
      dropout(c.dropout),
      positions(c.positions, c.d_out / c.num_heads, c.position_options),
      long_attention(with_length(c.attention, c.context_length), {.d_in = c.d_in,
                                                                  .d_out = c.d_out,
                                                                  .num_heads = c.num_heads,
                                                                  .dropout = c.dropout,
                                                                  .qkv_bias = c.qkv_bias,
                                                                  .causal = c.causal}) {}

Tensor MultiHeadSelfAttention::operator()(const Tensor& x, const AttentionPass& pass) const {
  if (x.dim() != 3 || x.size(2) != config.d_in) {
    fail(kWhere, fmt::format("expected x [B, T, {}], got {}", config.d_in, str(x.shape())));
  }
  if (!pass.each.empty() && std::ssize(pass.each) != x.size(0)) {
    fail(kWhere, fmt::format("expected one pass for each of the {} rows, got {}", x.size(0), pass.each.size()));
  }
  const int64_t length = x.size(1) + (pass.cache ? pass.cache->length() : 0);
  detail::require_within_context(kWhere, length, config.context_length);
  if (long_attention.defined()) {
    if (pass.each.empty()) return long_attention(x, pass);
    std::vector<Tensor> rows;
    for (std::size_t b = 0; b < pass.each.size(); ++b) {
      rows.push_back(long_attention(narrow(x, 0, static_cast<int64_t>(b), 1), pass.each[b]));
    }
    return cat(rows, 0);
  }
  const detail::AttentionCore core{.query = W_query,
                                   .key = W_key,
                                   .value = W_value,
                                   .output = out_proj,
                                   .dropout = dropout,
                                   .positions = positions,
                                   .heads = config.num_heads,
                                   .kv_heads = config.num_kv_heads > 0 ? config.num_kv_heads : config.num_heads,
                                   .choice = config.attention,
                                   .causal = config.causal};
  return core.self_attend(x, pass);
}

}  // namespace tapegrad::nn
