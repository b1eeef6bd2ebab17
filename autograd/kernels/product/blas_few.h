// Products of a few rows with columns that are contiguous along k, without packing these; included once for each
// instruction set.
#if defined(TAPEGRAD_AUTOGRAD_BLAS_FEW_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEGRAD_AUTOGRAD_BLAS_FEW_H_
#undef TAPEGRAD_AUTOGRAD_BLAS_FEW_H_
#else
#define TAPEGRAD_AUTOGRAD_BLAS_FEW_H_
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <tapegrad/autograd/kernels/product/blas_micro.h>
#include <tapegrad/autograd/kernels/product/matrix_view.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// Columns at a time: a cache line of C, in kSumVecs vectors. They are read a few elements at a time and transposed in
// registers, so that each lane sums one column in order, as it does in a tile.
template <class T>
inline constexpr int64_t kFewColumns = 64 / sizeof(T);

// Rows at a time: their sums and a square of the columns fit the registers. double has fewer kernels.
template <class T>
inline constexpr int kFewAtOnce = sizeof(T) == sizeof(double) ? 2 : 4;

// A step of k: as many elements as 16 bytes hold.
template <class T>
inline constexpr int64_t kFewStep = 16 / sizeof(T);

// Where a product of a few rows reads: rows of A, and columns of B, which are contiguous along k.
template <class T>
struct FewOperands {
  const T* a;
  int64_t a_rows;
  const T* b;
  int64_t b_cols;
};

// sum = the product of `length` elements along k. If kFetch, as many lines are fetched into L2 for later, in runs of
// kDepth elements, the first at `ahead` and the others `step` elements apart.
template <int kRows, bool kFetch, class T>
HWY_INLINE void few_sums(typename Vec<T>::Raw (&sum)[kRows][kSumVecs<T>], int64_t length, const FewOperands<T>& x,
                         const T* ahead, int64_t step) {
  using Raw = typename Vec<T>::Raw;
  constexpr int64_t kLine = kFewColumns<T>, kStep = kFewStep<T>;
  constexpr int kVecs = kSumVecs<T>, kBases = kFewColumns<T> / 8;
  const typename Vec<T>::Tag d;
  // Addresses are a pointer plus one of these. The compiler must not know how they depend on each other: it would
  // compute the addresses one by one.
  int64_t s1 = x.b_cols, s3 = 3 * x.b_cols, s5 = 5 * x.b_cols, s7 = 7 * x.b_cols;
  asm("" : "+r"(s1), "+r"(s3), "+r"(s5), "+r"(s7));
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVecs; ++v) sum[r][v] = hn::Zero(d);
  }
  const T* base[kBases];  // of 8 columns each
  for (int i = 0; i < kBases; ++i) base[i] = x.b + 8 * i * s1;
  const T* from = x.a;
  int64_t p = 0;
  for (; p + kStep <= length; p += kStep, from += kStep) {
    if constexpr (kFetch) {  // lines in the order of memory: a processor then fetches further ones by itself
      constexpr int64_t kRun = blas::kDepth / kLine;
      const T* const fetched = ahead + p / kRun * step + p % kRun * kLine;
#pragma GCC unroll 4
      for (int i = 0; i < kStep; ++i) __builtin_prefetch(fetched + i * kLine, 0, 2);
    }
#pragma GCC unroll 4
    for (int v = 0; v < kVecs; ++v) {
      const T* columns[kFewColumns<T>];
#pragma GCC unroll 2
      for (int i = 0; i < kBases; ++i) {
        const T* at = base[i];
        asm("" : "+r"(at));
        const T* const eight[] = {at, at + s1, at + 2 * s1, at + s3, at + 4 * s1, at + s5, at + 2 * s3, at + s7};
#pragma GCC unroll 8
        for (int q = 0; q < 8; ++q) columns[8 * i + q] = eight[q];
      }
      Raw square[kStep];
      load_square<T>(columns + v * kLanes<T>, 0, square);
#pragma GCC unroll 4
      for (int q = 0; q < kStep; ++q) {
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) sum[r][v] = fused(hn::Set(d, from[r * x.a_rows + q]), square[q], sum[r][v]);
      }
    }
#pragma GCC unroll 2
    for (int i = 0; i < kBases; ++i) base[i] += kStep;
  }
  for (; p < length; ++p, ++from) {
    T row[kFewColumns<T>];
    for (int64_t j = 0; j < kFewColumns<T>; ++j) row[j] = x.b[j * x.b_cols + p];
#pragma GCC unroll 4
    for (int v = 0; v < kVecs; ++v) {
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        sum[r][v] = fused(hn::Set(d, from[r * x.a_rows]), load(row + v * kLanes<T>).raw, sum[r][v]);
      }
    }
  }
}

// C[0:kRows, 0:kFewColumns] = alpha A B + beta C, in blocks of `depth` along k.
template <int kRows, bool kFetch, class T>
HWY_NOINLINE void few_columns(int64_t k, int64_t depth, T alpha, const FewOperands<T>& x, T beta, T* c,
                              int64_t c_rows) {
  // The next columns if they are one piece of memory that is not too large, or else what is read three blocks later.
  const bool whole = x.b_cols == k && k <= 4 * blas::kDepth;
  const int64_t later = 3 * depth, next = kFewColumns<T> * x.b_cols;
  for (int64_t begin = 0; begin < k; begin += depth) {
    typename Vec<T>::Raw sum[kRows][kSumVecs<T>];
    const int64_t from = whole               ? next + begin * kFewColumns<T>
                         : begin + later < k ? begin + later
                                             : begin + next - std::max(int64_t{0}, k - later);
    few_sums<kRows, kFetch, T>(sum, std::min(depth, k - begin), {x.a + begin, x.a_rows, x.b + begin, x.b_cols},
                               x.b + from, whole ? blas::kDepth : x.b_cols);
    if (begin == 0 && beta == 0) {
      put<false, false, T>(sum, alpha, beta, c, c_rows, kLanes<T>);
    } else {
      put<true, false, T>(sum, alpha, begin == 0 ? beta : T(1), c, c_rows, kLanes<T>);
    }
  }
}

// C[0:m, 0:n] = alpha A B + beta C, in blocks of `depth` along k; n is a multiple of kFewColumns, or beta is 0 and n
// larger: then some of the last columns are computed twice, in the same bits. B is read once; `fetch` what comes next
// into L2, which costs time if it is there.
template <class T>
HWY_INLINE void few_rows(int64_t m, int64_t n, int64_t k, int64_t depth, T alpha, const FewOperands<T>& x, T beta, T* c,
                         int64_t c_rows, bool fetch) {
  constexpr int kMost = kFewAtOnce<T>;
  using Kernel = void (*)(int64_t, int64_t, T, const FewOperands<T>&, T, T*, int64_t);
  static constexpr auto kTable = []<int... r>(std::integer_sequence<int, r...>) {
    return std::array<std::array<Kernel, kMost>, 2>{
        {{few_columns<r + 1, false, T>...}, {few_columns<r + 1, true, T>...}}};
  }
  (std::make_integer_sequence<int, kMost>());
  const int64_t times = (m + kMost - 1) / kMost;
  for (int64_t column = 0; column < n; column += kFewColumns<T>) {
    const int64_t j = std::min(column, n - kFewColumns<T>);
    for (int64_t t = 0; t < times; ++t) {
      const int64_t i = m * t / times, rows = m * (t + 1) / times - i;
      kTable[fetch ? 1 : 0][static_cast<std::size_t>(rows - 1)](
          k, depth, alpha, {x.a + i * x.a_rows, x.a_rows, x.b + j * x.b_cols, x.b_cols}, beta, c + i * c_rows + j,
          c_rows);
    }
  }
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
