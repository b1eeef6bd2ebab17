// Inputs for tests of attention for long sequences.
#pragma once

#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/mask.h>

namespace tapegrad::tests {

inline Tensor leaf(const Shape& shape, DType dtype = kFloat64) { return randn(shape, dtype).as_leaf(); }

// The mask of three sequences: the second one ends early, the third one is all padding.
inline Tensor padding(int64_t length) {
  Tensor ids = ones({3, length}, kInt64);
  for (int64_t t = 0; t < length; ++t) {
    ids.mutable_data<int64_t>()[length + t] = t < length / 2;
    ids.mutable_data<int64_t>()[2 * length + t] = 0;
  }
  return nn::padding_mask(ids);
}

}  // namespace tapegrad::tests
