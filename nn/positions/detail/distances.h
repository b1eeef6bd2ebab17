// Tables of functions of the distance between query and key.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <cstdint>

namespace tapegrad::nn::detail {

// [queries, keys]: fill(distance) for every query, from position `start` on, and key; distance is the key's position
// minus the query's.
template <class T, class Fill>
Tensor by_distance(int64_t queries, int64_t keys, int64_t start, DType dtype, const Fill& fill) {
  const Tensor table = Tensor::empty({queries, keys}, dtype);
  T* cell = table.mutable_data<T>();
  for (int64_t t = start; t < start + queries; ++t) {
    for (int64_t s = 0; s < keys; ++s) *cell++ = fill(s - t);
  }
  return table;
}

}  // namespace tapegrad::nn::detail
