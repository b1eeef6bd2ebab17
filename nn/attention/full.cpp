// Full attention: every query attends to every key, with what positions add to the scores.
#include <tapegrad/autograd/internal/mask_check.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/attention/detail/form.h>

#include <cmath>

namespace tapegrad::nn {

namespace {

// What is added to the scores: `bias` where `mask` allows it, -inf elsewhere; a floating mask is added, too.
Tensor add_mask(const Tensor& bias, const Tensor& mask) {
  if (!mask.defined()) return bias;
  require_mask_of_scores("attention", mask);
  return mask.dtype() == kBool ? where(mask, bias, detail::kHidden) : bias + mask;
}

// With positions that change the values the weights are needed on the tape, so nothing is fused.
Tensor composed_attention(const AttentionInputs& in, const AttentionOptions& options, double scale) {
  const Tensor& q = in.queries;
  Tensor added = options.mask;
  if (options.causal) {
    const int64_t queries = q.size(2), seen = in.from.keys.size(2);
    added = add_mask(added, tril(ones({queries, seen}, kBool), std::max<int64_t>(0, seen - queries)));
  }
  Tensor keys = detail::shared_heads(in.from.keys, q.size(1));
  Tensor values = detail::shared_heads(in.from.values, q.size(1));
  const Tensor seen_nan = detail::without_hidden_nan(keys, values, eq(added.detach(), detail::kHidden));
  Tensor scores = matmul(q, keys.t()) * scale + added;  // [B, H, T, S]
  if (seen_nan.defined()) scores = scores * seen_nan;
  const Tensor w = softmax(scores, -1);
  if (in.pass.weights) *in.pass.weights = w.detach();
  const Tensor kept = dropout(w, options.dropout, options.training, options.generator);
  return matmul(kept, values) + in.positions.values(kept, in.pass.positions);
}

// The options without positions. In decoding, earlier keys come from a cache.
AttentionOptions options_of(const AttentionInputs& in) {
  return {.mask = in.pass.mask,
          .causal = in.causal,
          .dropout = in.dropout.p,
          .training = in.dropout.training,
          .enable_gqa = in.from.keys.size(1) != in.queries.size(1)};
}

class Full final : public CopiedForm<Full> {
 public:
  Tensor attend(const AttentionInputs& in) const override {
    const Tensor &q = in.queries, &keys = in.from.keys, &values = in.from.values;
    const PositionBias* const positions = in.pass.positions;
    AttentionOptions options = options_of(in);
    const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
    if (positions && positions->bias.defined()) options.mask = add_mask(positions->bias, options.mask);
    if (in.positions.defined()) {
      options.mask = add_mask(in.positions.scores(q, keys.size(2), scale, positions), options.mask);
    }
    if (in.positions.changes_values()) return composed_attention(in, options, scale);
    if (!in.pass.weights) return scaled_dot_product_attention(q, keys, values, options);
    auto [y, w] = attention_with_weights(q, keys, values, options);
    *in.pass.weights = w.detach();
    return y;
  }
};

}  // namespace

struct FullAttention {
  AttentionTraits traits() const { return {.name = "full", .scores = true, .grouped = true}; }
  void list(Fields&) {}
  std::unique_ptr<AttentionForm> make(const AttentionSizes&) const { return std::make_unique<Full>(); }
};

template AttentionChoice default_form<FullAttention>();

}  // namespace tapegrad::nn
