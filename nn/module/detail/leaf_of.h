// A leaf of a tensor's values.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad::nn::detail {

// A floating tensor becomes a leaf; ids and masks stay as they are.
inline Tensor leaf_of(const Tensor& values) { return is_floating(values.dtype()) ? values.as_leaf() : values; }

}  // namespace tapegrad::nn::detail
