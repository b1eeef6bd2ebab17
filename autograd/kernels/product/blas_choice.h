// A matrix product, and the choice of what computes it: BLIS or our tiles.
#pragma once

#include <tapegrad/autograd/detail/pieces.h>
#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/autograd/kernels/processor.h>
#include <tapegrad/autograd/kernels/product/blas_blis.h>
#include <tapegrad/autograd/kernels/product/blas_kernels.h>
#include <tapegrad/autograd/kernels/product/engines.h>
#include <tapegrad/autograd/kernels/product/matrix_view.h>
#include <tapegrad/autograd/parallel.h>

#include <algorithm>
#include <cstdint>

namespace tapegrad::blas {

inline constexpr int64_t kTile = 256;              // most columns of a tile of C; and most rows, if L2 has 512 KiB
inline constexpr int64_t kLeastTile = 128 * 384;   // elements of C for each of many threads: each packs its operands
inline constexpr int64_t kPieceWork = 800000;      // least multiplications of a piece for another thread: about 20 us
inline constexpr int64_t kPackWork = 16 << 10;     // least elements to pack on another thread
inline constexpr int64_t kSharedB = 2 << 20;       // up to this many, B is packed once for all tiles
inline constexpr int64_t kFewOutputs = 128 * 128;  // a C of at most this size is split along k if k is long
inline constexpr int64_t kCaches = 4;              // second-level caches: a smaller B is taken to be in a cache
inline constexpr int64_t kFewSums = 64;            // the same if B is read column by column

template <class T>
struct Product {
  int64_t m, n, k;
  T alpha;
  MatrixView<const T> a, b;
  T beta;
  MatrixView<T> c;

  // Whether C is computed by rows: its rows are contiguous, or its columns are not. Otherwise C' = B' A' is computed.
  bool row_major_c() const {
    if (n == 1 && m > 1) return false;
    return c.col_stride == 1 || c.row_stride != 1 || m == 1;
  }
  // Few rows times columns that are contiguous along k, which are not packed, but read once.
  bool few_rows() const { return m <= kUnpackedRows && a.col_stride == 1 && b.row_stride == 1; }
  // Whether to compute C' = B' A'. The rows of A and the columns of B are contiguous along k, and the operand that is
  // read in vectors must be transposed: B, or A and C if the product is turned. That pays if it is less than half as
  // many elements; a quarter, if the rows of B' map to the same cache lines and must be copied.
  bool better_turned() const {
    if (a.col_stride != 1 || b.row_stride != 1 || c.col_stride != 1 || beta != 0 || m <= kUnpackedRows) return false;
    const int64_t times_packed = n * k <= kSharedB ? 1 : pieces_of(m, kTile);
    return (aliased<T>(b.col_stride, 1) ? 4 : 2) * m * (k + n) < n * k * times_packed;
  }
  // The multiplications. For one row or column, reading the other operand takes longer; then an equivalent number.
  int64_t work() const { return std::max<int64_t>(m, 6) * std::max<int64_t>(n, 6) * k; }
  bool one_tile() const { return work() < 2 * kPieceWork; }
  // Whether the sums are cut along k: a small C, whose tiles would be too few.
  bool along_k() const {
    return !one_tile() && m * n <= (few_rows() ? kFewSums : kFewOutputs) && k >= 2 * kDepth &&
           m * n * k >= 2 * kPieceWork;
  }
  Product transposed() const {
    return {n,
            m,
            k,
            alpha,
            {b.data, b.col_stride, b.row_stride},
            {a.data, a.col_stride, a.row_stride},
            beta,
            {c.data, c.col_stride, c.row_stride}};
  }
  Tile<T> tile(int64_t row, int64_t rows, int64_t col, int64_t cols) const {
    return {rows,
            cols,
            k,
            alpha,
            a.data + row * a.row_stride,
            a.row_stride,
            a.col_stride,
            b.data + col * b.col_stride,
            b.row_stride,
            b.col_stride,
            beta,
            c.data + row * c.row_stride + col * c.col_stride,
            c.row_stride,
            {},
            {},
            n * k * int64_t{sizeof(T)} > kCaches * second_cache_bytes()};
  }
};

// Whether BLIS is more than 3 % faster than our tiles on the processors where `bench_matmul --benchmark_filter=choice`
// was run (bench/NOTES.md). It packs both operands; our tiles read rows of A in place, which pays for the narrow ones.
template <class T>
bool faster_on_blis(const Product<T>& p) {
  if (p.c.col_stride != 1 || (num_threads() > 2 && p.m * p.n < num_threads() * kLeastTile)) return false;
  if (sizeof(T) == sizeof(double)) {  // ours is more than 1.3 times as fast for less, and for few rows or columns
    return p.m * p.n * p.k >= 512 << 10 && p.m >= 32 && p.n >= 32;
  }
  // Rows of A that our tiles would have to copy, and with AVX-512 the gradients of a weight and of x.
  if (p.m >= 512 && p.n >= 384 && p.k >= 1536 && aliased<T>(p.a.row_stride, p.a.col_stride)) return true;
  if (kernel_family() == KernelFamily::avx2) return false;
  if (p.a.col_stride != 1) return p.m >= 384 && p.n >= 1536;
  return p.b.col_stride == 1 && p.m >= 512 && p.n >= 512 && p.k * p.n >= 8 << 20;
}

template <class T>
bool on_blis(const Product<T>& p, Products products) {
  if (products == Products::own || (products == Products::automatic && (p.along_k() || !faster_on_blis(p))))
    return false;
  return has_blis_kernel<T>() && (p.beta == 0 || p.beta == 1);
}

template <class T>
Engine engine_of(const Product<T>& p, bool on_blis) {
  return on_blis ? Engine::blis : p.one_tile() ? Engine::small : Engine::tiles;
}

}  // namespace tapegrad::blas
