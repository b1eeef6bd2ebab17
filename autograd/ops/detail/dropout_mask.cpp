// A dropout mask with one bit per element: eight bytes of 0 and 1 become one byte, and back.
#include <tapegrad/autograd/kernels/simd/random_kernels.h>
#include <tapegrad/autograd/ops/detail/dropout_mask.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/random.h>

#include <cstring>

namespace tapegrad {

namespace {

constexpr int64_t kMaskGrain = int64_t{1} << 16;  // bytes of bits

// Bit i of the result is byte i of `bytes`, which are 0 or 1: the factor shifts byte i by 56 - 7 i.
constexpr uint64_t joined(uint64_t bytes) { return bytes * 0x0102040810204080U >> 56; }

}  // namespace

PackedDropoutMask::PackedDropoutMask(int64_t count, double keep, Generator& generator) {
  const int64_t bytes = (count + 7) / 8;
  bits_ = Storage(bytes + 1);  // unpack reads one byte ahead
  auto* const to = reinterpret_cast<uint8_t*>(bits_.data());
  to[bytes] = 0;
  if (keep == 0) {
    std::memset(to, 0, static_cast<std::size_t>(bytes));
    return;
  }
  const Tensor bytes_drawn = Tensor::empty({8 * bytes}, kBool);
  auto* const from = reinterpret_cast<uint8_t*>(bytes_drawn.mutable_data<bool>());
  generator.keep_mask(from, count, keep);
  std::memset(from + count, 0, static_cast<std::size_t>(8 * bytes - count));
  parallel_for(bytes, kMaskGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      uint64_t eight;
      std::memcpy(&eight, from + 8 * i, sizeof eight);
      to[i] = static_cast<uint8_t>(joined(eight));
    }
  });
}

void PackedDropoutMask::unpack(int64_t first, int64_t count, bool* out) const {
  const auto* const bits = reinterpret_cast<const uint8_t*>(bits_.data()) + first / 8;
  const int shift = static_cast<int>(first % 8);
  for (int64_t i = 0; i < count; i += 8) {
    const unsigned pair = bits[i / 8] | static_cast<unsigned>(bits[i / 8 + 1]) << 8;
    const uint64_t eight = detail::kBytesOfBits[pair >> shift & 255];
    std::memcpy(out + i, &eight, static_cast<std::size_t>(count - i < 8 ? count - i : 8));
  }
}

Tensor PackedDropoutMask::unpack(const Shape& shape) const {
  const Tensor all = Tensor::empty(shape, kBool);
  unpack(0, all.numel(), all.mutable_data<bool>());
  return all;
}

}  // namespace tapegrad
