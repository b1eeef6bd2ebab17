// The element types of a tensor.
#pragma once

#include <tapegrad/autograd/compiler.h>

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace tapegrad {

/// In order of promotion: see promoted_type. Operations compute in bool, int64, float32 and float64. The other types
/// are for storage: views, copies, joining (cat, stack, repeat, roll), reading by x(...), index_select and
/// masked_select, and Tensor::to() work on any of them.
/// - uint8 (images) and int32 (ids): also gather, pad, scatter and writing by index; comparisons and arithmetic convert
///   to int64 and, for a result of their own type, back, modulo 2^8 or 2^32; indices and class numbers may have these
///   types. Any other operation throws Error.
/// - float16, and bfloat16 (float32 without its last 16 bits): linear() and embedding() accept such weights; arithmetic
///   and comparisons with a float32 or float64 tensor that has axes convert them. Any other operation throws Error,
///   gather and pad, too (convert with to(kFloat32)), or gives float32; there are no gradients of these types.
enum class DType : uint8_t { boolean, uint8, int32, int64, float16, bfloat16, float32, float64 };

/// The members of DType under the names that tensors are made with.
inline constexpr DType kBool = DType::boolean;
inline constexpr DType kUInt8 = DType::uint8;
inline constexpr DType kInt32 = DType::int32;
inline constexpr DType kInt64 = DType::int64;
inline constexpr DType kFloat16 = DType::float16;
inline constexpr DType kBFloat16 = DType::bfloat16;
inline constexpr DType kFloat32 = DType::float32;
inline constexpr DType kFloat64 = DType::float64;

namespace detail {

enum class TypeKind : uint8_t { boolean, integer, half, floating };

/// The properties of a type. An empty name: the format does not support the type.
struct TypeRow {
  std::string_view name;  // also PyTorch's
  TypeKind kind;
  uint8_t size;  // bytes per element
  std::string_view safetensors, numpy;
};

/// The table of types, in the order of DType.
inline constexpr TypeRow kTypes[] = {
    {"bool", TypeKind::boolean, 1, "BOOL", "b1"},    {"uint8", TypeKind::integer, 1, "U8", "u1"},
    {"int32", TypeKind::integer, 4, "I32", "i4"},    {"int64", TypeKind::integer, 8, "I64", "i8"},
    {"float16", TypeKind::half, 2, "F16", "f2"},     {"bfloat16", TypeKind::half, 2, "BF16", ""},
    {"float32", TypeKind::floating, 4, "F32", "f4"}, {"float64", TypeKind::floating, 8, "F64", "f8"},
};

constexpr const TypeRow& row_of(DType dtype) { return kTypes[static_cast<int>(dtype)]; }

[[noreturn]] void refuse_to_compute(DType dtype);

}  // namespace detail

/// Bytes per element.
constexpr int64_t item_size(DType dtype) { return detail::row_of(dtype).size; }

/// "bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64".
constexpr std::string_view name(DType dtype) { return detail::row_of(dtype).name; }

/// float32 or float64: the types that have gradients.
constexpr bool is_floating(DType dtype) { return dtype >= DType::float32; }
/// float16 or bfloat16.
constexpr bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }
/// uint8, int32 or int64.
constexpr bool is_integer(DType dtype) { return dtype >= DType::uint8 && dtype <= DType::int64; }
/// uint8 or int32: integers that operations compute with in int64.
constexpr bool is_narrow_integer(DType dtype) { return dtype == DType::uint8 || dtype == DType::int32; }
/// bool, uint8 or int32: they are compared as int64, and their sums and products are int64, as in PyTorch.
constexpr bool widens_to_int64(DType dtype) { return dtype < DType::int64; }

/// The type that values of both types become, by PyTorch's rules: the later one of DType, but float32 for the two
/// halves.
constexpr DType promoted_type(DType a, DType b) {
  return is_half(a) && is_half(b) && a != b ? DType::float32 : a < b ? b : a;
}

/// Whether an integer type holds the number; true for the other types.
constexpr bool holds(DType dtype, double value) {
  if (!is_integer(dtype)) return true;
  const bool whole = value >= -0x1p63 && value < 0x1p63 && value == static_cast<double>(static_cast<int64_t>(value));
  return whole && (dtype != DType::uint8 || (value >= 0 && value < 0x1p8)) &&
         (dtype != DType::int32 || (value >= -0x1p31 && value < 0x1p31));
}

/// The DType of bool, uint8_t, int32_t, int64_t, float or double; other types do not compile.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) {
    return DType::boolean;
  } else if constexpr (std::is_same_v<T, uint8_t>) {
    return DType::uint8;
  } else if constexpr (std::is_same_v<T, int32_t>) {
    return DType::int32;
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return DType::int64;
  } else if constexpr (std::is_same_v<T, float>) {
    return DType::float32;
  } else {
    static_assert(std::is_same_v<T, double>, "tensors hold bool, uint8_t, int32_t, int64_t, float or double");
    return DType::float64;
  }
}

/// Calls f(T{}) with the C++ type of a `dtype` that operations compute in: bool, int64_t, float or double. Error for
/// the other types.
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
/// The same also for uint8_t and int32_t: for code that only reads or writes values. Error for float16 and bfloat16.
template <class F>
decltype(auto) with_stored_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::uint8: return f(uint8_t{});
    case DType::int32: return f(int32_t{});
    default: return with_type(dtype, f);
  }
}
/// The same for float32 and float64. Error for every other type.
template <class F>
decltype(auto) with_floating_type(DType dtype, F&& f) {
  if (!is_floating(dtype)) detail::refuse_to_compute(dtype);
  return dtype == DType::float32 ? f(float{}) : f(double{});
}
/// Calls f(T{}) with an unsigned integer of the size of `dtype`: for code that moves elements, gather and the like.
/// Error for float16 and bfloat16, which would compile all of it once more.
template <class F>
decltype(auto) with_type_of_size(DType dtype, F&& f) {
  switch (item_size(dtype)) {
    case 1: return f(uint8_t{});
    case 4: return f(uint32_t{});
    case 8: return f(uint64_t{});
    default: detail::refuse_to_compute(dtype);
  }
}

}  // namespace tapegrad
