// What all attention modules do. Heads are strided views of the projections, never copies.
#include <tapegrad/autograd/detail/mask_check.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/detail/attention_core.h>

#include <cmath>
#include <limits>

namespace tapegrad::nn::detail {

namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();
constexpr std::string_view kMask = "attention";

// [B, T, C] -> [B, heads, T, C / heads]
Tensor split_heads(const Tensor& x, int64_t heads) {
  return x.reshape({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}

// What is added to the scores: `bias` where `mask` allows it, -inf elsewhere; a floating mask is added, too.
Tensor add_mask(const Tensor& bias, const Tensor& mask) {
  if (!mask.defined()) return bias;
  require_mask_of_scores(kMask, mask);
  return mask.dtype() == kBool ? where(mask, bias, kHidden) : bias + mask;
}

// `mask`, and hidden wherever `allowed` (bool) is false.
Tensor restrict_mask(const Tensor& mask, const Tensor& allowed) {
  if (!mask.defined()) return allowed;
  require_mask_of_scores(kMask, mask);
  return mask.dtype() == kBool ? mask && allowed : where(allowed, mask, kHidden);
}

// [B, kv_heads, S, D] -> [B, heads, S, D]: each head repeated once per query head that shares it.
Tensor shared_heads(const Tensor& x, int64_t heads) {
  if (x.size(1) == heads) return x;
  return x.unsqueeze(2).expand({x.size(0), x.size(1), heads / x.size(1), x.size(2), x.size(3)}).flatten(1, 2);
}

// With vectors for the values' distances the weights are needed on the tape, so nothing is fused.
Tensor composed_attention(const Tensor& q, const KeysAndValues& from, const AttentionOptions& options,
                          const ShawPositions& shaw, int64_t start, double scale, Tensor* weights) {
  Tensor added = options.mask;
  if (options.causal) added = add_mask(added, tril(ones({q.size(2), from.keys.size(2)}, kBool)));
  const Tensor w = softmax(matmul(q, shared_heads(from.keys, q.size(1)).t()) * scale + added, -1);  // [B, H, T, S]
  if (weights) *weights = w.detach();
  const Tensor kept = tapegrad::dropout(w, options.dropout, options.training, options.generator);
  return matmul(kept, shared_heads(from.values, q.size(1))) + shaw.weighted_values(kept, start);
}

// Attention with what the positions add to the scores: [B, H, T, D] -> the same.
Tensor positioned_attention(const Tensor& q, const KeysAndValues& from, AttentionOptions options,
                            const ShawPositions& shaw, const AttentionPass& pass) {
  const int64_t start = pass.positions ? pass.positions->start : 0;
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
  if (pass.positions && pass.positions->bias.defined()) options.mask = add_mask(pass.positions->bias, options.mask);
  if (shaw.defined()) options.mask = add_mask(shaw.scores(q, from.keys.size(2), start) * scale, options.mask);
  if (shaw.values.defined()) return composed_attention(q, from, options, shaw, start, scale, pass.weights);
  if (!pass.weights) return scaled_dot_product_attention(q, from.keys, from.values, options);
  auto [y, w] = attention_with_weights(q, from.keys, from.values, options);
  *pass.weights = w.detach();
  return y;
}

}  // namespace

Tensor AttentionCore::project_query(const Tensor& x, const AttentionPass& pass) const {
  return apply_rope(split_heads(query(x), heads), pass.positions);
}

KeysAndValues AttentionCore::project_kv(const Tensor& keys, const Tensor& values, const AttentionPass& pass) const {
  Tensor k = apply_rope(split_heads(key(keys), kv_heads), pass.positions);
  KeysAndValues fresh{std::move(k), split_heads(value(values), kv_heads)};
  return pass.cache ? pass.cache->append(pass.layer, fresh) : fresh;
}

Tensor AttentionCore::attend(const Tensor& q, const KeysAndValues& from, const AttentionPass& pass) const {
  const int64_t queries = q.size(2), keys = from.keys.size(2);
  AttentionOptions options{.mask = pass.mask,
                           .causal = causal,
                           .dropout = dropout.p,
                           .training = dropout.training,
                           .enable_gqa = kv_heads != heads};
  if (causal && keys > queries) {  // earlier keys come from a cache
    options.causal = false;
    if (queries > 1) options.mask = restrict_mask(pass.mask, tril(ones({queries, keys}, kBool), keys - queries));
  }
  const Tensor y = positioned_attention(q, from, options, shaw, pass);  // [B, H, T, D]
  return output(y.transpose(1, 2).reshape({q.size(0), queries, q.size(1) * q.size(3)}));
}

}  // namespace tapegrad::nn::detail
