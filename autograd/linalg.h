// Linear algebra: systems of equations, factorizations, eigenvalues and singular values.
//
// Matrices are the last two axes, [..., m, n]; the leading axes are a batch, which runs in parallel over its matrices.
// float32 and float64, the same for all operands. Gradients are PyTorch's and can be differentiated twice. Empty
// matrices and batches are valid. Errors name the matrix of a batch by its indices.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

// --- systems of equations (ops/linalg_solve.cpp) ---

/// x with a x = b, by LU factorization with partial pivoting: a [..., n, n], b [..., n, k] -> [..., n, k]; the leading
/// axes broadcast. b is a batch of vectors if it has one axis, or exactly the shape of a without its last axis; then
/// the result has b's shape. Error for a singular a.
Tensor solve(const Tensor& a, const Tensor& b);
struct TriangularOptions {
  bool upper = false;          ///< which triangle of a is read; the other one counts as zero
  bool left = true;            ///< a x = b; false: x a = b
  bool unitriangular = false;  ///< the diagonal counts as ones
};
/// x with a x = b for a triangular a [..., n, n] and b [..., n, k], or x a = b with b [..., k, n]; the leading axes
/// broadcast. A zero on the diagonal gives infinity or NaN.
Tensor triangular_solve(const Tensor& a, const Tensor& b, const TriangularOptions& options);
/// a^-1. Error for a singular a.
Tensor inverse(const Tensor& a);
/// The x with the least |a x - b|, and of these the least |x|: a [..., m, n] of full rank, b [..., m, k] -> [..., n,
/// k]. By QR factorization; infinity, NaN or rounding errors if the rank is not full.
Tensor lstsq(const Tensor& a, const Tensor& b);

// --- factorizations (ops/linalg_factor.cpp) ---

/// L, lower triangular, with L L^T = a, of a symmetric positive definite a, whose lower triangle is read; or U = L^T,
/// from the upper triangle. Error unless a is positive definite.
Tensor cholesky(const Tensor& a, bool upper = false);
/// The determinant, [...]. 1 of an empty matrix.
Tensor det(const Tensor& a);
struct SignLogDet {
  Tensor sign;       ///< -1, 0 or 1; no gradient
  Tensor logabsdet;  ///< -inf for a singular matrix
};
/// The determinant as sign * exp(logabsdet), without overflow.
SignLogDet slogdet(const Tensor& a);
struct Qr {
  Tensor q, r;
};
enum class QrMode { reduced, complete };
/// a [..., m, n] = q r, with orthonormal columns of q and an upper triangular r: q [..., m, k] and r [..., k, n] with k
/// = min(m, n), or k = m if complete. Error if a gradient is needed with complete and m > n: the further columns
/// of q are not unique. Of a with m < n, the gradient needs the first m columns to be invertible.
Qr qr(const Tensor& a, QrMode mode = QrMode::reduced);

// --- eigenvalues and singular values (ops/linalg_spectrum.cpp) ---

struct Eigh {
  Tensor values;   ///< [..., n], ascending
  Tensor vectors;  ///< [..., n, n], orthonormal columns
};
/// Eigenvalues and eigenvectors of a symmetric a, whose lower triangle is read. The sign of a vector is arbitrary, so a
/// loss must not depend on it. The gradient of the vectors is infinite or NaN where two values are equal. Error for NaN
/// or infinity in a, and if the iteration does not converge.
Eigh eigh(const Tensor& a);
/// The eigenvalues alone; the gradient is finite also for equal ones.
Tensor eigvalsh(const Tensor& a);
struct Svd {
  Tensor u;   ///< [..., m, k], or [..., m, m]: orthonormal columns
  Tensor s;   ///< [..., k], descending, k = min(m, n)
  Tensor vh;  ///< [..., k, n], or [..., n, n]: orthonormal rows
};
/// a [..., m, n] = u diag(s) vh. The signs of a column of u and its row of vh are arbitrary together, so a loss must
/// not depend on them. The gradient of u and vh is infinite or NaN where two singular values are equal, or one is zero
/// and m and n differ; with full_matrices the further columns and rows get none. Error for NaN or infinity in a, and
/// if the iteration does not converge.
Svd svd(const Tensor& a, bool full_matrices = false);
/// The singular values alone; the gradient is finite also for equal ones.
Tensor svdvals(const Tensor& a);
/// The pseudo-inverse (Moore-Penrose), [..., n, m]; singular values up to rcond times the largest count as zero. rcond
/// < 0 means max(m, n) times the type's epsilon. The gradient assumes that the rank does not change. Golub,
/// Pereyra 1973.
Tensor pinv(const Tensor& a, double rcond = -1);

// --- short forms (ops/linalg_solve.cpp) ---

/// a multiplied by itself n times, by squaring; the identity for 0, powers of the inverse for a negative n.
Tensor matrix_power(const Tensor& a, int64_t n);

}  // namespace tapegrad
