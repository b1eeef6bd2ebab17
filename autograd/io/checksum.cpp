// The only file that includes xxHash.
// build: -O3
#include <tapegrad/autograd/io/internal/checksum.h>
#include <xxhash.h>

namespace tapegrad {

uint64_t checksum(std::span<const std::byte> bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace tapegrad
