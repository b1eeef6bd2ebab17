// Products of a few rows with weights in float32, bfloat16 or int8.
#include <tapegrad/autograd/kernels/simd/simd_targets.h>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/autograd/kernels/product/few_rows.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include <tapegrad/autograd/kernels/product/blas_dot.h>
#include <tapegrad/autograd/kernels/product/few_rows.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

HWY_INLINE Vec<float> load_wide(const int8_t* p) {
  const hn::Rebind<int8_t, Vec<float>::Tag> narrow;
  const hn::Rebind<int32_t, Vec<float>::Tag> wide;
  return hn::ConvertTo(Vec<float>::Tag(), hn::PromoteTo(wide, hn::LoadU(narrow, p)));
}

// As dot_rows, for rows of int8 groups. Each group is summed by itself, then scaled once. Rows of A are padded, too.
// kMost: of these rows at a time.
template <int kStreams, int kMost, class Done>
HWY_INLINE void dot_groups(int64_t m, int64_t n, int64_t groups, const float* a, int64_t a_rows, const int8_t* b,
                           const float* scales, const Done& done) {
  using Raw = Vec<float>::Raw;  // Vec starts at 0, in memory if it is an array
  const int64_t width = (n + kStreams - 1) / kStreams, k = groups * kInt8Group;
  for (int64_t j = 0; j < width; ++j) {
    const Columns<kStreams, int8_t> columns(b, k, n, j, width, m <= kMost);
    const float* scale[kStreams];
    for (int64_t q = 0; q < kStreams; ++q) scale[q] = scales + std::min(j + q * width, n - 1) * groups;
    for_tiles_of_rows<kMost>(m, [&]<int kRows>(int64_t i, std::integral_constant<int, kRows>) HWY_ATTR {
      Vec<float> sum[kRows][kStreams];
      for (int64_t g = 0; g < groups; ++g) {
        Raw part[kRows][kStreams];
#pragma GCC unroll 4
        for (int q = 0; q < kStreams; ++q) columns.fetch(q, g * kInt8Group);
#pragma GCC unroll 16
        for (int64_t p = 0; p < kInt8Group; p += kLanes<float>) {
          const int64_t at = g * kInt8Group + p;
          Raw from_b[kStreams];
#pragma GCC unroll 4
          for (int q = 0; q < kStreams; ++q) from_b[q] = load_wide(columns.at[q] + at).raw;
#pragma GCC unroll 4
          for (int r = 0; r < kRows; ++r) {
            const Raw from_a = load(a + (i + r) * a_rows + at).raw;
#pragma GCC unroll 4
            for (int q = 0; q < kStreams; ++q) {
              part[r][q] = p == 0 ? hn::Mul(from_a, from_b[q]) : hn::MulAdd(from_a, from_b[q], part[r][q]);
            }
          }
        }
#pragma GCC unroll 4
        for (int q = 0; q < kStreams; ++q) {
          const Vec<float> by(scale[q][g]);
#pragma GCC unroll 4
          for (int r = 0; r < kRows; ++r) sum[r][q] = fma(Vec<float>(part[r][q]), by, sum[r][q]);
        }
      }
      finish_sums(i, n, j, width, sum, done);
    });
  }
}

// The m rows of A, `stride` apart, times rows [begin, end) of W.
void few_rows(const StreamedWeight& w, int64_t begin, int64_t end, int64_t m, int64_t k, const float* a,
              int64_t stride) {
  const auto done = [&](int64_t i, int64_t j, float sum)
                        HWY_ATTR { w.c[i * w.n + begin + j] = w.bias == nullptr ? sum : sum + w.bias[begin + j]; };
  const int64_t n = end - begin;
  switch (w.format) {
    case WeightFormat::float32:
      return dot_rows(m, n, k, a, stride, static_cast<const float*>(w.data) + begin * k, k, done);
    case WeightFormat::bfloat16:
      return dot_rows(m, n, k, a, stride, static_cast<const uint16_t*>(w.data) + begin * k, k, done);
    case WeightFormat::int8: {
      const int64_t groups = int8_groups(k);
      const auto* const from = static_cast<const int8_t*>(w.data) + begin * groups * kInt8Group;
      const float* const scales = w.scales + begin * groups;
      if (m == 1) return dot_groups<4, 1>(m, n, groups, a, stride, from, scales, done);
      return dot_groups<2, kTileRows<int8_t>>(m, n, groups, a, stride, from, scales, done);
    }
  }
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/detail/pieces.h>
#include <tapegrad/autograd/detail/profile.h>
#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/kernels/product/blas.h>
#include <tapegrad/autograd/kernels/simd/bfloat16.h>
#include <tapegrad/autograd/parallel.h>

#include <cmath>

namespace tapegrad {
namespace {

HWY_EXPORT(few_rows);

constexpr int64_t kPieceBytes = 128 << 10;  // of a weight, for one thread to read at a time: it stays in L2
constexpr std::size_t kMostWeights = 4;
constexpr int64_t kWidened = 1024;        // rows of W that are converted at a time
constexpr int64_t kConverted = 64 << 10;  // elements for one thread to convert at a time

int64_t row_bytes(const StreamedWeight& w, int64_t k) {
  switch (w.format) {
    case WeightFormat::float32: return 4 * k;
    case WeightFormat::bfloat16: return 2 * k;
    default: return int8_groups(k) * (kInt8Group + 4);
  }
}

// A [m, k] with zeros after each row, to whole groups.
void pad_rows(int64_t m, int64_t k, const float* a, int64_t stride, float* to) {
  for (int64_t i = 0; i < m; ++i) std::fill(std::copy_n(a + i * k, k, to + i * stride), to + (i + 1) * stride, 0.0F);
}

}  // namespace

void multiply_few_rows(int64_t m, int64_t k, const float* a, std::span<const StreamedWeight> weights) {
  if (m == 0) return;
  if (weights.size() > kMostWeights) {
    multiply_few_rows(m, k, a, weights.first(kMostWeights));
    return multiply_few_rows(m, k, a, weights.subspan(kMostWeights));
  }
  const bool grouped = std::any_of(weights.begin(), weights.end(),
                                   [](const StreamedWeight& w) { return w.format == WeightFormat::int8; });
  const int64_t whole = int8_groups(k) * kInt8Group;
  const Scratch<float> padded(grouped && whole > k ? m * whole : 0);
  if (padded.get() != nullptr) pad_rows(m, k, a, whole, padded.get());
  int64_t rows[kMostWeights], ends[kMostWeights], pieces = 0;  // rows of W per piece; pieces so far
  int64_t bytes = 0;
  for (std::size_t w = 0; w < weights.size(); ++w) {
    const int64_t of_weight = weights[w].n * row_bytes(weights[w], k), wanted = pieces_of(of_weight, kPieceBytes);
    rows[w] = std::max<int64_t>(1, pieces_of(weights[w].n, wanted > 1 ? wanted + wanted % 2 : 1));
    ends[w] = pieces += pieces_of(weights[w].n, rows[w]);
    bytes += of_weight;
    detail::count_flops(2 * m * weights[w].n * k);
  }
  parallel_for(pieces, m * bytes < kPieceBytes ? pieces : 1, [&](int64_t first, int64_t last) {
    for (int64_t piece = first; piece < last; ++piece) {
      std::size_t w = 0;
      while (piece >= ends[w]) ++w;
      const StreamedWeight& weight = weights[w];
      const int64_t begin = (piece - (w == 0 ? 0 : ends[w - 1])) * rows[w];
      const bool pads = weight.format == WeightFormat::int8 && padded.get() != nullptr;
      kernel_of(HWY_DISPATCH_TABLE(few_rows))(weight, begin, std::min(weight.n, begin + rows[w]), m, k,
                                              pads ? padded.get() : a, pads ? whole : k);
    }
  });
}

void multiply_rows(int64_t m, int64_t k, const float* a, const StreamedWeight& w) {
  if (m <= kFewRows) return multiply_few_rows(m, k, a, {&w, 1});
  const Scratch<float> wide(std::min(w.n, kWidened) * k);
  const int64_t width = int8_groups(k);
  for (int64_t first = 0; first < w.n; first += kWidened) {
    const int64_t rows = std::min(kWidened, w.n - first);
    if (w.format == WeightFormat::int8) {
      widen_int8(static_cast<const int8_t*>(w.data) + first * width * kInt8Group, w.scales + first * width, rows, k,
                 wide.get());
    } else {
      widen_bfloat16(static_cast<const uint16_t*>(w.data) + first * k, rows * k, wide.get());
    }
    const auto add_bias = [&](int64_t row, int64_t row_end, int64_t column, int64_t column_end) {
      for (int64_t i = row; i < row_end; ++i) {
        for (int64_t j = first + column; j < first + column_end; ++j) w.c[i * w.n + j] += w.bias[j];
      }
    };
    gemm<float>(m, rows, k, 1, {a, k, 1}, {wide.get(), 1, k}, 0, {w.c + first, w.n, 1},
                w.bias == nullptr ? Epilogue() : Epilogue(add_bias));
  }
}

void round_to_int8(const float* w, int64_t rows, int64_t k, int8_t* q, float* scales) {
  const int64_t groups = int8_groups(k);
  parallel_for(rows, std::max<int64_t>(1, kConverted / (k + 1)), [=](int64_t begin, int64_t end) {
    for (int64_t at = begin * groups; at < end * groups; ++at) {
      const int64_t first = at % groups * kInt8Group, count = std::min(kInt8Group, k - first);
      const float* const from = w + at / groups * k + first;
      int8_t* const to = q + at * kInt8Group;
      float most = 0;
      for (int64_t p = 0; p < count; ++p) most = std::max(most, std::abs(from[p]));
      const float scale = most / 127;
      scales[at] = scale;
      for (int64_t p = 0; p < kInt8Group; ++p) {
        to[p] = p < count && scale > 0
                    ? static_cast<int8_t>(std::clamp(std::nearbyint(from[p] / scale), -127.0F, 127.0F))
                    : 0;
      }
    }
  });
}

void widen_int8(const int8_t* q, const float* scales, int64_t rows, int64_t k, float* w) {
  const int64_t groups = int8_groups(k);
  parallel_for(rows, std::max<int64_t>(1, kConverted / (k + 1)), [=](int64_t begin, int64_t end) {
    for (int64_t at = begin * groups; at < end * groups; ++at) {
      const int64_t first = at % groups * kInt8Group, count = std::min(kInt8Group, k - first);
      float* const to = w + at / groups * k + first;
      for (int64_t p = 0; p < count; ++p) to[p] = static_cast<float>(q[at * kInt8Group + p]) * scales[at];
    }
  });
}

}  // namespace tapegrad
#endif
