// What the formats of arrays have in common: conversion of element types that tensors do not have, and checks of what a
// file says.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tapegrad {

// Converts n values at `from`, which need not be aligned, into tensors' values at `to`.
using ConvertElements = void (*)(const std::byte* from, int64_t n, void* to);

template <class From, class To>
void widen(const std::byte* from, int64_t n, void* to) {
  for (int64_t i = 0; i < n; ++i) {
    From value;
    std::memcpy(&value, from + static_cast<std::size_t>(i) * sizeof value, sizeof value);
    static_cast<To*>(to)[i] = static_cast<To>(value);
  }
}

inline float from_half(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16, exponent = h >> 10 & 31, fraction = h & 1023;
  if (exponent == 0) return (sign ? -1.0f : 1.0f) * static_cast<float>(fraction) * 0x1p-24f;
  const uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

template <float (*F)(uint16_t)>
void widen_with(const std::byte* from, int64_t n, void* to) {
  for (int64_t i = 0; i < n; ++i) {
    uint16_t value;
    std::memcpy(&value, from + 2 * i, sizeof value);
    static_cast<float*>(to)[i] = F(value);
  }
}

// The bytes of an array by its shape, axis by axis.
class BytesOfShape {
 public:
  explicit BytesOfShape(uint64_t element) : count_(element) {}
  // False if 64 bits do not hold the number, also with axes of size 0 counted as 1, in elements of any type.
  bool add_axis(uint64_t size);
  uint64_t count() const { return count_; }

 private:
  uint64_t count_, extent_ = 16;
};

// The first element with bytes that its type does not have: a bool other than 0 and 1, or with `was_unsigned` an
// integer that was 2^63 or more in the file. -1: there is none.
int64_t first_wrong_element(const Tensor& contiguous, bool was_unsigned);
// Element i of a contiguous bool tensor as a byte.
int byte_at(const Tensor& contiguous, int64_t i);

}  // namespace tapegrad
