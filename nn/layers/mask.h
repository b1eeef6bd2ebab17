// Masks for attention: boolean, true marks positions that may be attended to.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad::nn {

/// ids [B, S] -> [B, 1, 1, S]: hides the keys that are padding from every head and every query.
Tensor padding_mask(const Tensor& ids, int64_t padding = 0);
/// [T, T]: position t attends to 0 .. t.
Tensor causal_mask(int64_t length);

}  // namespace tapegrad::nn
