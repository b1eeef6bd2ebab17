// The element types of files, and checks of what a file says about an array.
#include <tapegrad/autograd/io/detail/element_types.h>
#include <tapegrad/autograd/kernels/simd/bfloat16.h>
#include <tapegrad/autograd/kernels/simd/float16.h>

#include <algorithm>
#include <cstring>

namespace tapegrad {
namespace {

template <class From, class To>
To cast(From value) {
  return static_cast<To>(value);
}

template <class From, class To, To (*F)(From) = cast<From, To>>
void convert_elements(const std::byte* from, int64_t n, void* to) {
  for (int64_t i = 0; i < n; ++i) {
    From value;
    std::memcpy(&value, from + static_cast<std::size_t>(i) * sizeof value, sizeof value);
    static_cast<To*>(to)[i] = F(value);
  }
}

constexpr FileType as_it_is(DType dtype) {
  const detail::TypeRow& row = detail::row_of(dtype);
  return {row.safetensors, row.numpy, row.size, dtype, nullptr};
}

constexpr FileType kFileTypes[] = {
    as_it_is(kFloat32),
    as_it_is(kFloat64),
    as_it_is(kInt64),
    as_it_is(kInt32),
    as_it_is(kUInt8),
    as_it_is(kBool),
    {"F16", "f2", 2, kFloat32, convert_elements<uint16_t, float, widen_float16>},
    {"BF16", "", 2, kFloat32, convert_elements<uint16_t, float, widen_bfloat16>},
    {"I16", "i2", 2, kInt64, convert_elements<int16_t, int64_t>},
    {"I8", "i1", 1, kInt64, convert_elements<int8_t, int64_t>},
    {"U64", "u8", 8, kInt64, convert_elements<uint64_t, int64_t>},
    {"U32", "u4", 4, kInt64, convert_elements<uint32_t, int64_t>},
    {"U16", "u2", 2, kInt64, convert_elements<uint16_t, int64_t>},
};

}  // namespace

std::span<const FileType> file_types() { return kFileTypes; }

bool BytesOfShape::add_axis(uint64_t size) {
  constexpr uint64_t kLimit = uint64_t{1} << 62;
  if (size > kLimit || (size != 0 && extent_ > kLimit / size)) return false;
  count_ *= size;
  extent_ *= size == 0 ? 1 : size;
  return true;
}

int64_t first_wrong_element(const Tensor& contiguous, bool was_unsigned) {
  const int64_t n = contiguous.numel();
  if (n == 0) return -1;
  const auto first = [n](const auto* values, auto wrong) {
    const auto* const found = std::find_if(values, values + n, wrong);
    return found == values + n ? -1 : found - values;
  };
  if (was_unsigned) return first(contiguous.data<int64_t>(), [](int64_t value) { return value < 0; });
  if (contiguous.dtype() != kBool) return -1;
  return first(static_cast<const std::byte*>(contiguous.raw_data()), [](std::byte b) { return b > std::byte{1}; });
}

int byte_at(const Tensor& contiguous, int64_t i) {
  return static_cast<int>(static_cast<const std::byte*>(contiguous.raw_data())[i]);
}

}  // namespace tapegrad
