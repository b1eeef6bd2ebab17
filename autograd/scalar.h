// A number next to a tensor, as it was written: x + 9007199254740993.
#pragma once

#include <tapegrad/autograd/dtype.h>

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

namespace tapegrad {

/// The number operand of an operation. It is made from any number without a name, and holds every int64 and every
/// double exactly: integer tensors compute with the integer, floating ones with the nearest double.
class Scalar {
 public:
  template <std::convertible_to<double> T>
  constexpr Scalar(T number) : value_(static_cast<double>(number)) {  // NOLINT: x * 2
    if constexpr (std::is_integral_v<T> && sizeof(T) >= sizeof(int64_t)) {
      if (std::is_unsigned_v<T> && number > static_cast<T>(INT64_MAX)) {
        rest_ = kBeyondInt64;
      } else {
        rest_ = static_cast<int64_t>(static_cast<uint64_t>(number) - whole_part(value_));
      }
    }
  }

  /// The nearest double.
  constexpr operator double() const { return value_; }  // NOLINT
  /// Whether it is a whole number that int64 holds.
  constexpr bool is_int64() const { return rest_ != 0 ? rest_ != kBeyondInt64 : holds(kInt64, value_); }
  /// An integer that int64 does not hold, 18446744073709551615u.
  constexpr bool is_beyond_int64() const { return rest_ == kBeyondInt64; }
  /// As an element of a tensor; integers lose a fraction. Unspecified if T is an integer type that does not hold it.
  template <class T>
  constexpr T as() const {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      return static_cast<T>(whole_part(value_) + static_cast<uint64_t>(rest_));
    } else {
      return static_cast<T>(value_);
    }
  }

 private:
  static constexpr int64_t kBeyondInt64 = INT64_MIN;

  // Modulo 2^64, of a number from -2^63 to 2^63.
  static constexpr uint64_t whole_part(double value) {
    return value >= 0x1p63 ? uint64_t{1} << 63 : static_cast<uint64_t>(static_cast<int64_t>(value));
  }

  double value_;
  int64_t rest_ = 0;  // of an integer: what value_ lacks
};

/// Whether an integer type holds the number; true for the other types.
constexpr bool holds(DType dtype, const Scalar& number) {
  return dtype == kInt64 ? number.is_int64() : holds(dtype, static_cast<double>(number));
}

/// With all digits.
std::string str(const Scalar& number);

}  // namespace tapegrad
