// Braced lists of numbers, as they are written in a program: the argument of tensor().
#pragma once

#include <tapegrad/autograd/scalar.h>

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
        number_(number),
        is_number_(true) {}

  /// false for a list
  bool is_number() const { return is_number_; }
  /// The type of a number; float32 for any floating-point type.
  DType dtype() const { return dtype_; }
  const Scalar& number() const { return number_; }
  std::initializer_list<Literal> list() const { return list_; }

 private:
  std::initializer_list<Literal> list_;
  DType dtype_ = kBool;
  Scalar number_ = 0;
  bool is_number_ = false;
};

}  // namespace tapegrad
