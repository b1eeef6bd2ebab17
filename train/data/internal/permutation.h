// A random permutation of any size that takes no memory: each value is computed when it is needed.
#pragma once

#include <tapegrad/autograd/compiler.h>

#include <array>
#include <cstdint>

namespace tapegrad::data {

/// A permutation of 0 ... size - 1 for each `seed`. It is a Feistel network of eight rounds over pairs of digits in
/// the base ceil(sqrt(size)) (Black and Rogaway 2002, "Ciphers with arbitrary finite domains": generalized Feistel and
/// cycle walking). The same size and seed give the same permutation on every machine and in every version.
class Permutation {
 public:
  /// Error for a negative size, and one above 2^62.
  Permutation(int64_t size, uint64_t seed);
  int64_t size() const { return static_cast<int64_t>(size_); }
  /// The value at position i, which must be in [0, size).
  int64_t operator()(int64_t i) const;

 private:
  static constexpr int kRounds = 8;
  uint64_t size_, base_;
  std::array<uint64_t, kRounds> keys_;
};

}  // namespace tapegrad::data
