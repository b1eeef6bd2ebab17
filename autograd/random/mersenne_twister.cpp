// Seeding of the Mersenne Twister, and its blocks.
#include <tapegrad/autograd/kernels/simd/random_kernels.h>
#include <tapegrad/autograd/mersenne_twister.h>

#include <algorithm>

namespace tapegrad {

Mt19937::Mt19937(uint32_t seed) {
  words[0] = seed;
  for (uint32_t i = 1; i < kWords; ++i) words[i] = 1812433253u * (words[i - 1] ^ (words[i - 1] >> 30)) + i;
  std::fill(words + kWords, std::end(words), 0u);
}

void Mt19937::refill() {
  detail::mt_refill(words);
  next = 0;
}

bool Mt19937::is_seeded() const {
  // Of the first word, only the top bit takes part in what follows.
  return (words[0] >> 31) != 0 || std::any_of(words + 1, words + kWords, [](uint32_t w) { return w != 0; });
}

}  // namespace tapegrad
