// Products of a few rows with columns that are contiguous along k; included once for each instruction set.
#if defined(TAPEGRAD_AUTOGRAD_BLAS_DOT_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEGRAD_AUTOGRAD_BLAS_DOT_H_
#undef TAPEGRAD_AUTOGRAD_BLAS_DOT_H_
#else
#define TAPEGRAD_AUTOGRAD_BLAS_DOT_H_
#endif

#include <algorithm>
#include <cstring>

#include <tapegrad/autograd/kernels/simd.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// Loads as float or double; bfloat16 is widened.
template <class T>
HWY_INLINE Vec<T> load_wide(const T* p) {
  return load(p);
}
template <class T>
HWY_INLINE Vec<T> load_wide(const T* p, int64_t n) {
  return load(p, n);
}
HWY_INLINE Vec<float> load_wide(const uint16_t* p) {
  const hn::RebindToUnsigned<Vec<float>::Tag> wide;
  const hn::Rebind<uint16_t, Vec<float>::Tag> narrow;
  return hn::BitCast(Vec<float>::Tag(), hn::ShiftLeft<16>(hn::PromoteTo(wide, hn::LoadU(narrow, p))));
}
HWY_INLINE Vec<float> load_wide(const uint16_t* p, int64_t n) {
  uint16_t part[kLanes<float>] = {};
  std::memcpy(part, p, static_cast<std::size_t>(n) * sizeof *p);
  return load_wide(part);
}

// Calls done(i, j, sum) for each row i of A and column j of B, where sum = A[i, :] B[:, j]. B is read once, as kStreams
// ranges of adjacent columns in parallel, each in order.
template <int kRows, class T, class B, class Done>
HWY_INLINE void dot_rows(int64_t n, int64_t k, const T* a, int64_t a_rows, const B* b, int64_t b_cols,
                         const Done& done) {
  constexpr int64_t kStreams = 4, kAhead = 1024 / sizeof(B);
  const int64_t stretch = (n + kStreams - 1) / kStreams;
  for (int64_t j = 0; j < stretch; ++j) {
    const B* column[kStreams];
    for (int64_t q = 0; q < kStreams; ++q) column[q] = b + std::min(j + q * stretch, n - 1) * b_cols;
    Vec<T> sum[kRows][kStreams];
    for (int64_t p = 0; p < k; p += kLanes<T>) {
      const int64_t some = std::min(kLanes<T>, k - p);
      Vec<T> from_b[kStreams];
#pragma GCC unroll 4
      for (int q = 0; q < kStreams; ++q) {
        hwy::Prefetch(column[q] + p + kAhead);
        from_b[q] = some == kLanes<T> ? load_wide(column[q] + p) : load_wide(column[q] + p, some);
      }
#pragma GCC unroll 3
      for (int i = 0; i < kRows; ++i) {
        const T* const at = a + i * a_rows + p;
        const Vec<T> from_a = some == kLanes<T> ? load(at) : load(at, some);
#pragma GCC unroll 4
        for (int q = 0; q < kStreams; ++q) sum[i][q] = fma(from_a, from_b[q], sum[i][q]);
      }
    }
    for (int i = 0; i < kRows; ++i) {
      for (int64_t q = 0; q < kStreams && j + q * stretch < n; ++q) done(i, j + q * stretch, reduce_sum(sum[i][q]));
    }
  }
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
