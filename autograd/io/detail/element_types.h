// What the formats of arrays have in common: conversion of element types that tensors do not have, and checks of what a
// file says.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tapegrad {

// Converts n values at `from`, which need not be aligned, into tensors' values at `to`.
using ConvertElements = void (*)(const std::byte* from, int64_t n, void* to);

// An element type of files, and what its tensors become.
struct FileType {
  std::string_view safetensors, numpy;  // its names; empty: that format does not have it
  std::size_t size;
  DType becomes;
  ConvertElements convert;  // nullptr: the bytes as they are
};
// Those of tensors, except the halves, and those that are converted.
std::span<const FileType> file_types();

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
