// Braced lists of numbers, as they are written in a program: the argument of tensor().
#pragma once

#include <tapegrad/autograd/dtype.h>

#include <cstdint>
#include <initializer_list>
#include <type_traits>

namespace tapegrad {

/// A number or a nested list of numbers, as in tensor({{1, 2}, {3, 4}}). Refers to the braced list, so it is valid only
/// as long as that is.
class Literal {
 public:
  Literal() = default;  // an empty list
  Literal(std::initializer_list<Literal> list) : list_(list) {}
  template <class T>
  requires std::is_arithmetic_v<T> Literal(T number)  // NOLINT: {1, 2} is a list of numbers
      : dtype_(std::is_same_v<T, bool> ? kBool
               : std::is_integral_v<T> ? kInt64
                                       : kFloat32),
        is_number_(true) {
    if constexpr (std::is_floating_point_v<T>) {
      floating_ = static_cast<double>(number);
    } else {
      integer_ = static_cast<int64_t>(number);
    }
  }

  /// false for a list
  bool is_number() const { return is_number_; }
  /// The type of a number; float32 for any floating-point type.
  DType dtype() const { return dtype_; }
  template <class T>
  T as() const {
    return dtype_ == kFloat32 ? static_cast<T>(floating_) : static_cast<T>(integer_);
  }
  std::initializer_list<Literal> list() const { return list_; }

 private:
  std::initializer_list<Literal> list_;
  double floating_ = 0;
  int64_t integer_ = 0;
  DType dtype_ = kBool;
  bool is_number_ = false;
};

}  // namespace tapegrad
