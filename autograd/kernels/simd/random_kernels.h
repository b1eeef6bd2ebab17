// The inner loops of random.cpp, on Mersenne Twister words before tempering.
#pragma once

#include <array>
#include <cstdint>

namespace tapegrad::detail {

/// Byte j (in memory) of entry b is bit j of b.
inline constexpr std::array<uint64_t, 256> kBytesOfBits = [] {
  std::array<uint64_t, 256> table{};
  for (uint64_t b = 0; b < 256; ++b) {
    for (int j = 0; j < 8; ++j) table[b] |= (b >> j & 1) << (8 * j);
  }
  return table;
}();

/// Replaces a block of 624 words by the next block. `words` must have space for 640.
void mt_refill(uint32_t* words);

/// out[i] = u * range + from in one rounding, u the low 24 bits of tempered word i as a fraction.
void mt_uniform(const uint32_t* words, int64_t n, float from, float range, float* out);

/// keep[i]: the low 53 bits of the tempered words 2i (high half) and 2i + 1 are less than `threshold` <= 2^53.
void mt_keep(const uint32_t* words, int64_t n, uint64_t threshold, uint8_t* keep);

/// out[i] = factor * fixed::log(1 - u[i]), to the bit, for 0 <= u[i] < 1.
void exponential_numbers(const double* u, int64_t n, double factor, float* out);

/// x [blocks, 16] in place: uniform numbers become normal ones; elements j and j + 8 of a block are a pair.
void box_muller(float* x, int64_t blocks, float mean, float std);

}  // namespace tapegrad::detail
