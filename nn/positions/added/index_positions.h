// Positions added as numbers. Tutorial 003, section 8.3.1.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad::nn {

/// x [..., T, C] plus the position itself, start .. start + T - 1, in every element. Layer normalisation of the result
/// removes it again, because it subtracts the mean: a model that normalises next does not know the order.
Tensor add_index(const Tensor& x, int64_t start = 0);

}  // namespace tapegrad::nn
