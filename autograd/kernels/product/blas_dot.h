// Products of a few rows with columns that are contiguous along k; included once for each instruction set.
#if defined(TAPEGRAD_AUTOGRAD_BLAS_DOT_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEGRAD_AUTOGRAD_BLAS_DOT_H_
#undef TAPEGRAD_AUTOGRAD_BLAS_DOT_H_
#else
#define TAPEGRAD_AUTOGRAD_BLAS_DOT_H_
#endif

#include <algorithm>
#include <cstring>
#include <type_traits>

#include <tapegrad/autograd/kernels/simd/simd.h>

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

// Rows of A, and columns of B, at a time: their sums fit the registers, besides what widening bfloat16 needs.
template <class B>
inline constexpr int kTileRows = 4;
template <>
inline constexpr int kTileRows<uint16_t> = HWY_TARGET == HWY_AVX3 ? 4 : 2;
template <class B>
inline constexpr int kTileStreams = HWY_TARGET == HWY_AVX3 ? 4 : 3;
template <>
inline constexpr int kTileStreams<uint16_t> = HWY_TARGET == HWY_AVX3   ? 4
                                              : HWY_TARGET == HWY_AVX2 ? 3
                                                                       : 2;

// Calls tile(i, rows) for each tile of rows of A; `rows` is a constant, at most kMost.
template <int kMost, class Tile>
HWY_INLINE void for_tiles_of_rows(int64_t m, const Tile& tile) {
  for (int64_t i = 0; i < m; i += kMost) {
    switch (m - i) {
      case 1: tile(i, std::integral_constant<int, 1>()); break;
      case 2: tile(i, std::integral_constant<int, std::min(2, kMost)>()); break;
      case 3: tile(i, std::integral_constant<int, std::min(3, kMost)>()); break;
      default: tile(i, std::integral_constant<int, kMost>()); break;
    }
  }
}

// Columns of B that are read at the same time, and what is fetched into L2 meanwhile.
template <int kStreams, class B>
struct Columns {
  const B* at[kStreams];
  int64_t first, step;                                 // the numbers of the columns
  int64_t ahead;                                       // in elements from here: later columns
  static constexpr int64_t kAhead = 8192 / sizeof(B);  // of all streams together

  // Tile j of columns. One tile of rows reads kStreams ranges of adjacent columns in parallel, each in order. Several
  // tiles read adjacent columns: all but the first find them in L1, where distant ones may be in each other's way.
  HWY_INLINE Columns(const B* b, int64_t b_cols, int64_t n, int64_t j, int64_t width, bool one_tile)
      : first(one_tile ? j : j * kStreams),
        step(one_tile ? width : 1),
        ahead(one_tile ? kAhead / kStreams : kStreams * b_cols) {
    for (int64_t q = 0; q < kStreams; ++q) at[q] = b + std::min(number(q), n - 1) * b_cols;
  }
  HWY_INLINE int64_t number(int64_t q) const { return first + q * step; }
  HWY_INLINE void fetch(int q, int64_t p) const { __builtin_prefetch(at[q] + p + ahead, 0, 2); }
};

// The sums of a tile: rows times columns, each in the vectors of its partial sums.
template <int kRows, int kStreams, class T>
using TileSums = Vec<T>[kRows][kStreams][kSumVecs<T>];

// Calls done(i + r, column, sum) for each of a tile's sums. They go through memory here: only where all indices are
// constants does the compiler keep them in registers, and that many reductions would be much code.
template <int kRows, int kStreams, class B, class T, class Done>
HWY_INLINE void finish_sums(int64_t i, int64_t n, const Columns<kStreams, B>& columns,
                            const TileSums<kRows, kStreams, T>& sum, const Done& done) {
  T sums[kRows * kStreams * kSumLanes<T>];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int q = 0; q < kStreams; ++q) {
#pragma GCC unroll 4
      for (int part = 0; part < kSumVecs<T>; ++part) {
        store(sum[r][q][part], sums + (r * kStreams + q) * kSumLanes<T> + part * kLanes<T>);
      }
    }
  }
  const T* from = sums;
#pragma GCC unroll 1
  for (int64_t r = i; r < i + kRows; ++r) {
#pragma GCC unroll 1
    for (int64_t q = 0; q < kStreams; ++q, from += kSumLanes<T>) {
      if (columns.number(q) < n) done(r, columns.number(q), reduce_sum(load_sum(from)));
    }
  }
}

// dot_rows for kStreams columns at a time.
template <int kMost, int kStreams, class T, class B, class Done>
HWY_INLINE void dot_streams(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_rows, const B* b, int64_t b_cols,
                            const Done& done) {
  const int64_t width = (n + kStreams - 1) / kStreams;
  for (int64_t j = 0; j < width; ++j) {
    const Columns<kStreams, B> columns(b, b_cols, n, j, width, m <= kMost);
    for_tiles_of_rows<kMost>(m, [&]<int kRows>(int64_t i, std::integral_constant<int, kRows>) HWY_ATTR {
      TileSums<kRows, kStreams, T> sum;
      const auto add = [&](int64_t first, const auto& load_part) HWY_ATTR {
#pragma GCC unroll 4
        for (int part = 0; part < kSumVecs<T>; ++part) {
          const int64_t p = first + part * kLanes<T>;
          Vec<T> from_b[kStreams];
#pragma GCC unroll 4
          for (int q = 0; q < kStreams; ++q) {
            if (part == 0) columns.fetch(q, p);
            from_b[q] = load_part(columns.at[q] + p, p);
          }
#pragma GCC unroll 4
          for (int r = 0; r < kRows; ++r) {
            const Vec<T> from_a = load_part(a + (i + r) * a_rows + p, p);
#pragma GCC unroll 4
            for (int q = 0; q < kStreams; ++q) sum[r][q][part] = fma(from_a, from_b[q], sum[r][q][part]);
          }
        }
      };
      int64_t p = 0;
      for (; p + kSumLanes<T> <= k; p += kSumLanes<T>) {
        add(p, [](const auto* from, int64_t) HWY_ATTR { return load_wide(from); });
      }
      if (p < k) {
        add(p, [k](const auto* from, int64_t at)
                   HWY_ATTR { return load_wide(from, std::clamp<int64_t>(k - at, 0, kLanes<T>)); });
      }
      finish_sums<kRows, kStreams, B, T>(i, n, columns, sum, done);
    });
  }
}

// Calls done(i, j, sum) for each of the m rows i of A and column j of B, where sum = A[i, :] B[:, j]. B is read once.
template <class T, class B, class Done>
HWY_INLINE void dot_rows(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_rows, const B* b, int64_t b_cols,
                         const Done& done) {
  if (kTileStreams<B> < 4 && m == 1) return dot_streams<1, 4>(m, n, k, a, a_rows, b, b_cols, done);
  dot_streams<kTileRows<B>, kTileStreams<B>>(m, n, k, a, a_rows, b, b_cols, done);
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
