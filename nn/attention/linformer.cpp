// Linformer: keys and values are projected along the length.
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/attention/detail/form.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/linformer.h>

#include <cmath>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kLinformer = "linformer_attention";
constexpr std::string_view kLinformerModule = "linformer_self_attention";
constexpr std::string_view kMixes = "each projected key mixes all positions";

// x [..., S, D] -> p x, [..., K, D], with the first S columns of p.
Tensor project(const Tensor& p, const Tensor& x, std::string_view what) {
  const bool fits = (p.dim() == 2 || (p.dim() == 3 && x.dim() >= 3 && p.size(0) == x.size(-3))) &&
                    p.size(-1) >= x.size(-2) && p.dtype() == x.dtype();
  if (!fits) {
    fail(kLinformer, "expected {} [K, S] or [heads, K, S] in {} with S of at least {}, got {} {} for {}", what,
         x.dtype(), x.size(-2), p.dtype(), p.shape(), x.shape());
  }
  const Tensor used = narrow(p, -1, 0, x.size(-2));
  return einsum(p.dim() == 2 ? "ks,...sd->...kd" : "hks,...hsd->...hkd", {used, x});
}

class Linformer final : public CopiedForm<Linformer> {
 public:
  Linformer(const LinformerAttention& options, const AttentionSizes& sizes)
      : e_(projection(options, sizes)), f_(options.share_kv ? Parameter() : projection(options, sizes)) {}

  Tensor attend(const AttentionInputs& in) const override {
    const auto& [keys, values] = in.from;
    const Tensor& of_values = f_.defined() ? f_ : e_;
    LinformerOptions options{.mask = in.pass.mask, .dropout = in.dropout.p, .training = in.dropout.training};
    const Tensor y = linformer_attention(in.queries, keys, values, e_, of_values, options);
    if (in.pass.weights) {
      options.dropout = 0;
      *in.pass.weights = detail::implied_weights(values, [&](const Tensor& units) {
        return linformer_attention(in.queries, in.from.keys, units, e_, of_values, options);
      });
    }
    return y;
  }
  std::string_view no_cache() const override { return "each projected key mixes all positions, including later ones"; }
  void walk(Visitor& field) override {
    field("E", e_);
    field("F", f_);
  }

 private:
  static Parameter projection(const LinformerAttention& options, const AttentionSizes& sizes) {
    const int64_t length = options.length > 0 ? options.length : sizes.length;
    require_positive("attention_choice", "the longest input of linformer attention", length);
    Parameter p(options.per_head ? init::blank({sizes.heads, options.rank, length})
                                 : init::blank({options.rank, length}));
    init::normal(p, 0, 1 / std::sqrt(static_cast<double>(options.rank)));
    return p;
  }

  Parameter e_, f_;  // [K, S], or [heads, K, S]; f_ may be none
};

}  // namespace

Tensor linformer_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& e,
                           const Tensor& f, const LinformerOptions& options) {
  require_floating(kLinformer, {&query, &key, &value});
  if (options.causal) fail(kLinformer, "Linformer cannot be causal: {}", kMixes);
  require(key.dim() >= 2 && value.dim() >= 2, kLinformer, "expected key and value [..., S, D], got {} and {}",
          key.shape(), value.shape());
  Tensor k = key, v = value;
  if (const Tensor mask = detail::mask_of_keys(kLinformer, options.mask); mask.defined()) {
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

AttentionTraits LinformerAttention::traits() const {
  return {.name = "linformer",
          .help = "projected keys (encoder only)",
          .nested = true,
          .not_causal = kMixes,
          .keys_per_query = rank,
          .longest_input = length};
}

void LinformerAttention::list(Fields& f) {
  f.add("linformer_rank", "linformer: number of projected keys", rank, kPositive);
  f.add("linformer_per_head", "linformer: separate projections for each head", per_head);
}

void LinformerAttention::check() const {
  if (length < 0) fail("attention_choice", "expected length > 0, or 0 for the model's, got {}", length);
}

std::unique_ptr<AttentionForm> LinformerAttention::make(const AttentionSizes& sizes) const {
  return std::make_unique<Linformer>(*this, sizes);
}

namespace {

SelfAttentionConfig config_of(const LinformerConfig& c) {
  return detail::self_attention(
      c, LinformerAttention{.rank = c.projected, .per_head = !c.share_heads, .share_kv = c.share_kv});
}

}  // namespace

void LinformerConfig::check() const {
  require_positive(kLinformerModule, "context_length", context_length);
  require_positive(kLinformerModule, "projected", projected);
  config_of(*this).check(kLinformerModule);
}

LinformerSelfAttention::LinformerSelfAttention(const LinformerConfig& c)
    : MultiHeadAttention(config_of(checked(c)), Alone{kLinformerModule}) {}

template AttentionChoice default_form<LinformerAttention>();

}  // namespace tapegrad::nn
