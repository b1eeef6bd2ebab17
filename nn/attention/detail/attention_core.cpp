// What all attention modules do. Heads are strided views of the projections, never copies.
#include <fmt/format.h>
#include <tapegrad/autograd/mask_check.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/autograd/window_attention.h>
#include <tapegrad/nn/attention/detail/attention_core.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapegrad::nn::detail {

namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();
constexpr std::string_view kMask = "attention";

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

// With positions that change the values the weights are needed on the tape, so nothing is fused.
Tensor composed_attention(const Tensor& q, const KeysAndValues& from, const AttentionOptions& options,
                          const AttentionPositions& positions, const AttentionPass& pass, double scale) {
  Tensor added = options.mask;
  if (options.causal) added = add_mask(added, tril(ones({q.size(2), from.keys.size(2)}, kBool)));
  const Tensor w = softmax(matmul(q, shared_heads(from.keys, q.size(1)).t()) * scale + added, -1);  // [B, H, T, S]
  if (pass.weights) *pass.weights = w.detach();
  const Tensor kept = tapegrad::dropout(w, options.dropout, options.training, options.generator);
  return matmul(kept, shared_heads(from.values, q.size(1))) + positions.values(kept, pass.positions);
}

// Attention with what the positions add to the scores: [B, H, T, D] -> the same.
Tensor positioned_attention(const Tensor& q, const KeysAndValues& from, AttentionOptions options,
                            const AttentionPositions& positions, const AttentionPass& pass) {
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
  if (pass.positions && pass.positions->bias.defined()) options.mask = add_mask(pass.positions->bias, options.mask);
  if (positions.defined()) {
    options.mask = add_mask(positions.scores(q, from.keys.size(2), scale, pass.positions), options.mask);
  }
  if (positions.changes_values()) return composed_attention(q, from, options, positions, pass, scale);
  if (!pass.weights) return scaled_dot_product_attention(q, from.keys, from.values, options);
  auto [y, w] = attention_with_weights(q, from.keys, from.values, options);
  *pass.weights = w.detach();
  return y;
}

// Error for positions that add to the score of every pair.
void require_no_scores(AttentionKind kind, const AttentionPositions& positions, const AttentionPass& pass) {
  if (positions.defined() || (pass.positions && pass.positions->bias.defined())) {
    fail(kMask, fmt::format("expected positions that leave the scores alone with {} attention", name(kind)));
  }
}

// The weights of window attention, for pictures: those of full attention with a mask.
Tensor window_weights(const Tensor& q, const KeysAndValues& from, const WindowAttentionOptions& options,
                      const Tensor& mask) {
  const PauseRecording pause;
  const Tensor keys = shared_heads(from.keys, q.size(1)), values = shared_heads(from.values, q.size(1));
  return attention_with_weights(q, keys, values, {.mask = restrict_mask(options.mask, mask)}).second;
}

// [B, H, T, D] -> the same, each query seeing the keys near it.
Tensor window_attention(const Tensor& q, const KeysAndValues& from, const AttentionCore& core,
                        const AttentionPass& pass) {
  const AttentionChoice& choice = core.choice;
  const int64_t heads = q.size(1), queries = q.size(2), keys = from.keys.size(2), group = heads / core.kv_heads;
  WindowAttentionOptions options{.window = choice.window,
                                 .dilation = choice.dilation,
                                 .causal = core.causal,
                                 .mask = pass.mask,
                                 .dropout = core.dropout.p,
                                 .training = core.dropout.training};
  for (int64_t t = 0; t < std::min(choice.global_tokens, keys); ++t) options.global_tokens.push_back(t);
  if (pass.weights) {
    *pass.weights = window_weights(q, from, options, window_mask(queries, keys, choice, core.causal));
  }
  if (group == 1) return sliding_window_attention(q, from.keys, from.values, options);
  // Query heads that share a head of keys become an axis over which the keys broadcast.
  const auto grouped = [&](const Tensor& x) {
    return x.reshape(
        {x.size(0), x.size(1) == 1 ? 1 : x.size(1) / group, x.size(1) == 1 ? 1 : group, x.size(2), x.size(3)});
  };
  if (options.mask.defined() && options.mask.dim() == 4) options.mask = grouped(options.mask);
  const Tensor k = from.keys.unsqueeze(2), v = from.values.unsqueeze(2);
  return sliding_window_attention(grouped(q), k, v, options).flatten(1, 2);
}

}  // namespace

Tensor split_heads(const Tensor& x, int64_t heads) {
  return x.reshape({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}

Tensor join_heads(const Tensor& x) { return x.transpose(1, 2).reshape({x.size(0), x.size(2), x.size(1) * x.size(3)}); }

Tensor AttentionCore::query_heads(const Tensor& q, const AttentionPass& pass) const {
  return apply_rope(split_heads(q, heads), pass.positions);
}

KeysAndValues AttentionCore::kv_heads_of(const Tensor& k, const Tensor& v, const AttentionPass& pass) const {
  KeysAndValues fresh{apply_rope(split_heads(k, kv_heads), pass.positions), split_heads(v, kv_heads)};
  return pass.cache ? pass.cache->append(pass.layer, fresh) : fresh;
}

Tensor AttentionCore::project_query(const Tensor& x, const AttentionPass& pass) const {
  return query_heads(query(x), pass);
}

KeysAndValues AttentionCore::project_kv(const Tensor& keys, const Tensor& values, const AttentionPass& pass) const {
  const Tensor k = key(keys);
  return kv_heads_of(k, value(values), pass);
}

Tensor AttentionCore::attend(const Tensor& q, const KeysAndValues& from, const AttentionPass& pass) const {
  return output(mixed(q, from, pass));
}

Tensor AttentionCore::self_attend(const Tensor& x, const AttentionPass& pass) const {
  const auto y = Weight::product_each(x, query, key, value);
  if (pass.each.empty()) return attend(query_heads(y[0], pass), kv_heads_of(y[1], y[2], pass), pass);
  std::vector<Tensor> rows;
  for (std::size_t b = 0; b < pass.each.size(); ++b) {
    const auto row = [b](const Tensor& t) { return narrow(t, 0, static_cast<int64_t>(b), 1); };
    const AttentionPass& alone = pass.each[b];
    rows.push_back(mixed(query_heads(row(y[0]), alone), kv_heads_of(row(y[1]), row(y[2]), alone), alone));
  }
  return output(cat(rows, 0));
}

Tensor AttentionCore::mixed(const Tensor& q, const KeysAndValues& from, const AttentionPass& pass) const {
  const int64_t queries = q.size(2), keys = from.keys.size(2);
  if (pass.vectors) *pass.vectors = {q.detach(), from.keys.detach()};
  if (choice.kind == AttentionKind::window) {
    require_no_scores(choice.kind, positions, pass);
    return join_heads(window_attention(q, from, *this, pass));
  }
  AttentionOptions options{.mask = pass.mask,
                           .causal = causal,
                           .dropout = dropout.p,
                           .training = dropout.training,
                           .enable_gqa = kv_heads != heads};
  if (causal && keys > queries) {  // earlier keys come from a cache
    options.causal = false;
    if (queries > 1) options.mask = restrict_mask(pass.mask, tril(ones({queries, keys}, kBool), keys - queries));
  }
  return join_heads(positioned_attention(q, from, options, positions, pass));
}

}  // namespace tapegrad::nn::detail
