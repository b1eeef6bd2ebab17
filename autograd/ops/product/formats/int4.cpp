// Weights in int4: 32 neighbouring elements of a row share a scale.
//
// w = scale q with q from -8 to 7; the element with the largest |w| of a group has q = -8. Byte i of a group has the q
// of its element i in the lower half, and that of element 16 + i in the upper half, each in two's complement. q is
// rounded to nearest, ties to even; 0 follows the last column.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/product/formats/int4.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/product/dot_groups-inl.h>

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
  static constexpr int kParts = 2;
  static HWY_INLINE Vec<float> load(const uint8_t* group, int64_t p, int part) {
    const hn::Rebind<int8_t, Vec<float>::Tag> narrow;
    const hn::Rebind<int32_t, Vec<float>::Tag> wide;
    const auto both = hn::PromoteTo(wide, hn::LoadU(narrow, reinterpret_cast<const int8_t*>(group) + p));
    const auto q = part == 0 ? hn::ShiftRight<28>(hn::ShiftLeft<28>(both)) : hn::ShiftRight<4>(both);
    return hn::ConvertTo(Vec<float>::Tag(), q);
  }
};

void multiply_int4(const StreamedWeight& w, int64_t begin, int64_t end, int64_t m, int64_t k, const float* a,
                   int64_t stride) {
  multiply_groups<Int4Group>(w, begin, end, m, k, a, stride);
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/weight_format.h>

#include <algorithm>
#include <cmath>

namespace tapegrad {
namespace {

HWY_EXPORT(multiply_int4);

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

constexpr RowsFormat kInt4Rows{
    .group = kInt4Group,
    .group_bytes = kInt4Bytes,
    .group_scales = 1,
    .multiply = [](const StreamedWeight& w, int64_t begin, int64_t end, int64_t m, int64_t k, const float* a,
                   int64_t stride) { kernel_of(HWY_DISPATCH_TABLE(multiply_int4))(w, begin, end, m, k, a, stride); },
    .widen = from_int4,
    .narrow = to_int4};

}  // namespace

extern const WeightFormat kInt4Format;
const WeightFormat kInt4Format{.name = "int4", .memory = "a sixth", .rows = &kInt4Rows};

}  // namespace tapegrad
#endif
