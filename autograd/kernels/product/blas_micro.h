// The innermost kernels of matrix products, and the packing that they need; included once for each instruction set.
#if defined(TAPEGRAD_AUTOGRAD_BLAS_MICRO_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEGRAD_AUTOGRAD_BLAS_MICRO_H_
#undef TAPEGRAD_AUTOGRAD_BLAS_MICRO_H_
#else
#define TAPEGRAD_AUTOGRAD_BLAS_MICRO_H_
#endif

#include <utility>

#include <tapegrad/autograd/kernels/simd/simd.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// Rows of C that are kept in registers, two vectors each: 6 x 2 of 16 registers, 14 x 2 of 32.
inline constexpr int kMaxRows = kManyRegisters ? 14 : 6;
template <class T>
inline constexpr int64_t kPanel = 2 * kLanes<T>;  // columns of C in two vectors

// C = alpha sum + beta C. kOld: beta is not 0. kPart: only the first `last` columns of the last vector belong to C.
template <bool kOld, bool kPart, class T, int kRows, int kVecs>
HWY_INLINE void put(const typename Vec<T>::Raw (&sum)[kRows][kVecs], T alpha, T beta, T* c, int64_t c_rows,
                    int64_t last) {
#pragma GCC unroll 14
  for (int i = 0; i < kRows; ++i, c += c_rows) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) {
      T* const to = c + v * kLanes<T>;
      const bool part = kPart && v + 1 == kVecs;
      Vec<T> y = alpha * Vec<T>(sum[i][v]);
      if constexpr (kOld) y = fma(Vec<T>(beta), part ? load(to, last) : load(to), y);
      if (part) {
        store(y, to, last);
      } else {
        store(y, to);
      }
    }
  }
}

// `count` cache lines that the next product needs: the first line of `high` rows that are `step` elements apart, then
// the next line of each row, and so on.
template <class T>
struct Lines {
  const T* at = nullptr;
  int64_t step = 0, high = 0, count = 0;
  int64_t at_once = 3;  // after every 16 steps along k
};

// Adds the outer product of a column of A and a row of B, which has kVecs whole vectors; moves on to the next ones.
template <bool kKeep, class T, int kRows, int kVecs>
HWY_INLINE void add_step(typename Vec<T>::Raw (&sum)[kRows][kVecs], const T*& a, int64_t a_rows, int64_t a_cols,
                         const T*& b, int64_t b_rows, T*& panel) {
  const typename Vec<T>::Tag d;
  typename Vec<T>::Raw row[kVecs];
#pragma GCC unroll 2
  for (int v = 0; v < kVecs; ++v) {
    row[v] = hn::LoadU(d, b + v * kLanes<T>);
    if constexpr (kKeep) hn::StoreU(row[v], d, panel + v * kLanes<T>);
  }
  if constexpr (kKeep) panel += kVecs * kLanes<T>;
#pragma GCC unroll 14
  for (int i = 0; i < kRows; ++i) {
    const auto left_a = hn::Set(d, a[i * a_rows]);
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) sum[i][v] = fused(left_a, row[v], sum[i][v]);
  }
  a += a_cols;
  b += b_rows;
}

// sum = A B; row p of B begins at b + p * b_rows and holds kVecs whole vectors. kKeep: also packs B as a panel.
template <bool kUnrolled, bool kKeep, class T, int kRows, int kVecs>
HWY_INLINE void sums(typename Vec<T>::Raw (&sum)[kRows][kVecs], int64_t k, const T* a, int64_t a_rows, int64_t a_cols,
                     const T* b, int64_t b_rows, const T* c, int64_t c_rows, int64_t width, T* panel, Lines<T> ahead) {
  const typename Vec<T>::Tag d;
#pragma GCC unroll 14
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) sum[i][v] = hn::Zero(d);
  }
  // Prefetches C and the lines while the sums are computed, a few at a time: a processor loads about twenty lines at
  // once, and waits if there are more.
  constexpr int64_t kSome = 16;
  constexpr int kRowsAtOnce = (kRows + 3) / 4;
  int next_c = 0;
  int64_t left = ahead.high;
  for (int64_t p = 0, end; p < k; p = end) {
    end = p + kSome < k ? p + kSome : k;
    for (int i = 0; i < kRowsAtOnce && next_c < kRows; ++i, ++next_c) {
      hwy::Prefetch(c + next_c * c_rows);
      hwy::Prefetch(c + next_c * c_rows + width - 1);
    }
    for (int64_t i = 0; i < ahead.at_once && ahead.count > 0; ++i, --ahead.count) {
      hwy::Prefetch(ahead.at);
      ahead.at += ahead.step;
      if (--left == 0) ahead.at += static_cast<int64_t>(64 / sizeof(T)) - ahead.high * ahead.step, left = ahead.high;
    }
    if (kUnrolled && end - p == kSome) {
#pragma GCC unroll 8
      for (int64_t q = 0; q < kSome; ++q) add_step<kKeep>(sum, a, a_rows, a_cols, b, b_rows, panel);
    } else {
#pragma GCC unroll 2
      for (int64_t q = p; q < end; ++q) add_step<kKeep>(sum, a, a_rows, a_cols, b, b_rows, panel);
    }
  }
}

// C[0:kRows, 0:width] = alpha A B + beta C. Known strides and eight steps at once save a tenth of the instructions.
template <class T, int kRows, int kVecs>
HWY_NOINLINE void micro(int64_t k, T alpha, const T* a, int64_t a_rows, int64_t a_cols, const T* b, int64_t b_rows,
                        T beta, T* c, int64_t c_rows, int64_t width, const Lines<T>& ahead) {
  typename Vec<T>::Raw sum[kRows][kVecs];
  constexpr bool kLarge = HWY_TARGET == HWY_AVX2 && sizeof(T) == sizeof(float) && kRows == kMaxRows && kVecs == 2;
  T* const none = nullptr;
  if (kLarge && b_rows == kPanel<T> && a_cols == 1) {
    sums<true, false>(sum, k, a, a_rows, 1, b, kPanel<T>, c, c_rows, width, none, ahead);
  } else if (kLarge && b_rows == kPanel<T> && a_rows == 1 && a_cols == kMaxRows) {
    sums<true, false>(sum, k, a, 1, kMaxRows, b, kPanel<T>, c, c_rows, width, none, ahead);
  } else {
    sums<false, false>(sum, k, a, a_rows, a_cols, b, b_rows, c, c_rows, width, none, ahead);
  }
  const int64_t last = width - (kVecs - 1) * kLanes<T>;
  if (last == kLanes<T>) {
    beta == 0 ? put<false, false>(sum, alpha, beta, c, c_rows, kLanes<T>)
              : put<true, false>(sum, alpha, beta, c, c_rows, kLanes<T>);
  } else if (beta == 0) {
    put<false, true, T>(sum, alpha, beta, c, c_rows, last);
  } else {
    put<true, true, T>(sum, alpha, beta, c, c_rows, last);
  }
}

// The same for a whole panel, which is packed on the way.
template <class T, int kRows>
void micro_keep(int64_t k, T alpha, const T* a, int64_t a_rows, int64_t a_cols, const T* b, int64_t b_rows, T beta,
                T* c, int64_t c_rows, T* panel, const Lines<T>& ahead) {
  typename Vec<T>::Raw sum[kRows][2];
  sums<false, true>(sum, k, a, a_rows, a_cols, b, b_rows, c, c_rows, kPanel<T>, panel, ahead);
  beta == 0 ? put<false, false>(sum, alpha, beta, c, c_rows, kLanes<T>)
            : put<true, false>(sum, alpha, beta, c, c_rows, kLanes<T>);
}

template <class T>
using MicroKeep = void (*)(int64_t, T, const T*, int64_t, int64_t, const T*, int64_t, T, T*, int64_t, T*,
                           const Lines<T>&);
template <class T>
inline constexpr MicroKeep<T> kMicroKeep[] = {micro_keep<T, kMaxRows>, micro_keep<T, kMaxRows - 1>};

template <class T>
using Micro = void (*)(int64_t, T, const T*, int64_t, int64_t, const T*, int64_t, T, T*, int64_t, int64_t,
                       const Lines<T>&);

// Rows of C with one vector each: more of them, because it takes ten independent sums to use the multipliers fully.
inline constexpr int kTallRows = kManyRegisters ? 14 : 12;

// The largest number of rows, at most `rows`, that has a kernel of its own. double has fewer of them, which takes less
// space: its products are BLIS's, but for small ones and few rows.
template <class T>
constexpr int rows_at_once(int rows) {
  if (sizeof(T) < sizeof(double)) return rows;
  return rows >= kMaxRows ? kMaxRows : rows >= 4 ? 4 : rows >= 2 ? 2 : 1;
}

// C in parts of so many rows.
template <class T, int kRows, int kVecs>
void micro_in_parts(int64_t k, T alpha, const T* a, int64_t a_rows, int64_t a_cols, const T* b, int64_t b_rows, T beta,
                    T* c, int64_t c_rows, int64_t width, const Lines<T>& ahead) {
  if constexpr (kRows > 0) {
    constexpr int kFirst = rows_at_once<T>(kRows);
    micro<T, kFirst, kVecs>(k, alpha, a, a_rows, a_cols, b, b_rows, beta, c, c_rows, width, ahead);
    micro_in_parts<T, kRows - kFirst, kVecs>(k, alpha, a + kFirst * a_rows, a_rows, a_cols, b, b_rows, beta,
                                             c + kFirst * c_rows, c_rows, width, {});
  }
}

template <class T, int kRows, int kVecs>
constexpr Micro<T> micro_of() {
  if constexpr (rows_at_once<T>(kRows) == kRows) {
    return micro<T, kRows, kVecs>;
  } else {
    return micro_in_parts<T, kRows, kVecs>;
  }
}

template <class T>
struct MicroTable {
  Micro<T> narrow[kTallRows], wide[kMaxRows];  // of one vector and of two, by rows less one
};

template <class T, int... kNarrow, int... kWide>
constexpr MicroTable<T> micro_table(std::integer_sequence<int, kNarrow...>, std::integer_sequence<int, kWide...>) {
  return {{micro_of<T, kNarrow + 1, 1>()...}, {micro_of<T, kWide + 1, 2>()...}};
}

template <class T>
inline constexpr MicroTable<T> kMicro = micro_table<T>(std::make_integer_sequence<int, kTallRows>(),
                                                       std::make_integer_sequence<int, kMaxRows>());

// A whole vector whose blocks of 16 bytes are loaded from p[0] + at, p[kStride] + at, p[2 kStride] + at, ...
template <int kStride, class T>
HWY_INLINE typename Vec<T>::Raw load_blocks(const T* const* p, int64_t at) {
  constexpr int64_t kBlock = 16 / sizeof(T);
  const hn::ScalableTag<T> d;
  const hn::FixedTag<T, kBlock> block;
  if constexpr (kLanes<T> == kBlock) {
    return hn::LoadU(block, p[0] + at);
  } else if constexpr (kLanes<T> == 2 * kBlock) {
    return hn::Combine(d, hn::LoadU(block, p[kStride] + at), hn::LoadU(block, p[0] + at));
  } else {
    const hn::Half<decltype(d)> half;
    return hn::Combine(d,
                       hn::Combine(half, hn::LoadU(block, p[3 * kStride] + at), hn::LoadU(block, p[2 * kStride] + at)),
                       hn::Combine(half, hn::LoadU(block, p[kStride] + at), hn::LoadU(block, p[0] + at)));
  }
}

// to[q] holds element at + q of each column, for as many q as 16 bytes hold.
template <class T>
HWY_INLINE void load_square(const T* const* columns, int64_t at, typename Vec<T>::Raw (&to)[16 / sizeof(T)]) {
  const hn::ScalableTag<T> d;
  if constexpr (sizeof(T) == sizeof(float)) {  // squares of 4 x 4 side by side, in two rounds of interleaving
    const auto r0 = load_blocks<4>(columns, at), r1 = load_blocks<4>(columns + 1, at);
    const auto r2 = load_blocks<4>(columns + 2, at), r3 = load_blocks<4>(columns + 3, at);
    const auto t0 = hn::InterleaveLower(d, r0, r2), t1 = hn::InterleaveLower(d, r1, r3);
    const auto t2 = hn::InterleaveUpper(d, r0, r2), t3 = hn::InterleaveUpper(d, r1, r3);
    to[0] = hn::InterleaveLower(d, t0, t1);
    to[1] = hn::InterleaveUpper(d, t0, t1);
    to[2] = hn::InterleaveLower(d, t2, t3);
    to[3] = hn::InterleaveUpper(d, t2, t3);
  } else {
    const auto r0 = load_blocks<2>(columns, at), r1 = load_blocks<2>(columns + 1, at);
    to[0] = hn::InterleaveLower(d, r0, r1);
    to[1] = hn::InterleaveUpper(d, r0, r1);
  }
}

// to[p * to_rows + j] = columns[j][p] for p < rows.
template <class T>
HWY_INLINE void transpose_columns(int64_t rows, const T* const (&columns)[kLanes<T>], T* to, int64_t to_rows) {
  constexpr int64_t kBlock = 16 / sizeof(T);
  const hn::ScalableTag<T> d;
  int64_t p = 0;
  for (; p + kBlock <= rows; p += kBlock, to += kBlock * to_rows) {
    typename Vec<T>::Raw square[kBlock];
    load_square<T>(columns, p, square);
#pragma GCC unroll 4
    for (int64_t q = 0; q < kBlock; ++q) hn::StoreU(square[q], d, to + q * to_rows);
  }
  for (; p < rows; ++p, to += to_rows) {
    for (int64_t j = 0; j < kLanes<T>; ++j) to[j] = columns[j][p];
  }
}

// to[p * to_rows + j] = from[j * step + p] for p < rows, j < cols; the remaining lanes repeat the last column.
template <class T>
HWY_INLINE void transpose_lanes(int64_t rows, int64_t cols, const T* from, int64_t step, T* to, int64_t to_rows) {
  const T* columns[kLanes<T>];
  for (int64_t j = 0; j < kLanes<T>; ++j) columns[j] = from + (j < cols ? j : cols - 1) * step;
  transpose_columns<T>(rows, columns, to, to_rows);
}

// A panel of B: to[p * padded + j] = b[p * b_rows + j * b_cols] for j < width, any values from there to the end of the
// vector.
template <class T>
void pack_panel(int64_t k, int64_t width, const T* b, int64_t b_rows, int64_t b_cols, int64_t padded, T* to) {
  if (b_cols == 1 && width == kPanel<T>) {
    for (int64_t p = 0; p < k; ++p, b += b_rows, to += kPanel<T>) {
      store(load(b), to);
      store(load(b + kLanes<T>), to + kLanes<T>);
    }
    return;
  }
  for (int64_t j = 0; j < width; j += kLanes<T>) {
    const int64_t some = width - j < kLanes<T> ? width - j : kLanes<T>;
    const T* from = b + j * b_cols;
    if (b_cols == 1) {
      for (int64_t p = 0; p < k; ++p) store(load(from + p * b_rows, some), to + p * padded + j);
    } else if (b_rows == 1) {
      transpose_lanes(k, some, from, b_cols, to + j, padded);
    } else {
      for (int64_t p = 0; p < k; ++p) {
        for (int64_t q = 0; q < some; ++q) to[p * padded + j + q] = from[p * b_rows + q * b_cols];
        for (int64_t q = some; q < kLanes<T>; ++q) to[p * padded + j + q] = 0;
      }
    }
  }
}

// Packs slivers of A, of `high` rows each, one after another, for a kernel that reads columns of kHigh elements; in
// each, to[p * kHigh + i] = a[i * a_rows + p * a_cols].
template <int kHigh = kMaxRows, class T>
void pack_slivers(int64_t m, int64_t high, int64_t k, const T* a, int64_t a_rows, int64_t a_cols, T* to) {
  constexpr int64_t kSome =
      HWY_TARGET == HWY_AVX3 ? 8 : 16;  // columns of A at a time: their cache lines are used again by the next sliver
  constexpr int64_t kRead = (kHigh + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
  for (int64_t first = 0; first < k; first += kSome) {
    const int64_t end = first + kSome < k ? first + kSome : k, next = end + kSome < k ? end + kSome : k;
    T* sliver = to;
    for (int64_t i = 0; i < m; i += high, sliver += kHigh * k) {
      const T* const from = a + i * a_rows;
      const int64_t rows = m - i < high ? m - i : high;
      for (int64_t p = end; a_rows == 1 && p < next; ++p) {  // into L2: in L1 they could displace the present ones
        __builtin_prefetch(from + rows - 1 + p * a_cols, 0, 2);
      }
      int64_t p = first;
      if (a_rows == 1 && i + kRead <= m) {          // reads more rows than the sliver has, all within A
        for (; p < (end < k ? end : k - 1); ++p) {  // what is too much is overwritten by the next column
          for (int64_t q = 0; q < kHigh; q += kLanes<T>) store(load(from + p * a_cols + q), sliver + p * kHigh + q);
        }
      }
      for (; p < end; ++p) {
        for (int64_t q = 0; q < rows; ++q) sliver[p * kHigh + q] = from[q * a_rows + p * a_cols];
      }
    }
  }
}

// The same for rows that are contiguous along k.
template <int kHigh = kMaxRows, class T>
void pack_slivers_of_rows(int64_t m, int64_t k, const T* a, int64_t a_rows, T* to) {
  for (int64_t i = 0; i < m; i += kHigh, a += kHigh * a_rows, to += kHigh * k) {
    const int64_t rows = m - i < kHigh ? m - i : kHigh;
    // The last lanes first: what is too much is overwritten by the first ones, and by the next column.
    for (int64_t q = (rows - 1) / kLanes<T> * kLanes<T>; q >= 0; q -= kLanes<T>) {
      transpose_lanes(k - 1, rows - q < kLanes<T> ? rows - q : kLanes<T>, a + q * a_rows, a_rows, to + q, kHigh);
    }
    for (int64_t q = 0; q < rows; ++q) to[(k - 1) * kHigh + q] = a[q * a_rows + k - 1];
  }
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the include guard of this instruction set
