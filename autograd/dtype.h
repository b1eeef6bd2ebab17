// The four element types of a tensor.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace tapegrad {

// In order of promotion: an operation on two types computes in the later one.
enum class DType : std::uint8_t { boolean, int64, float32, float64 };

inline constexpr DType kBool = DType::boolean;
inline constexpr DType kInt64 = DType::int64;
inline constexpr DType kFloat32 = DType::float32;
inline constexpr DType kFloat64 = DType::float64;

// Bytes of one element.
constexpr std::int64_t item_size(DType dtype) { return dtype == DType::boolean ? 1 : dtype == DType::float32 ? 4 : 8; }

constexpr bool is_floating(DType dtype) { return dtype >= DType::float32; }

// "bool", "int64", "float32", "float64".
std::string_view name(DType dtype);

// The DType of a C++ type, an error at compile time for any other type.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) {
    return DType::boolean;
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return DType::int64;
  } else if constexpr (std::is_same_v<T, float>) {
    return DType::float32;
  } else {
    static_assert(std::is_same_v<T, double>, "tensors hold bool, int64_t, float or double");
    return DType::float64;
  }
}

// Calls f(T{}) with the C++ type of `dtype`; floating types only in the second form.
template <class F>
decltype(auto) with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::boolean: return f(bool{});
    case DType::int64: return f(std::int64_t{});
    case DType::float32: return f(float{});
    default: return f(double{});
  }
}
template <class F>
decltype(auto) with_floating_type(DType dtype, F&& f) {
  return dtype == DType::float32 ? f(float{}) : f(double{});
}

}  // namespace tapegrad
