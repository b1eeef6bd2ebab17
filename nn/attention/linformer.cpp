// Linformer: keys and values are projected along the length.
#include <fmt/format.h>
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/attention/detail/attention_core.h>
#include <tapegrad/nn/attention/detail/long_attention.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/linformer.h>

#include <cmath>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kWhere = "linformer_attention";
constexpr std::string_view kModule = "linformer_self_attention";

void require_not_causal(std::string_view where, bool causal) {
  if (causal) fail(where, "Linformer cannot be causal: each projected key mixes all positions");
}

// x [..., S, D] -> p x, [..., K, D], with the first S columns of p.
Tensor project(const Tensor& p, const Tensor& x, std::string_view what) {
  const bool fits = (p.dim() == 2 || (p.dim() == 3 && x.dim() >= 3 && p.size(0) == x.size(-3))) &&
                    p.size(-1) >= x.size(-2) && p.dtype() == x.dtype();
  if (!fits) {
    fail(kWhere, fmt::format("expected {} [K, S] or [heads, K, S] in {} with S of at least {}, got {} {} for {}", what,
                             name(x.dtype()), x.size(-2), name(p.dtype()), str(p.shape()), str(x.shape())));
  }
  const Tensor used = narrow(p, -1, 0, x.size(-2));
  return einsum(p.dim() == 2 ? "ks,...sd->...kd" : "hks,...hsd->...hkd", {used, x});
}

Parameter projection(const LinformerConfig& c) {
  Parameter p(c.share_heads ? init::blank({c.projected, c.context_length})
                            : init::blank({c.num_heads, c.projected, c.context_length}));
  init::normal(p, 0, 1 / std::sqrt(static_cast<double>(c.projected)));
  return p;
}

}  // namespace

Tensor linformer_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& e,
                           const Tensor& f, const LinformerOptions& options) {
  require_floating(kWhere, {&query, &key, &value});
  require_not_causal(kWhere, options.causal);
  if (key.dim() < 2 || value.dim() < 2) {
    fail(kWhere,
         fmt::format("expected key and value [..., S, D], got {} and {}", str(key.shape()), str(value.shape())));
  }
  Tensor k = key, v = value;
  if (const Tensor mask = detail::mask_of_keys(kWhere, options.mask); mask.defined()) {
    const Tensor hidden = logical_not(mask).t();  // [..., S, 1]
    k = masked_fill(k, hidden, 0);
    v = masked_fill(v, hidden, 0);
  }
  return scaled_dot_product_attention(query, project(e, k, "e"), project(f, v, "f"),
                                      {.dropout = options.dropout,
                                       .training = options.training,
                                       .scale = options.scale,
                                       .generator = options.generator});
}

void LinformerConfig::check() const {
  require_positive(kModule, "d_in", d_in);
  require_positive(kModule, "d_out", d_out);
  require_positive(kModule, "num_heads", num_heads);
  require_positive(kModule, "context_length", context_length);
  require_positive(kModule, "projected", projected);
  require_probability(kModule, "dropout", dropout);
  require_divisible(kModule, "d_out", d_out, "num_heads", num_heads);
  require_not_causal(kModule, causal);
}

LinformerSelfAttention::LinformerSelfAttention(const LinformerConfig& c)
    : config(checked(c)),
      W_query(c.d_in, c.d_out, c.qkv_bias),
      W_key(c.d_in, c.d_out, c.qkv_bias),
      W_value(c.d_in, c.d_out, c.qkv_bias),
      out_proj(c.d_out, c.d_out),
      E(projection(c)),
      F(c.share_kv ? Parameter() : projection(c)),
      dropout(c.dropout) {}

Tensor LinformerSelfAttention::operator()(const Tensor& x, const AttentionPass& pass) const {
  detail::require_sequence(kModule, x, config.d_in);
  detail::require_no_bias(kModule, pass);
  if (pass.cache) fail(kModule, "Linformer takes no cache: each projected key mixes all positions, later ones, too");
  detail::require_within_context(kModule, x.size(1), config.context_length);
  const auto heads = [&](const Linear& projected) { return detail::split_heads(projected(x), config.num_heads); };
  const Tensor q = apply_rope(heads(W_query), pass.positions), k = apply_rope(heads(W_key), pass.positions);
  const Tensor v = heads(W_value);
  const Tensor& of_values = F.defined() ? F : E;
  LinformerOptions options{.mask = pass.mask, .dropout = dropout.p, .training = dropout.training};
  const Tensor y = linformer_attention(q, k, v, E, of_values, options);
  if (pass.weights) {
    options.dropout = 0;
    *pass.weights = detail::implied_weights(
        v, [&](const Tensor& units) { return linformer_attention(q, k, units, E, of_values, options); });
  }
  return out_proj(detail::join_heads(y));
}

}  // namespace tapegrad::nn
