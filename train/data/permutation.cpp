#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/train/data/internal/permutation.h>

#include <cmath>

namespace tapegrad::data {
namespace {

// The output function of SplitMix64 (Steele, Lea and Flood 2014).
constexpr uint64_t mixed_bits(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

// A number below `bound`, which is less than 2^32, from 64 random bits.
constexpr uint64_t scaled(uint64_t bits, uint64_t bound) { return (bits >> 32) * bound >> 32; }

}  // namespace

Permutation::Permutation(int64_t size, uint64_t seed) : size_(static_cast<uint64_t>(size)), base_(1) {
  constexpr int64_t kMost = int64_t{1} << 62;
  if (size < 0 || size > kMost) fail("permutation", fmt::format("expected size in [0, {}], got {}", kMost, size));
  base_ = static_cast<uint64_t>(std::sqrt(static_cast<double>(size_)));
  while (base_ * base_ < size_) ++base_;
  for (uint64_t& key : keys_) key = mixed_bits(seed += 0x9e3779b97f4a7c15u);
}

int64_t Permutation::operator()(int64_t i) const {
  auto at = static_cast<uint64_t>(i);
  do {
    uint64_t left = at / base_, right = at % base_;
    for (const uint64_t key : keys_) {
      uint64_t sum = left + scaled(mixed_bits(right ^ key), base_);
      if (sum >= base_) sum -= base_;
      left = right;
      right = sum;
    }
    at = left * base_ + right;
  } while (at >= size_);  // base_^2 may be larger than the size: go on until the value is within
  return static_cast<int64_t>(at);
}

}  // namespace tapegrad::data
