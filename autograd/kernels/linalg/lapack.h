// QR factorization, eigenvalues and singular values of single matrices, for float and double. Only lapack.cpp calls
// LAPACK.
//
// Matrices are stored column by column without gaps, so a row-major matrix is read as its transpose. Each call runs on
// the calling thread only; several threads may call at once.
#pragma once

namespace tapegrad::lapack {

/// a [m, n] = Q R, in place: R in the upper triangle; the reflectors below it and in tau [min(m, n)], for qr_vectors.
template <class T>
void qr(int m, int n, T* a, T* tau);
/// Computes the first `columns` columns of Q, [m, columns], from reflectors [m, count] and tau [count], in place.
template <class T>
void qr_vectors(int m, int columns, int count, T* a, const T* tau);

/// The eigenvalues [n] of a symmetric a [n, n], of which the upper triangle is read, in ascending order. If requested,
/// the eigenvectors replace a; otherwise a is overwritten. Returns whether the iteration converged.
template <class T>
bool symmetric_eigen(bool vectors, int n, T* a, T* values);

enum class SvdParts { values, reduced, full };
/// a [m, n] = u diag(s) vt with s [k] descending, k = min(m, n): u [m, k], vt [k, n], or [m, m] and [n, n] if full; a
/// is overwritten. Returns whether the iteration converged.
template <class T>
bool svd(SvdParts parts, int m, int n, T* a, T* s, T* u, T* vt);

}  // namespace tapegrad::lapack
