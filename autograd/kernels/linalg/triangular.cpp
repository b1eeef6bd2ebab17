// Triangular systems, LU and Cholesky: small blocks row by row, the rest as matrix products.
#include <tapegrad/autograd/kernels/linalg/triangular.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace tapegrad {
namespace {

constexpr int64_t kBlock = 32;      // rows and columns of a block
constexpr int64_t kStrip = 256;     // rows of a product that updates a part of a lower triangle
constexpr int64_t kColumns = 1024;  // columns of b at a time, so that their block of rows fits into the cache

// y -= factor * x
template <class T>
void subtract(int64_t n, T factor, const T* __restrict x, T* __restrict y) {
  for (int64_t i = 0; i < n; ++i) y[i] -= factor * x[i];
}

// The rows of b that belong to one diagonal block of a.
template <class T>
void solve_block(bool upper, bool unit, int64_t n, int64_t columns, MatrixView<const T> a, T* b, int64_t b_rows) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = upper ? n - 1 - step : step;
    T* const row = b + i * b_rows;
    const T* const of_a = a.data + i * a.row_stride;
    for (int64_t j = upper ? i + 1 : 0; j < (upper ? n : i); ++j) {
      subtract(columns, of_a[j * a.col_stride], b + j * b_rows, row);
    }
    if (unit) continue;
    const T pivot = of_a[i * a.col_stride];
    for (int64_t k = 0; k < columns; ++k) row[k] /= pivot;
  }
}

// The same, for b whose rows are b_rows apart.
template <class T>
void solve_rows(bool upper, bool unit, int64_t n, int64_t columns, MatrixView<const T> a, T* b, int64_t b_rows) {
  const int64_t blocks = (n + kBlock - 1) / kBlock;
  for (int64_t step = 0; step < blocks; ++step) {
    const int64_t begin = (upper ? blocks - 1 - step : step) * kBlock, end = std::min(begin + kBlock, n);
    const T* const diagonal = a.data + begin * (a.row_stride + a.col_stride);
    for (int64_t k = 0; k < columns; k += kColumns) {
      solve_block<T>(upper, unit, end - begin, std::min(kColumns, columns - k), {diagonal, a.row_stride, a.col_stride},
                     b + begin * b_rows + k, b_rows);
    }
    const int64_t first = upper ? 0 : end, rows = upper ? begin : n - end;
    gemm<T>(rows, columns, end - begin, T(-1),
            {a.data + first * a.row_stride + begin * a.col_stride, a.row_stride, a.col_stride},
            {b + begin * b_rows, b_rows, 1}, T(1), {b + first * b_rows, b_rows, 1});
  }
}

// Factors the columns [begin, end) of a, rows from `begin` on; exchanges whole rows.
template <class T>
bool factor_panel(int64_t n, int64_t begin, int64_t end, T* a, int32_t* pivots) {
  bool regular = true;
  for (int64_t j = begin; j < end; ++j) {
    int64_t best = j;
    for (int64_t i = j + 1; i < n; ++i) {
      if (std::abs(a[i * n + j]) > std::abs(a[best * n + j])) best = i;
    }
    pivots[j] = static_cast<int32_t>(best);
    if (best != j) std::swap_ranges(a + j * n, a + (j + 1) * n, a + best * n);
    const T pivot = a[j * n + j];
    if (pivot == 0) {
      regular = false;
      continue;
    }
    for (int64_t i = j + 1; i < n; ++i) {
      a[i * n + j] /= pivot;
      subtract(end - j - 1, a[i * n + j], a + j * n + j + 1, a + i * n + j + 1);
    }
  }
  return regular;
}

}  // namespace

template <class T>
void solve_triangle(bool upper, bool unit, int64_t n, int64_t columns, MatrixView<const std::type_identity_t<T>> a,
                    T* b) {
  solve_rows<T>(upper, unit, n, columns, a, b, columns);
}

template <class T>
bool factor_lu(int64_t n, T* a, int32_t* pivots) {
  bool regular = true;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, n), rest = n - end;
    regular &= factor_panel(n, begin, end, a, pivots);
    T* const beside = a + begin * n + end;
    solve_rows<T>(false, true, end - begin, rest, {a + begin * (n + 1), n, 1}, beside, n);
    gemm<T>(rest, rest, end - begin, T(-1), {a + end * n + begin, n, 1}, {beside, n, 1}, T(1),
            {a + end * (n + 1), n, 1});
  }
  return regular;
}

template <class T>
void solve_lu(bool transposed, int64_t n, int64_t columns, const T* factors, const int32_t* pivots, T* b) {
  const auto exchange = [&](int64_t i) {
    T* const row = b + i * columns;
    if (pivots[i] != i) std::swap_ranges(row, row + columns, b + pivots[i] * columns);
  };
  if (!transposed) {
    for (int64_t i = 0; i < n; ++i) exchange(i);
    solve_triangle<T>(false, true, n, columns, {factors, n, 1}, b);
    solve_triangle<T>(true, false, n, columns, {factors, n, 1}, b);
  } else {
    solve_triangle<T>(false, false, n, columns, {factors, 1, n}, b);
    solve_triangle<T>(true, true, n, columns, {factors, 1, n}, b);
    for (int64_t i = n - 1; i >= 0; --i) exchange(i);
  }
}

template <class T>
bool factor_cholesky(int64_t n, T* a) {
  T turned[kBlock * kBlock];  // L^T of the diagonal block
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, n), width = end - begin;
    for (int64_t i = begin; i < n; ++i) {
      T* const row = a + i * n + begin;  // in place: the row x of L with x L^T = the row of a, for the rows of L above
      const int64_t known = std::min(i - begin, width);
      for (int64_t j = 0; j < known; ++j) {
        row[j] /= turned[j * kBlock + j];
        subtract(known - j - 1, row[j], turned + j * (kBlock + 1) + 1, row + j + 1);
      }
      if (i >= end) continue;
      T square = row[known];
      for (int64_t j = 0; j < known; ++j) {
        square -= row[j] * row[j];
        turned[j * kBlock + known] = row[j];
      }
      if (!(square > 0)) return false;
      row[known] = turned[known * (kBlock + 1)] = std::sqrt(square);
    }
    for (int64_t first = end; first < n; first += kStrip) {
      const int64_t last = std::min(first + kStrip, n);
      gemm<T>(last - first, last - end, width, T(-1), {a + first * n + begin, n, 1}, {a + end * n + begin, 1, n}, T(1),
              {a + first * n + end, n, 1});
    }
  }
  return true;
}

template void solve_triangle<float>(bool, bool, int64_t, int64_t, MatrixView<const float>, float*);
template void solve_triangle<double>(bool, bool, int64_t, int64_t, MatrixView<const double>, double*);
template bool factor_lu<float>(int64_t, float*, int32_t*);
template bool factor_lu<double>(int64_t, double*, int32_t*);
template void solve_lu<float>(bool, int64_t, int64_t, const float*, const int32_t*, float*);
template void solve_lu<double>(bool, int64_t, int64_t, const double*, const int32_t*, double*);
template bool factor_cholesky<float>(int64_t, float*);
template bool factor_cholesky<double>(int64_t, double*);

}  // namespace tapegrad
