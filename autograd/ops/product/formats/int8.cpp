// Weights in int8: 64 neighbouring elements of a row share a scale (int8.h).
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/product/formats/int8.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/product/dot_groups-inl.h>

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
  static constexpr int kParts = 1;
  static HWY_INLINE Vec<float> load(const uint8_t* group, int64_t p, int /*part*/) {
    const hn::Rebind<int8_t, Vec<float>::Tag> narrow;
    const hn::Rebind<int32_t, Vec<float>::Tag> wide;
    const auto q = hn::LoadU(narrow, reinterpret_cast<const int8_t*>(group) + p);
    return hn::ConvertTo(Vec<float>::Tag(), hn::PromoteTo(wide, q));
  }
};

void multiply_int8(const StreamedWeight& w, int64_t begin, int64_t end, int64_t m, int64_t k, const float* a,
                   int64_t stride) {
  multiply_groups<Int8Group>(w, begin, end, m, k, a, stride);
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/internal/int8.h>

#include <algorithm>
#include <cmath>

namespace tapegrad {
namespace {

HWY_EXPORT(multiply_int8);

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

constexpr RowsFormat kInt8Rows{
    .group = kInt8Group,
    .group_bytes = kInt8Group,
    .group_scales = 1,
    .multiply = [](const StreamedWeight& w, int64_t begin, int64_t end, int64_t m, int64_t k, const float* a,
                   int64_t stride) { kernel_of(HWY_DISPATCH_TABLE(multiply_int8))(w, begin, end, m, k, a, stride); },
    .widen = from_int8,
    .narrow = to_int8};

}  // namespace

extern const WeightFormat kInt8Format;
const WeightFormat kInt8Format{.name = "int8", .memory = "a quarter", .rows = &kInt8Rows};

}  // namespace tapegrad
#endif
