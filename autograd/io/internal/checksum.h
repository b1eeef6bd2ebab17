// The checksum of files: XXH3, 64 bits.
#pragma once

#include <tapegrad/autograd/compiler.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tapegrad {

/// XXH3_64bits_withSeed of the bytes (https://xxhash.com). It detects damage, not deliberate changes.
uint64_t checksum(std::span<const std::byte> bytes, uint64_t seed = 0);

}  // namespace tapegrad
