// The checksum of files.h over bytes that come in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tapegrad::train {

class Checksum {
 public:
  // Of so many bytes in all.
  explicit Checksum(uint64_t bytes, uint64_t seed = 0) : sum_(seed ^ 0x9e3779b97f4a7c15u ^ bytes) {}
  void add(std::span<const std::byte> bytes);
  uint64_t value();  // once all are added

 private:
  void take(uint64_t word);
  uint64_t sum_;
  std::byte held_[8] = {};  // the start of a word
  std::size_t held_bytes_ = 0;
};

}  // namespace tapegrad::train
