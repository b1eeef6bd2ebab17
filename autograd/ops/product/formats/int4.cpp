// Weights in int4: 32 neighbouring elements of a row share a scale.
//
// w = scale q with q from -8 to 7; the element with the largest |w| of a group has q = -8. Byte i of a group has the q
// of its element i in the lower half, and that of element 16 + i in the upper half, each in two's complement. q is
// rounded to nearest, ties to even; 0 follows the last column.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/product/formats/int4.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/product/integer_rows-inl.h>

#ifndef TAPEGRAD_INT4_GROUP  // shared by all instruction sets
#define TAPEGRAD_INT4_GROUP
namespace tapegrad {
inline constexpr int64_t kInt4Group = 32, kInt4Bytes = kInt4Group / 2;
}
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

struct Int4Group {
  static constexpr int64_t kElements = kInt4Group, kBytes = kInt4Bytes;
  static constexpr int kParts = 2, kVectors = 4 / kBlocks;  // of kBlocks groups each
  template <bool kDot>
  static constexpr int kBias = HWY_TARGET == HWY_NEON ? 0 : 8;

  // The products of a vector's groups: of the lower halves of bytes with a, and of the upper ones with later.
  template <bool kDot>
  static HWY_INLINE Ints sum(const uint8_t* at, const int8_t* a, const int8_t* later) {
    const hn::Repartition<uint16_t, ByteTag> wide;
    const auto with_bias = [](Bytes four) HWY_ATTR {
      const Bytes q = hn::And(four, hn::Set(ByteTag(), 15));
      return kBias<kDot> == 0 ? hn::Sub(q, hn::Set(ByteTag(), 8)) : q;
    };
    const Bytes both = hn::Xor(load_bytes(at), hn::Set(ByteTag(), -120));  // 0x88: q + 8
    const Bytes low = with_bias(both);
    const Bytes high = with_bias(hn::BitCast(ByteTag(), hn::ShiftRight<4>(hn::BitCast(wide, both))));
    constexpr int kAdded = kBias<kDot>;
    if constexpr (!kDot && kAdded != 0) {
      return sums_of_pairs(add_pairs(pairs_of<kAdded>(low, load_bytes(a)), pairs_of<kAdded>(high, load_bytes(later))));
    } else {
      const Ints first = dot_bytes<kDot, kAdded>(hn::Zero(IntTag()), low, load_bytes(a));
      return dot_bytes<kDot, kAdded>(first, high, load_bytes(later));
    }
  }
  template <bool kDot>
  static HWY_INLINE void expand(const uint8_t* from, uint8_t* to) {
    for (int64_t p = 0; p < kBytes; ++p) {
      to[p] = static_cast<uint8_t>(((from[p] & 15) ^ 8) - 8 + kBias<kDot>);
      to[p + kBytes] = static_cast<uint8_t>((from[p] >> 4 ^ 8) - 8 + kBias<kDot>);
    }
  }
  template <bool kDot>
  static HWY_INLINE void multiply(const uint8_t* at, const int8_t* a, Ints* to) {
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) {
      const int64_t p = i * 16 * kBlocks;
      to[i] = sum<kDot>(at + p, a + p, a + kChunkGroups * kBytes + p);
    }
  }
  static HWY_INLINE Ints sums(const Ints (&found)[kBlocks][kVectors]) {
    const Ints* const v = &found[0][0];
    const Ints of_blocks = sums_of_blocks(v[0], v[1], v[2], v[3]);
    if constexpr (kBlocks == 1) return of_blocks;
    alignas(64) static constexpr int32_t kFrom[][16] = {{0, 4, 1, 5, 2, 6, 3, 7},
                                                        {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15}};
    return hn::TableLookupLanes(of_blocks, hn::SetTableIndices(IntTag(), kFrom[kBlocks / 4]));
  }
};

IntegerKernels int4_kernels(bool dot) { return integer_kernels_of<Int4Group>(dot); }

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/weight_format.h>

#include <algorithm>
#include <cmath>

namespace tapegrad {
namespace {

HWY_EXPORT(int4_kernels);

void to_int4(const float* w, int64_t rows, int64_t k, void* data, float* scales) {
  for_each_group(rows, k, kInt4Group, [=](int64_t group, int64_t offset, int64_t count) {
    const float* const from = w + offset;
    const auto smaller = [](float a, float b) { return std::abs(a) < std::abs(b); };
    const float scale = *std::max_element(from, from + count, smaller) / -8;
    scales[group] = scale;
    const auto q = [&](int64_t p) {  // its four bits
      if (p >= count || scale == 0) return 0;
      return static_cast<int>(std::clamp(std::nearbyint(from[p] / scale), -8.0F, 7.0F)) & 15;
    };
    auto* const bytes = static_cast<uint8_t*>(data) + group * kInt4Bytes;
    for (int64_t p = 0; p < kInt4Bytes; ++p) bytes[p] = static_cast<uint8_t>(q(p) | q(p + kInt4Bytes) << 4);
  });
}

void from_int4(const void* data, const float* scales, int64_t rows, int64_t k, float* w) {
  for_each_group(rows, k, kInt4Group, [=](int64_t group, int64_t offset, int64_t count) {
    const auto* const bytes = static_cast<const uint8_t*>(data) + group * kInt4Bytes;
    const auto half = [&](int64_t first, int shift) {
      for (int64_t p = first; p < std::min(count, first + kInt4Bytes); ++p) {
        const int four = bytes[p - first] >> shift & 15;
        w[offset + p] = static_cast<float>((four ^ 8) - 8) * scales[group];
      }
    };
    half(0, 0);
    half(kInt4Bytes, 4);
  });
}

constexpr RowsFormat kInt4Rows{.group = kInt4Group,
                               .group_bytes = kInt4Bytes,
                               .group_scales = 1,
                               .integers = [](bool dot) { return kernel_of(HWY_DISPATCH_TABLE(int4_kernels))(dot); },
                               .widen = from_int4,
                               .narrow = to_int4};

}  // namespace

extern const WeightFormat kInt4Format;
const WeightFormat kInt4Format{.name = "int4", .memory = "a sixth", .rows = &kInt4Rows};

}  // namespace tapegrad
#endif
