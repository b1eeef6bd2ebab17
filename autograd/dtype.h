// The element types of a tensor.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace tapegrad {

/// In order of promotion: an operation on two types computes in the one that comes later here (but see result_type in
/// tensor.h for tensors without axes). bfloat16 (float32
/// without its last 16 bits) only stores: linear() and embedding() accept bfloat16 weights, and views, copies and
/// Tensor::to() work on any tensor. Any other operation on bfloat16 is an Error, and none is recorded.
enum class DType : uint8_t { boolean, int64, bfloat16, float32, float64 };

inline constexpr DType kBool = DType::boolean;
inline constexpr DType kInt64 = DType::int64;
inline constexpr DType kBFloat16 = DType::bfloat16;
inline constexpr DType kFloat32 = DType::float32;
inline constexpr DType kFloat64 = DType::float64;

/// Bytes per element.
constexpr int64_t item_size(DType dtype) {
  switch (dtype) {
    case DType::boolean: return 1;
    case DType::bfloat16: return 2;
    case DType::float32: return 4;
    default: return 8;
  }
}

/// float32 or float64: the types that have gradients.
constexpr bool is_floating(DType dtype) { return dtype >= DType::float32; }

/// "bool", "int64", "bfloat16", "float32", "float64".
std::string_view name(DType dtype);

/// The DType of bool, int64_t, float or double; other types do not compile.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) {
    return DType::boolean;
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return DType::int64;
  } else if constexpr (std::is_same_v<T, float>) {
    return DType::float32;
  } else {
    static_assert(std::is_same_v<T, double>, "tensors hold bool, int64_t, float or double");
    return DType::float64;
  }
}

namespace detail {
[[noreturn]] void refuse_to_compute(DType dtype);
}

/// Calls f(T{}) with the C++ type of `dtype`. Error for bfloat16.
template <class F>
decltype(auto) with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::boolean: return f(bool{});
    case DType::int64: return f(int64_t{});
    case DType::float32: return f(float{});
    case DType::float64: return f(double{});
    default: detail::refuse_to_compute(dtype);
  }
}
/// The same for float32 and float64. Error for every other type.
template <class F>
decltype(auto) with_floating_type(DType dtype, F&& f) {
  if (!is_floating(dtype)) detail::refuse_to_compute(dtype);
  return dtype == DType::float32 ? f(float{}) : f(double{});
}

}  // namespace tapegrad
