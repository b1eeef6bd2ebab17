// What forms of attention share.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/mask_check.h>
#include <tapegrad/nn/attention/detail/form.h>

namespace tapegrad::nn::detail {

Tensor restrict_mask(const Tensor& mask, const Tensor& allowed) {
  if (!mask.defined()) return allowed;
  require_mask_of_scores("attention", mask);
  return mask.dtype() == kBool ? mask && allowed : where(allowed, mask, kHidden);
}

Tensor without_hidden_nan(Tensor& keys, Tensor& values, const Tensor& hidden) {
  if (all_finite(keys) && all_finite(values)) return {};
  const auto broken = [](const Tensor& x) { return logical_not(isfinite(x.detach())); };
  const Tensor rows = logical_or(any(broken(keys), -1, true), any(broken(values), -1, true));  // [..., S, 1]
  const Tensor seen = any(logical_and(rows.t(), logical_not(hidden)), -1, true);
  keys = masked_fill(keys, broken(keys), 0), values = masked_fill(values, broken(values), 0);
  return where(seen, std::numeric_limits<double>::quiet_NaN(), ones(seen.shape(), keys.dtype()));
}

Tensor mask_of_keys(std::string_view where, const Tensor& mask) {
  if (!mask.defined()) return mask;
  const bool of_keys = mask.dtype() == kBool && mask.dim() >= 1 && (mask.dim() == 1 || mask.size(-2) == 1);
  require(of_keys, where, "expected a bool mask of keys, [..., 1, S] as padding_mask gives, got {} {}", mask.dtype(),
          mask.shape());
  return mask.dim() == 1 ? mask.unsqueeze(0) : mask;
}

Tensor shared_heads(const Tensor& x, int64_t heads) {
  if (x.size(1) == heads) return x;
  return x.unsqueeze(2).expand({x.size(0), x.size(1), heads / x.size(1), x.size(2), x.size(3)}).flatten(1, 2);
}

}  // namespace tapegrad::nn::detail
