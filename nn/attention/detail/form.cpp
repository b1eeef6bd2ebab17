// What forms of attention share.
#include <fmt/format.h>
#include <tapegrad/autograd/mask_check.h>
#include <tapegrad/nn/attention/detail/form.h>

namespace tapegrad::nn::detail {

Tensor restrict_mask(const Tensor& mask, const Tensor& allowed) {
  if (!mask.defined()) return allowed;
  require_mask_of_scores("attention", mask);
  return mask.dtype() == kBool ? mask && allowed : where(allowed, mask, kHidden);
}

Tensor mask_of_keys(std::string_view where, const Tensor& mask) {
  if (!mask.defined()) return mask;
  const bool of_keys = mask.dtype() == kBool && mask.dim() >= 1 && (mask.dim() == 1 || mask.size(-2) == 1);
  if (!of_keys) {
    fail(where, fmt::format("expected a bool mask of keys, [..., 1, S] as padding_mask gives, got {} {}",
                            name(mask.dtype()), str(mask.shape())));
  }
  return mask.dim() == 1 ? mask.unsqueeze(0) : mask;
}

Tensor shared_heads(const Tensor& x, int64_t heads) {
  if (x.size(1) == heads) return x;
  return x.unsqueeze(2).expand({x.size(0), x.size(1), heads / x.size(1), x.size(2), x.size(3)}).flatten(1, 2);
}

}  // namespace tapegrad::nn::detail
