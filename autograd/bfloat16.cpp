// bfloat16: conversions, and products with a weight that is kept in it.
#include <tapegrad/autograd/simd_targets.h>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/autograd/bfloat16.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include <tapegrad/autograd/bfloat16.h>
#include <tapegrad/autograd/simd.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

HWY_INLINE Vec<float> load_bfloat16(const uint16_t* p) {
  const Vec<float>::Tag d;
  const hn::RebindToUnsigned<Vec<float>::Tag> wide;
  const hn::Rebind<uint16_t, Vec<float>::Tag> narrow;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(wide, hn::LoadU(narrow, p))));
}

// A few rows of A against rows [begin, end) of W, which are read as kStreams stretches side by side.
template <int kRows>
void dot_bfloat16(int64_t begin, int64_t end, int64_t n, int64_t k, const float* a, const uint16_t* w, float* c) {
  constexpr int64_t kStreams = 4, kAhead = 1024 / sizeof(uint16_t);
  const int64_t stretch = (end - begin + kStreams - 1) / kStreams, whole = k / kLanes<float> * kLanes<float>;
  for (int64_t j = begin; j < begin + stretch; ++j) {
    const uint16_t* row[kStreams];
    for (int64_t q = 0; q < kStreams; ++q) row[q] = w + std::min(j + q * stretch, end - 1) * k;
    Vec<float> sum[kRows][kStreams];
    for (int64_t p = 0; p < whole; p += kLanes<float>) {
#pragma GCC unroll 4
      for (int q = 0; q < kStreams; ++q) {
        hwy::Prefetch(row[q] + p + kAhead);
        const Vec<float> from = load_bfloat16(row[q] + p);
#pragma GCC unroll 3
        for (int i = 0; i < kRows; ++i) sum[i][q] = fma(load(a + i * k + p), from, sum[i][q]);
      }
    }
    for (int64_t q = 0; q < kStreams && j + q * stretch < end; ++q) {
      for (int i = 0; i < kRows; ++i) {
        float rest = 0;
        for (int64_t p = whole; p < k; ++p) rest += a[i * k + p] * widen_bfloat16(row[q][p]);
        c[i * n + j + q * stretch] = reduce_sum(sum[i][q]) + rest;
      }
    }
  }
}

void dot_rows_bfloat16(int64_t m, int64_t begin, int64_t end, int64_t n, int64_t k, const float* a, const uint16_t* w,
                       float* c) {
  if (m == 1) return dot_bfloat16<1>(begin, end, n, k, a, w, c);
  if (m == 2) return dot_bfloat16<2>(begin, end, n, k, a, w, c);
  dot_bfloat16<3>(begin, end, n, k, a, w, c);
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/blas.h>
#include <tapegrad/autograd/kernels.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/storage.h>

#include <vector>

namespace tapegrad {
namespace {

constexpr int64_t kGrain = 32768;   // elements that a thread converts at a time
constexpr int64_t kRead = 1 << 18;  // elements of W that a thread reads at a time
constexpr int64_t kDotRows = 3;     // rows of A at most that are multiplied without widening W first
constexpr int64_t kWidened = 1024;  // rows of W that are widened at a time, where there are more

HWY_EXPORT(dot_rows_bfloat16);

}  // namespace

void widen_bfloat16(const uint16_t* x, int64_t n, float* y) {
  parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = widen_bfloat16(x[i]);
  });
}

void round_to_bfloat16(const float* x, int64_t n, uint16_t* y) {
  parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = round_to_bfloat16(x[i]);
  });
}

void gemm_bfloat16(int64_t m, int64_t n, int64_t k, const float* a, const uint16_t* w, float* c) {
  if (m == 0 || n == 0) return;
  kernel_family();
  if (m <= kDotRows) {
    parallel_for(n, std::max<int64_t>(1, kRead / (k + 1)), [=](int64_t begin, int64_t end) {
      HWY_DYNAMIC_DISPATCH(dot_rows_bfloat16)(m, begin, end, n, k, a, w, c);
    });
    return;
  }
  std::vector<float, pool::Allocator<float>> wide(static_cast<std::size_t>(std::min(n, kWidened) * k));
  for (int64_t first = 0; first < n; first += kWidened) {
    const int64_t rows = std::min(kWidened, n - first);
    widen_bfloat16(w + first * k, rows * k, wide.data());
    gemm<float>(m, rows, k, 1, {a, k, 1}, {wide.data(), 1, k}, 0, {c + first, n, 1});
  }
}

}  // namespace tapegrad
#endif
