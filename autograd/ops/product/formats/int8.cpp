// Weights in int8: 64 neighbouring elements of a row share a scale (int8.h).
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/product/formats/int8.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/product/integer_rows-inl.h>

#ifndef TAPEGRAD_INT8_GROUP  // shared by all instruction sets
#define TAPEGRAD_INT8_GROUP
namespace tapegrad {
inline constexpr int64_t kInt8Group = 64;
}
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

struct Int8Group {
  static constexpr int64_t kElements = kInt8Group, kBytes = kInt8Group;
  static constexpr int kParts = 1, kVectors = 1;
  template <bool kDot>
  static constexpr int kBias = kDot ? 128 : 0;

  template <bool kDot>
  static HWY_INLINE Bytes biased(const uint8_t* q) {
    const Bytes bytes = load_bytes(q);
    return kDot ? hn::Xor(bytes, hn::Set(ByteTag(), -128)) : bytes;
  }
  template <bool kDot>
  static HWY_INLINE void expand(const uint8_t* from, uint8_t* to) {
    for (int64_t p = 0; p < kBytes; p += 16 * kBlocks) {
      hn::StoreU(biased<kDot>(from + p), ByteTag(), reinterpret_cast<int8_t*>(to) + p);
    }
  }
  template <bool kDot>
  static HWY_INLINE void multiply(const uint8_t* at, const int8_t* a, Ints* to) {
    Ints sum[kChunkGroups];
#pragma GCC unroll 4
    for (int g = 0; g < kChunkGroups; ++g) {
      sum[g] = hn::Zero(IntTag());
#pragma GCC unroll 4
      for (int64_t p = g * kBytes; p < (g + 1) * kBytes; p += 16 * kBlocks) {
        sum[g] = dot_bytes<kDot, kBias<kDot>>(sum[g], biased<kDot>(at + p), load_bytes(a + p));
      }
    }
    *to = sums_of_blocks(sum[0], sum[1], sum[2], sum[3]);
  }
  static HWY_INLINE Ints sums(const Ints (&found)[kBlocks][kVectors]) { return sums_of_vectors(&found[0][0]); }
};

IntegerKernels int8_kernels(bool dot) { return integer_kernels_of<Int8Group>(dot); }

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/internal/int8.h>

#include <algorithm>
#include <cmath>

namespace tapegrad {
namespace {

HWY_EXPORT(int8_kernels);

void to_int8(const float* w, int64_t rows, int64_t k, void* data, float* scales) {
  for_each_group(rows, k, kInt8Group, [=](int64_t group, int64_t offset, int64_t count) {
    const float* const from = w + offset;
    auto* const q = static_cast<int8_t*>(data) + group * kInt8Group;
    float most = 0;
    for (int64_t p = 0; p < count; ++p) most = std::max(most, std::abs(from[p]));
    const float scale = most / 127;
    scales[group] = scale;
    for (int64_t p = 0; p < kInt8Group; ++p) {
      q[p] = p < count && scale > 0 ? static_cast<int8_t>(std::clamp(std::nearbyint(from[p] / scale), -127.0F, 127.0F))
                                    : 0;
    }
  });
}

void from_int8(const void* data, const float* scales, int64_t rows, int64_t k, float* w) {
  for_each_group(rows, k, kInt8Group, [=](int64_t group, int64_t offset, int64_t count) {
    const auto* const q = static_cast<const int8_t*>(data) + group * kInt8Group;
    for (int64_t p = 0; p < count; ++p) w[offset + p] = static_cast<float>(q[p]) * scales[group];
  });
}

constexpr RowsFormat kInt8Rows{.group = kInt8Group,
                               .group_bytes = kInt8Group,
                               .group_scales = 1,
                               .integers = [](bool dot) { return kernel_of(HWY_DISPATCH_TABLE(int8_kernels))(dot); },
                               .widen = from_int8,
                               .narrow = to_int8};

}  // namespace

extern const WeightFormat kInt8Format;
const WeightFormat kInt8Format{.name = "int8", .memory = "a quarter", .rows = &kInt8Rows};

}  // namespace tapegrad
#endif
