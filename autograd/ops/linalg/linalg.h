// Linear algebra: systems of equations, factorizations, eigenvalues and singular values.
//
// Matrices are the last two axes, [..., m, n]; the leading axes are a batch, whose matrices run in parallel. float32 or
// float64, the same for all operands, also in an Autocast. Gradients are PyTorch's and can be differentiated twice.
// Empty matrices and batches are valid. An Error gives the index of the matrix in the batch.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

// --- systems of equations (autograd/ops/linalg/linalg_solve.cpp) ---

/// x with a x = b, by LU factorization with partial pivoting: a [..., n, n], b [..., n, k] -> [..., n, k]; the leading
/// axes broadcast. If b has one axis, or exactly the shape of a without its last axis, it is a batch of vectors, and
/// the result has b's shape. Error for a singular a.
Tensor solve(const Tensor& a, const Tensor& b);
struct TriangularOptions {
  bool upper = false;          ///< read the upper triangle of a, else the lower; the other one counts as zero
  bool left = true;            ///< solve a x = b; false: x a = b
  bool unitriangular = false;  ///< the diagonal counts as ones
};
/// x with a x = b for a triangular a [..., n, n] and b [..., n, k], or x a = b with b [..., k, n]; the leading axes
/// broadcast. A zero on the diagonal gives infinity or NaN.
Tensor triangular_solve(const Tensor& a, const Tensor& b, const TriangularOptions& options);
/// a^-1. Error for a singular a.
Tensor inverse(const Tensor& a);
/// The x that minimises |a x - b|, and of these the one with the smallest |x|: a [..., m, n] of full rank, b [..., m,
/// k] -> [..., n, k]. By QR factorization; the result is infinite, NaN or inaccurate if a does not have full rank.
Tensor lstsq(const Tensor& a, const Tensor& b);

// --- factorizations (autograd/ops/linalg/linalg_factor.cpp) ---

/// The lower triangular L with L L^T = a, for a symmetric positive definite a, of which only the lower triangle is
/// read; with `upper`, U = L^T, from the upper triangle. Error unless a is positive definite.
Tensor cholesky(const Tensor& a, bool upper = false);
/// The determinant, [...]; 1 for an empty matrix. The first and second derivatives also exist for singular matrices; a
/// third derivative throws Error if the batch has a singular matrix.
Tensor det(const Tensor& a);
struct SignLogDet {
  Tensor sign;       ///< -1, 0 or 1; no gradient
  Tensor logabsdet;  ///< -inf for a singular matrix, with an infinite or NaN gradient
};
/// The determinant as sign * exp(logabsdet), without overflow.
SignLogDet slogdet(const Tensor& a);
struct Qr {
  Tensor q, r;  ///< a = q r
};
/// The columns of q: min(m, n), or all m.
enum class QrMode { reduced, complete };
/// a [..., m, n] = q r, where q has orthonormal columns and r is upper triangular: q [..., m, k] and r [..., k, n] with
/// k = min(m, n), or k = m if complete. Error if complete requires a gradient and m > n, because the additional columns
/// of q are not unique. If m < n, the first m columns of a must be invertible for the gradient.
Qr qr(const Tensor& a, QrMode mode = QrMode::reduced);

// --- eigenvalues and singular values (autograd/ops/linalg/linalg_spectrum.cpp) ---

/// What eigh() returns.
struct Eigh {
  Tensor values;   ///< [..., n], ascending
  Tensor vectors;  ///< [..., n, n], orthonormal columns
};
/// Eigenvalues and eigenvectors of a symmetric a, of which only the lower triangle is read. The sign of an eigenvector
/// is arbitrary, so a loss must not depend on it. The gradient through the eigenvectors is infinite or NaN if two
/// eigenvalues are equal. Error for NaN or infinity in a, and if the iteration does not converge.
Eigh eigh(const Tensor& a);
/// The eigenvalues only; the gradient is finite even if some are equal.
Tensor eigvalsh(const Tensor& a);
struct Svd {
  Tensor u;   ///< [..., m, k], or [..., m, m]: orthonormal columns
  Tensor s;   ///< [..., k], descending, k = min(m, n)
  Tensor vh;  ///< [..., k, n], or [..., n, n]: orthonormal rows
};
/// a [..., m, n] = u diag(s) vh. A column of u and the corresponding row of vh may change sign together, so a loss must
/// not depend on their signs. The gradient through u and vh is infinite or NaN if two singular values are equal, or if
/// one is zero and m and n differ. With full_matrices, no gradient flows through the additional columns and rows. Error
/// for NaN or infinity in a, and if the iteration does not converge.
Svd svd(const Tensor& a, bool full_matrices = false);
/// The singular values only; the gradient is finite even if some are equal.
Tensor svdvals(const Tensor& a);
/// The pseudo-inverse (Moore-Penrose), [..., n, m]; singular values of at most rcond times the largest count as zero. A
/// negative rcond means max(m, n) times the type's epsilon. The gradient assumes that the rank does not change. Golub,
/// Pereyra 1973.
Tensor pinv(const Tensor& a, double rcond = -1);

// --- short forms (autograd/ops/linalg/linalg_solve.cpp) ---

/// a^n, by repeated squaring; the identity for n = 0, powers of the inverse for n < 0. Error for a singular a if n < 0.
Tensor matrix_power(const Tensor& a, int64_t n);

}  // namespace tapegrad
