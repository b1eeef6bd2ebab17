// What the file formats of arrays have in common: conversion of element types that tensors do not have, and checks of a
// file's contents.
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
// The element types that are read as they are, and those that are converted (float16 and bfloat16 to float32).
std::span<const FileType> file_types();

// Computes the number of bytes of an array from its shape, axis by axis.
class BytesOfShape {
 public:
  explicit BytesOfShape(uint64_t element) : count_(element) {}
  // False if the array may be too large for int64: above 2^62 bytes, at 16 bytes per element and with sizes of 0 as 1.
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
