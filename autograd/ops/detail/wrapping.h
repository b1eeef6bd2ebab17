// Sums and products whose integers wrap around.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tapegrad {

/// a + b and a * b, of int64 modulo 2^64, as unsigned numbers are added and multiplied; of other types as usual.
template <class T>
constexpr T wrapping_sum(T a, T b) {
  if constexpr (std::is_same_v<T, int64_t>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return static_cast<T>(a + b);
}
template <class T>
constexpr T wrapping_product(T a, T b) {
  if constexpr (std::is_same_v<T, int64_t>)
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return static_cast<T>(a * b);
}

}  // namespace tapegrad
