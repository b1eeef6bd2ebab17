// Inputs for tests of attention for long sequences.
#pragma once

#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/kv_cache.h>
#include <tapegrad/nn/mask.h>
#include <tapegrad/tests/support/near.h>

#include <algorithm>
#include <functional>
#include <utility>
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
void expect_same_from_a_cache(const auto& attention, const Tensor& x, const Tensor& mask,
                              const std::vector<int64_t>& lengths, nn::KVCache& cache) {
  const Tensor whole = attention(x, mask);
  int64_t start = 0;
  for (const int64_t length : lengths) {
    const Tensor seen = mask.defined() ? narrow(mask, -1, 0, start + length) : mask;
    const Tensor y = attention(narrow(x, 1, start, length), {.mask = seen, .cache = &cache});
    cache.advance(length);
    EXPECT_LE(largest_difference(y, narrow(whole, 1, start, length)), 1e-13);
    start += length;
  }
}

using Attend = std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v)>;

// NaN and infinities in keys and values from `first` on have no influence on results and gradients of so many queries,
// by default those before. `results`: how many of y, dq, dk and dv are compared; where later queries see these keys,
// all keys have their NaN. Without q, the queries are the keys.
inline void expect_hidden_from(int64_t first, const Attend& attend, const Shape& shape, const Tensor& q,
                               std::size_t results, int64_t queries = -1) {
  if (queries < 0) queries = first;
  const Tensor k = randn(shape), v = randn(shape), late = (arange(shape[-2]) >= first).unsqueeze(1);
  const Tensor broken = where(arange(shape[-1]) == 1, kNan, full({shape[-1]}, kInf));
  const auto run = [&](const Tensor& in_keys, const Tensor& in_values) {
    const Tensor a = (q.defined() ? q : where(late, in_keys, k)).as_leaf();
    const Tensor b = where(late, in_keys, k).as_leaf(), c = where(late, in_values, v).as_leaf();
    Tape tape;
    const Tensor y = narrow(attend(a, b, c), -2, 0, queries);
    const Gradients g = tape.backward(sum(y * y));
    std::vector<Tensor> all{y.detach()};
    if (const Tensor* const grad = g.find(a)) all.push_back(narrow(*grad, -2, 0, queries));
    for (const Tensor& x : {b, c})
      if (const Tensor* const grad = g.find(x)) all.push_back(narrow(*grad, -2, 0, first));
    return all;
  };
  const Tensor none = scalar(0);
  const std::vector<Tensor> expected = run(none, none);
  for (const auto& [keys, values] : {std::pair{broken, none}, {none, broken}, {broken, broken}}) {
    const std::vector<Tensor> found = run(keys, values);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < std::min(results, found.size()); ++i)
      EXPECT_LE(largest_difference(found[i], expected[i]), 1e-5) << i;
  }
}

}  // namespace tapegrad::tests
