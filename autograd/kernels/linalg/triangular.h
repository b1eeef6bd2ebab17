// Triangular systems, and LU and Cholesky factorization of single matrices, for float and double: blocks around our
// matrix products. Large matrices use several threads; the order of every sum depends only on the sizes.
#pragma once

#include <tapegrad/autograd/kernels/product/blas.h>

#include <cstdint>

namespace tapegrad {

/// Solves a x = b in place for a triangular a [n, n] and b [n, columns] with contiguous rows; `unit`: the diagonal
/// counts as ones. The other triangle of a is not read.
template <class T>
void solve_triangle(bool upper, bool unit, int64_t n, int64_t columns, MatrixView<const std::type_identity_t<T>> a,
                    T* b);

/// P a = L U in place, for a [n, n] by rows, with partial pivoting: L, without its diagonal of ones, is stored below U.
/// Row i was exchanged with row pivots[i], in order of i. Returns whether all pivots are nonzero.
template <class T>
bool factor_lu(int64_t n, T* a, int32_t* pivots);
/// b [n, columns] = a^-1 b, or a^-T b if `transposed`, from the factors of a.
template <class T>
void solve_lu(bool transposed, int64_t n, int64_t columns, const T* factors, const int32_t* pivots, T* b);

/// a [n, n] = L L^T in place, by rows: L in the lower triangle; the upper one is not read, and its contents are
/// unspecified afterwards. Returns whether a is positive definite.
template <class T>
bool factor_cholesky(int64_t n, T* a);

}  // namespace tapegrad
