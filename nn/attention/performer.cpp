// Performer: softmax attention estimated with positive orthogonal random features.
#include <fmt/format.h>
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/linalg.h>
#include <tapegrad/autograd/long_attention.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/attention/detail/attention_core.h>
#include <tapegrad/nn/attention/detail/long_attention.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/performer.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kWhere = "performer_attention";
constexpr std::string_view kFeatures = "orthogonal_features";
constexpr std::string_view kModule = "performer_self_attention";
constexpr double kHidden = -std::numeric_limits<double>::infinity();

int64_t feature_count(const PerformerConfig& c) {
  const auto d = static_cast<double>(c.d_out / c.num_heads);
  return c.num_features > 0 ? c.num_features : std::max<int64_t>(1, static_cast<int64_t>(std::ceil(d * std::log(d))));
}

Tensor fresh_features(const PerformerConfig& c) {
  const int64_t count = feature_count(c), head_dim = c.d_out / c.num_heads;
  return init::Skip::on() ? zeros({count, head_dim}) : orthogonal_features(count, head_dim);
}

void require_operands(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& features, bool causal) {
  require_floating(kWhere, {&q, &k, &v, &features});
  const bool fit = q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2 && q.size(-1) == k.size(-1) && k.size(-2) == v.size(-2);
  if (!fit) {
    fail(kWhere, fmt::format("expected query [..., T, D], key [..., S, D] and value [..., S, E], got {}, {} and {}",
                             str(q.shape()), str(k.shape()), str(v.shape())));
  }
  if (features.dim() != 2 || features.size(0) == 0 || features.size(1) != q.size(-1)) {
    fail(kWhere, fmt::format("expected features [M, {}], got {}", q.size(-1), str(features.shape())));
  }
  if (causal && q.size(-2) > k.size(-2)) {
    fail(kWhere, fmt::format("causal attention expected at least as many keys as queries, got {} queries and {} keys",
                             q.size(-2), k.size(-2)));
  }
}

// exp(x - the largest of each row), x [..., T, M].
Tensor exp_of_rows(const Tensor& x) { return exp(x - amax(x.detach(), -1, true)); }

// Sums over all keys, relative to the largest exponent of each feature over the keys.
Tensor sums_over_all(const Tensor& of_queries, const Tensor& of_keys, const Tensor& v) {
  const Tensor top = of_keys.size(-2) > 0 ? amax(of_keys.detach(), -2, true) : zeros({1, 1}, of_keys.dtype());
  const Tensor finite_top = masked_fill(top, eq(top, kHidden), 0);  // all keys are masked
  return matmul(exp_of_rows(of_queries + finite_top), matmul(exp(of_keys - finite_top).t(), v));
}

// Sums over the keys so far. Each key is relative to its largest exponent, its level, and levels are relative to the
// highest level so far: later keys have no influence.
Tensor causal_sums(const Tensor& of_queries, const Tensor& of_keys, const Tensor& v) {
  constexpr double kLowest = -1e30;  // of masked keys
  const int64_t queries = of_queries.size(-2), keys = of_keys.size(-2), past = keys - queries;
  const Tensor phi_q = exp_of_rows(of_queries);
  if (keys == 0) return causal_product(phi_q, of_keys, v);
  const Tensor level = maximum(amax(of_keys.detach(), -1), kLowest);  // [..., S]
  const Tensor top = cummax(level, -1).values;
  const Tensor phi_k = exp(of_keys - level.unsqueeze(-1));
  const Tensor top_of_queries = narrow(top, -1, past, queries);
  const Tensor recent = causal_product(phi_q, narrow(phi_k, -2, past, queries), narrow(v, -2, past, queries), false,
                                       {.earlier = narrow(level, -1, past, queries), .later = top_of_queries});
  if (past == 0) return recent;
  const Tensor top_of_past = narrow(top, -1, past - 1, 1);  // [..., 1]
  const Tensor faded = exp(narrow(level, -1, 0, past) - top_of_past).unsqueeze(-1);
  const Tensor sums = matmul(narrow(phi_k, -2, 0, past).t(), narrow(v, -2, 0, past) * faded);
  return recent + matmul(phi_q, sums) * exp(top_of_past - top_of_queries).unsqueeze(-1);
}

}  // namespace

Tensor orthogonal_features(int64_t count, int64_t head_dim, DType dtype, Generator* generator) {
  require_positive(kFeatures, "count", count);
  require_positive(kFeatures, "head_dim", head_dim);
  require_floating(kFeatures, dtype);
  const PauseRecording pause;
  std::vector<Tensor> blocks;
  for (int64_t first = 0; first < count; first += head_dim) {
    const Qr factors = qr(randn({head_dim, head_dim}, kFloat64, generator));
    const Tensor rows = (factors.q * sign(diagonal(factors.r))).t();  // uniform among all orthogonal matrices
    blocks.push_back(narrow(rows, 0, 0, std::min(head_dim, count - first)));
  }
  const Tensor lengths = norm(randn({count, head_dim}, kFloat64, generator), 2, -1, true);
  return (cat(blocks) * lengths).to(dtype);
}

Tensor performer_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& features,
                           const PerformerOptions& options) {
  require_operands(query, key, value, features, options.causal);
  const Tensor mask = detail::mask_of_keys(kWhere, options.mask);
  const int64_t width = value.size(-1);
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, query.size(-1)))));
  if (!(scale >= 0)) fail(kWhere, fmt::format("expected a scale of at least 0, got {}", scale));
  const double root = std::sqrt(scale);

  // The exponents, and weighted values with the weights as one more column.
  const Tensor k = key * root;
  Tensor of_keys = linear(k, features) - sum(square(k), -1, true) / 2;  // [..., S, M]
  if (mask.defined()) of_keys = masked_fill(of_keys, logical_not(mask).t(), kHidden);
  const Tensor of_queries = linear(query * root, features);  // |q|^2 / 2 cancels
  Shape one = value.shape();
  one[-1] = 1;
  const Tensor v = cat({value, ones(one, value.dtype())}, -1);

  const Tensor sums = options.causal ? causal_sums(of_queries, of_keys, v) : sums_over_all(of_queries, of_keys, v);
  const Tensor total = narrow(sums, -1, width, 1);
  const double least =
      std::sqrt(total.dtype() == kFloat32 ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min());
  return narrow(sums, -1, 0, width) / masked_fill(total, lt(total, least), 1);
}

void PerformerConfig::check() const {
  require_positive(kModule, "d_in", d_in);
  require_positive(kModule, "d_out", d_out);
  require_positive(kModule, "num_heads", num_heads);
  detail::require_context_length(kModule, context_length);
  if (num_features < 0)
    fail(kModule, fmt::format("num_features must be positive, or 0 for D log D, got {}", num_features));
  require_divisible(kModule, "d_out", d_out, "num_heads", num_heads);
}

PerformerSelfAttention::PerformerSelfAttention(const PerformerConfig& c)
    : config(checked(c)),
      W_query(c.d_in, c.d_out, c.qkv_bias),
      W_key(c.d_in, c.d_out, c.qkv_bias),
      W_value(c.d_in, c.d_out, c.qkv_bias),
      out_proj(c.d_out, c.d_out),
      features(fresh_features(c)) {}

Tensor PerformerSelfAttention::operator()(const Tensor& x, const AttentionPass& pass) const {
  detail::require_sequence(kModule, x, config.d_in);
  detail::require_no_bias(kModule, pass);
  const int64_t length = x.size(1) + (pass.cache ? pass.cache->length() : 0);
  detail::require_within_context(kModule, length, config.context_length);
  const auto heads = [&](const Linear& projected) { return detail::split_heads(projected(x), config.num_heads); };
  const Tensor q = apply_rope(heads(W_query), pass.positions);
  KeysAndValues from{apply_rope(heads(W_key), pass.positions), heads(W_value)};
  if (pass.cache) from = pass.cache->append(pass.layer, from);
  const PerformerOptions options{.mask = pass.mask, .causal = config.causal};
  const Tensor y = performer_attention(q, from.keys, from.values, features, options);
  if (pass.weights) {
    *pass.weights = detail::implied_weights(
        from.values, [&](const Tensor& units) { return performer_attention(q, from.keys, units, features, options); });
  }
  return out_proj(detail::join_heads(y));
}

void PerformerSelfAttention::redraw(Generator* generator) {
  features.set(orthogonal_features(features->size(0), features->size(1), features->dtype(), generator));
}

}  // namespace tapegrad::nn
