// Performer: softmax attention estimated with positive orthogonal random features.
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/linalg.h>
#include <tapegrad/autograd/long_attention.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/attention/detail/form.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/performer.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kPerformer = "performer_attention";
constexpr std::string_view kFeatures = "orthogonal_features";
constexpr std::string_view kPerformerModule = "performer_self_attention";

int64_t feature_count(const PerformerAttention& options, int64_t head_dim) {
  const auto d = static_cast<double>(head_dim);
  return options.features > 0 ? options.features
                              : std::max<int64_t>(1, static_cast<int64_t>(std::ceil(d * fixed::log(d))));
}

class Performer final : public CopiedForm<Performer> {
 public:
  Performer(int64_t count, int64_t head_dim)
      : features_(init::Skip::on() ? zeros({count, head_dim}) : orthogonal_features(count, head_dim)) {}

  Tensor attend(const AttentionInputs& in) const override {
    const PerformerOptions options{.mask = in.pass.mask, .causal = in.causal};
    const auto attend = [&](const Tensor& values) {
      return performer_attention(in.queries, in.from.keys, values, features_, options);
    };
    const Tensor y = attend(in.from.values);
    if (in.pass.weights) *in.pass.weights = detail::implied_weights(in.from.values, attend);
    return y;
  }
  void redraw(Generator* generator) override {
    features_.set(orthogonal_features(features_->size(0), features_->size(1), features_->dtype(), generator));
  }
  void walk(Visitor& field) override { field("features", features_); }

 private:
  Buffer features_;  // [M, D]
};

void require_operands(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& features, bool causal) {
  require_floating(kPerformer, {&q, &k, &v, &features});
  const bool fit = q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2 && q.size(-1) == k.size(-1) && k.size(-2) == v.size(-2);
  require(fit, kPerformer, "expected query [..., T, D], key [..., S, D] and value [..., S, E], got {}, {} and {}",
          q.shape(), k.shape(), v.shape());
  if (features.dim() != 2 || features.size(0) == 0 || features.size(1) != q.size(-1)) {
    fail(kPerformer, "expected features [M, {}], got {}", q.size(-1), features.shape());
  }
  require(!causal || q.size(-2) <= k.size(-2), kPerformer,
          "causal attention expected at least as many keys as queries, got {} queries and {} keys", q.size(-2),
          k.size(-2));
}

// exp(x - the largest of each row), x [..., T, M].
Tensor exp_of_rows(const Tensor& x) { return exp(x - amax(x.detach(), -1, true)); }

// Sums over all keys, relative to the largest exponent of each feature over the keys.
Tensor sums_over_all(const Tensor& of_queries, const Tensor& of_keys, const Tensor& v) {
  const Tensor top = of_keys.size(-2) > 0 ? amax(of_keys.detach(), -2, true) : zeros({1, 1}, of_keys.dtype());
  const Tensor finite_top = masked_fill(top, eq(top, detail::kHidden), 0);  // all keys are masked
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
  const Tensor mask = detail::mask_of_keys(kPerformer, options.mask);
  const int64_t width = value.size(-1);
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, query.size(-1)))));
  if (!(scale >= 0)) fail(kPerformer, "expected a scale of at least 0, got {}", scale);
  const double root = std::sqrt(scale);

  // The exponents, and weighted values with the weights as one more column. NaN in a hidden key would spread: 0 NaN is
  // NaN.
  const auto seen = [&](const Tensor& x) { return mask.defined() ? masked_fill(x, logical_not(mask).t(), 0) : x; };
  const Tensor k = seen(key) * root;
  Tensor of_keys = linear(k, features) - sum(square(k), -1, true) / 2;  // [..., S, M]
  if (mask.defined()) of_keys = masked_fill(of_keys, logical_not(mask).t(), detail::kHidden);
  const Tensor of_queries = linear(query * root, features);  // |q|^2 / 2 cancels
  Shape one = value.shape();
  one[-1] = 1;
  const Tensor v = cat({seen(value), ones(one, value.dtype())}, -1);

  const Tensor sums = options.causal ? causal_sums(of_queries, of_keys, v) : sums_over_all(of_queries, of_keys, v);
  const Tensor total = narrow(sums, -1, width, 1);
  const double least =
      std::sqrt(total.dtype() == kFloat32 ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min());
  return narrow(sums, -1, 0, width) / masked_fill(total, lt(total, least), 1);
}

AttentionTraits PerformerAttention::traits() const {
  return {.name = "performer",
          .help = "random features",
          .nested = true,
          .keys_per_query = features > 0 ? features : AttentionTraits::kAll,
          .redraw_steps = redraw};
}

void PerformerAttention::list(Fields& f) {
  f.add("performer_features", "performer: number of random features", features, kNotNegative).special =
      "0: D log D for heads of size D";
  f.add({.name = "performer_redraw",
         .help = "performer: redraw the features every N steps",
         .group = "Training",
         .limits = kNotNegative,
         .special = "0: never"},
        redraw);
}

std::unique_ptr<AttentionForm> PerformerAttention::make(const AttentionSizes& sizes) const {
  return std::make_unique<Performer>(feature_count(*this, sizes.head_dim), sizes.head_dim);
}

namespace {

SelfAttentionConfig config_of(const PerformerConfig& c) {
  return detail::self_attention(c, PerformerAttention{.features = c.num_features});
}

}  // namespace

void PerformerConfig::check() const {
  if (num_features < 0) fail(kPerformerModule, "expected num_features > 0, or 0 for D log D, got {}", num_features);
  config_of(*this).check(kPerformerModule);
}

PerformerSelfAttention::PerformerSelfAttention(const PerformerConfig& c)
    : MultiHeadAttention(config_of(checked(c)), Alone{kPerformerModule}) {}

template AttentionChoice default_form<PerformerAttention>();

}  // namespace tapegrad::nn
