// A setting for the spatial axes of an image or signal: one number for all axes, or one per axis.
#pragma once

#include <tapegrad/autograd/error.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace tapegrad {

/// `3` for all spatial axes, `{3, 5}` for height and width.
template <class T>
class PerAxis {
 public:
  PerAxis() = default;                         ///< left out
  PerAxis(T all) : values_{all}, count_(1) {}  // NOLINT: .stride = 2 is meant to work
  PerAxis(std::initializer_list<T> values) {
    for (const T value : values) {
      if (count_ < kMost) values_[count_] = value;
      ++count_;
    }
  }

  /// false for a default value, which stands for what the operation says
  bool given() const { return count_ > 0; }
  /// the number for this axis, unchecked
  T operator[](int axis) const { return values_[count_ == 1 ? 0 : axis]; }
  /// Error "[where] ..." unless there is one number, or one for each of `axes` axes.
  void require_axes(std::string_view where, std::string_view name, int axes) const {
    if (count_ == 1 || count_ == axes) return;
    fail(where, "expected " + std::string(name) + " as one number" +
                    (axes > 1 ? " or " + std::to_string(axes) + " numbers" : "") + ", got " + std::to_string(count_));
  }

 private:
  static constexpr int kMost = 3;
  T values_[kMost] = {};
  int count_ = 0;
};

}  // namespace tapegrad
