// Additive attention as a composition of recorded operations.
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/additive.h>
#include <tapegrad/nn/attention/detail/form.h>
#include <tapegrad/nn/detail/check.h>

namespace tapegrad::nn {

namespace {

constexpr std::string_view kAdditive = "additive_attention";

int64_t positive_size(std::string_view name, int64_t size) {
  require_positive(kAdditive, name, size);
  return size;
}

void require_width(std::string_view name, std::string_view shape, const Tensor& x, int64_t width) {
  require(x.dim() == 3 && x.size(2) == width, kAdditive, "expected {} [B, {}, {}], got {}", name, shape, width,
          x.shape());
}

Tensor masked(const Tensor& scores, const Tensor& mask) {
  if (!mask.defined()) return scores;
  if (mask.dtype() == kBool) return masked_fill(scores, !mask, detail::kHidden);
  require_floating(kAdditive, {&mask});
  return scores + mask;
}

Tensor hidden_by(const Tensor& mask) { return mask.dtype() == kBool ? !mask : eq(mask.detach(), detail::kHidden); }

}  // namespace

AdditiveAttention::AdditiveAttention(int64_t query_size, int64_t key_size, int64_t hidden_size)
    : query(positive_size("query_size", query_size), positive_size("hidden_size", hidden_size), false),
      key(positive_size("key_size", key_size), hidden_size, false),
      score(hidden_size, 1, false) {}

AdditiveKeys AdditiveAttention::project(const Tensor& keys, const Tensor& values) const {
  require_width("keys", "S", keys, key.weight.size(1));
  if (values.defined() && (values.dim() != 3 || values.size(0) != keys.size(0) || values.size(1) != keys.size(1))) {
    fail(kAdditive, "expected values [{}, {}, V], as many as keys, got {}", keys.size(0), keys.size(1), values.shape());
  }
  return {key(keys), values.defined() ? values : keys};
}

Tensor AdditiveAttention::attend(const Tensor& q, const AdditiveKeys& from, const Tensor& mask, Tensor* weights) const {
  require_width("query", "T", q, query.weight.size(1));
  require(q.size(0) == from.keys.size(0), kAdditive, "expected as many queries as keys in the batch, got {} and {}",
          q.size(0), from.keys.size(0));
  Tensor keys = from.keys, values = from.values, seen_nan;
  if (mask.defined()) seen_nan = detail::without_hidden_nan(keys, values, hidden_by(mask));
  Tensor scores = score(tanh(query(q).unsqueeze(2) + keys.unsqueeze(1))).squeeze(-1);  // [B, T, S]
  if (mask.defined() && !broadcasts_to(mask.shape(), scores.shape())) {
    fail(kAdditive, "expected a mask that broadcasts to {}, got {}", scores.shape(), mask.shape());
  }
  if (seen_nan.defined()) scores = scores * seen_nan;
  const Tensor w = softmax(masked(scores, mask));
  if (weights != nullptr) *weights = w.detach();
  return matmul(w, values);
}

}  // namespace tapegrad::nn
