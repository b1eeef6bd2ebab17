// The words that all random numbers are made of.
#pragma once

#include <tapegrad/autograd/compiler.h>

#include <cstdint>

namespace tapegrad {

/// The Mersenne Twister MT19937 (Matsumoto and Nishimura 1998), seeded by init_genrand.
/// The words are made a block at a time; `words` and `next` are its whole state.
struct Mt19937 {
  static constexpr int kWords = 624;  ///< of the state

  explicit Mt19937(uint32_t seed);
  uint32_t operator()() {
    if (next == kWords) refill();
    uint32_t y = words[next++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }
  /// Makes the next block and sets `next` to its start.
  void refill();
  /// False for the degenerate all-zero state (apart from the low bits of words[0]), which no seed produces.
  bool is_seeded() const;

  alignas(64) uint32_t words[kWords + 16];  // untempered; the last 16 are room for the kernel
  int next = kWords;                        ///< index of the next word to return; kWords: make a new block first
};

}  // namespace tapegrad
