// float16: 5 bits of exponent and 10 of fraction, for weights that are only read.
#pragma once

#include <bit>
#include <cstdint>

namespace tapegrad {

/// Exact. NaN keeps its sign and the bits of its fraction, and becomes quiet, as by the processor's instruction.
inline float widen_float16(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16, rest = h & 0x7fff;
  if (rest < 0x400) return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(static_cast<float>(rest) * 0x1p-24F));
  if (rest < 0x7c00) return std::bit_cast<float>(sign | ((rest << 13) + 0x38000000));
  return std::bit_cast<float>(sign | rest << 13 | 0x7f800000 | (rest > 0x7c00 ? 0x400000 : 0));
}

/// To the nearest value, ties to even; infinity from 65520 on. NaN as above.
inline uint16_t round_to_float16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x), rest = bits & 0x7fffffff;
  const auto with_sign = [bits](uint32_t half) { return static_cast<uint16_t>((bits >> 16 & 0x8000) | half); };
  if (rest > 0x7f800000) return with_sign(0x7e00 | (rest >> 13 & 0x3ff));
  if (rest >= 0x47800000) return with_sign(0x7c00);  // 2^16 or more
  if (rest < 0x38800000) {                           // below 2^-14: the addition rounds to multiples of 2^-24
    return with_sign(std::bit_cast<uint32_t>(std::bit_cast<float>(rest) + 0.5F) - 0x3f000000);
  }
  return with_sign((rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13);
}

/// n values, on several threads.
void widen_float16(const uint16_t* x, int64_t n, float* y);
void round_to_float16(const float* x, int64_t n, uint16_t* y);

}  // namespace tapegrad
