// Checks of what a file says about an array.
#include <tapegrad/autograd/io/detail/element_types.h>

#include <algorithm>

namespace tapegrad {

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
