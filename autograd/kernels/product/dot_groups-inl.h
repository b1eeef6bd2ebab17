// Products of a few rows with rows of small integers, in groups with scales of their own; included once for each
// instruction set.
#if defined(TAPEGRAD_AUTOGRAD_DOT_GROUPS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEGRAD_AUTOGRAD_DOT_GROUPS_H_
#undef TAPEGRAD_AUTOGRAD_DOT_GROUPS_H_
#else
#define TAPEGRAD_AUTOGRAD_DOT_GROUPS_H_
#endif

#include <algorithm>

#include <tapegrad/autograd/kernels/product/blas_dot.h>
#include <tapegrad/autograd/kernels/product/few_rows.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// As dot_rows, for rows of groups, w = scale q. Each group is summed by itself, then scaled once. Rows of A are padded,
// too. A Group has
//   kElements, kBytes     of a group
//   kParts                up to 4 parts of kElements / kParts neighbouring elements each, that share bytes
//   load(group, p, part)  elements from p on of a part, as float
// kMost: of these rows at a time.
template <class Group, int kStreams, int kMost, class Done>
HWY_INLINE void dot_groups(int64_t m, int64_t n, int64_t groups, const float* a, int64_t a_rows, const uint8_t* b,
                           const float* scales, const Done& done) {
  using Raw = Vec<float>::Raw;  // Vec starts at 0, in memory if it is an array
  constexpr int64_t kPart = Group::kElements / Group::kParts, kSums = kSumLanes<float>;
  const int64_t width = (n + kStreams - 1) / kStreams;
  for (int64_t j = 0; j < width; ++j) {
    const Columns<kStreams, uint8_t> columns(b, groups * Group::kBytes, n, j, width, m <= kMost);
    const float* scale[kStreams];
    for (int q = 0; q < kStreams; ++q) scale[q] = scales + std::min(columns.number(q), n - 1) * groups;
    for_tiles_of_rows<kMost>(m, [&]<int kRows>(int64_t i, std::integral_constant<int, kRows>) HWY_ATTR {
      TileSums<kRows, kStreams, float> sum;
      for (int64_t g = 0; g < groups; ++g) {
#pragma GCC unroll 4
        for (int q = 0; q < kStreams; ++q) {
          if (g * Group::kBytes % 64 == 0) columns.fetch(q, g * Group::kBytes);  // once per cache line
        }
#pragma GCC unroll 4
        for (int sums = 0; sums < kSumVecs<float>; ++sums) {
          const int64_t begin = sums * kLanes<float>;
          Raw products[kRows][kStreams];
#pragma GCC unroll 4
          for (int64_t p = begin; p < kPart; p += kSums) {
#pragma GCC unroll 4
            for (int part = 0; part < Group::kParts; ++part) {
              const bool first = p == begin && part == 0;
              Raw from_b[kStreams];
#pragma GCC unroll 4
              for (int q = 0; q < kStreams; ++q) {
                from_b[q] = Group::load(columns.at[q] + g * Group::kBytes, p, part).raw;
              }
#pragma GCC unroll 4
              for (int r = 0; r < kRows; ++r) {
                const Raw from_a = load(a + (i + r) * a_rows + g * Group::kElements + part * kPart + p).raw;
#pragma GCC unroll 4
                for (int q = 0; q < kStreams; ++q) {
                  products[r][q] = first ? hn::Mul(from_a, from_b[q]) : fused(from_a, from_b[q], products[r][q]);
                }
              }
            }
          }
#pragma GCC unroll 4
          for (int q = 0; q < kStreams; ++q) {
            const Vec<float> by(scale[q][g]);
#pragma GCC unroll 4
            for (int r = 0; r < kRows; ++r) sum[r][q][sums] = fma(Vec<float>(products[r][q]), by, sum[r][q][sums]);
          }
        }
      }
      finish_sums<kRows, kStreams, uint8_t, float>(i, n, columns, sum, done);
    });
  }
}

// RowsFormat::multiply for a Group.
template <class Group>
HWY_INLINE void multiply_groups(const StreamedWeight& w, int64_t begin, int64_t end, int64_t m, int64_t k,
                                const float* a, int64_t stride) {
  const auto done = [&](int64_t i, int64_t j, float sum) HWY_ATTR { w.store(i, begin + j, sum); };
  const int64_t n = end - begin, groups = w.format->groups(k);
  const auto* const from = static_cast<const uint8_t*>(w.data) + begin * groups * Group::kBytes;
  const float* const scales = w.scales + begin * groups;
  if (m == 1) return dot_groups<Group, 2, 1>(m, n, groups, a, stride, from, scales, done);
  dot_groups<Group, kTileStreams<uint8_t>, kTileRows<uint8_t>>(m, n, groups, a, stride, from, scales, done);
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
