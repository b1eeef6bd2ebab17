// A dropout mask that backward keeps, with one bit per element.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

class Generator;

/// The factor of the elements that dropout keeps, rounded as in PyTorch.
template <class T>
inline T dropout_factor(double keep_probability) {
  return T{1} / static_cast<T>(keep_probability);
}

class PackedDropoutMask {
 public:
  PackedDropoutMask() = default;  // no mask: every element is kept
  /// Samples `count` elements, each kept with probability `keep`, as Generator::keep_mask does; keep = 0: no samples.
  PackedDropoutMask(int64_t count, double keep, Generator& generator);

  explicit operator bool() const { return static_cast<bool>(bits_); }
  /// Writes the elements first .. first + count - 1.
  void unpack(int64_t first, int64_t count, bool* out) const;
  Tensor unpack(const Shape& shape) const;  ///< all of them, bool

 private:
  Storage bits_;
};

}  // namespace tapegrad
