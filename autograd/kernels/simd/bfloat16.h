// bfloat16: float32 without its last 16 bits, for weights that are only read.
#pragma once

#include <bit>
#include <cstdint>

namespace tapegrad {

inline float widen_bfloat16(uint16_t b) { return std::bit_cast<float>(static_cast<uint32_t>(b) << 16); }

/// To the nearest value, ties to even; a NaN becomes PyTorch's, 0x7fc0.
inline uint16_t round_to_bfloat16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if (x != x) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// n values, on several threads.
void widen_bfloat16(const uint16_t* x, int64_t n, float* y);
void round_to_bfloat16(const float* x, int64_t n, uint16_t* y);

}  // namespace tapegrad
