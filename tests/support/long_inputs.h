// Inputs for tests of attention for long sequences.
#pragma once

#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/kv_cache.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tests/support/near.h>

#include <vector>

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

// Expects that attention in parts of these lengths, with a cache, gives what it gives at once.
void expect_same_from_a_cache(const auto& attention, const Tensor& x, const Tensor& mask, const Tensor& whole,
                              const std::vector<int64_t>& lengths, nn::KVCache& cache) {
  int64_t start = 0;
  for (const int64_t length : lengths) {
    const Tensor seen = mask.defined() ? narrow(mask, -1, 0, start + length) : mask;
    const Tensor y = attention(narrow(x, 1, start, length), {.mask = seen, .cache = &cache});
    cache.advance(length);
    EXPECT_LE(largest_difference(y, narrow(whole, 1, start, length)), 1e-13);
    start += length;
  }
}

}  // namespace tapegrad::tests
