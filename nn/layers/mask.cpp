// Masks for attention.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/detail/check.h>
#include <tapegrad/nn/mask.h>

namespace tapegrad::nn {

Tensor padding_mask(const Tensor& ids, int64_t padding) {
  if (ids.dim() != 2 || ids.dtype() != kInt64) fail_ids("padding_mask", "[B, S]", ids);
  return ne(ids, static_cast<double>(padding)).reshape({ids.size(0), 1, 1, ids.size(1)});
}

Tensor causal_mask(int64_t length) {
  require_positive("causal_mask", "the length", length);
  const Tensor mask = Tensor::empty({length, length}, kBool);
  bool* cell = mask.mutable_data<bool>();
  for (int64_t t = 0; t < length; ++t) {
    for (int64_t s = 0; s < length; ++s) *cell++ = s <= t;
  }
  return mask;
}

}  // namespace tapegrad::nn
