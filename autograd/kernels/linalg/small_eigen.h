// Eigenvalues and eigenvectors of a small symmetric matrix: lapack::symmetric_eigen without the calls of BLAS, which
// take longer than the work on a few numbers. In double for both types.
#pragma once

#include <tapegrad/autograd/internal/fixed_math.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace tapegrad::small {

inline constexpr int64_t kMostEigen = 24;  // where it is faster than LAPACK

/// A symmetric matrix of at most kMostEigen rows on its way to diagonal form.
class SymmetricEigen {
 public:
  /// As lapack::symmetric_eigen for n of at most kMostEigen and elements between 1e-100 and 1e100, or 0.
  template <class T>
  bool operator()(bool vectors, int64_t n, T* a, T* values) {
    n_ = n;
    vectors_ = vectors;
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i <= j; ++i) at_[i][j] = at_[j][i] = static_cast<double>(a[j * n + i]);
    }
    make_tridiagonal();
    if (!diagonalise()) return false;
    sort();
    for (int64_t i = 0; i < n; ++i) values[i] = static_cast<T>(diagonal_[i]);
    for (int64_t i = 0; vectors && i < n; ++i) {
      for (int64_t k = 0; k < n; ++k) a[i * n + k] = static_cast<T>(vector_[i][k]);
    }
    return true;
  }

 private:
  // Householder's reflections: below its first subdiagonal, one column after another becomes 0.
  void make_tridiagonal() {
    double scales[kMostEigen] = {};
    for (int64_t k = 0; k + 1 < n_; ++k) {
      double* const v = at_[k];  // row k is column k: from k + 1 on it becomes the reflection's vector
      diagonal_[k] = v[k];
      double below = 0;
      for (int64_t i = k + 2; i < n_; ++i) below += v[i] * v[i];
      beside_[k] = v[k + 1];
      if (below == 0) continue;
      beside_[k] = -std::copysign(std::sqrt(v[k + 1] * v[k + 1] + below), v[k + 1]);
      v[k + 1] -= beside_[k];
      scales[k] = 2 / (v[k + 1] * v[k + 1] + below);
      // The rest becomes (1 - scale v v^T) rest (1 - scale v v^T) = rest - v w^T - w v^T.
      double w[kMostEigen], along = 0;
      for (int64_t i = k + 1; i < n_; ++i) {
        double dot = 0;
        for (int64_t j = k + 1; j < n_; ++j) dot += at_[i][j] * v[j];
        w[i] = scales[k] * dot;
        along += w[i] * v[i];
      }
      for (int64_t i = k + 1; i < n_; ++i) w[i] -= scales[k] / 2 * along * v[i];
      for (int64_t i = k + 1; i < n_; ++i) {
        for (int64_t j = k + 1; j < n_; ++j) at_[i][j] -= v[i] * w[j] + w[i] * v[j];
      }
    }
    if (n_ > 0) diagonal_[n_ - 1] = at_[n_ - 1][n_ - 1];
    if (!vectors_) return;
    for (int64_t i = 0; i < n_; ++i) {
      std::fill_n(vector_[i], n_, 0.0);
      vector_[i][i] = 1;
    }
    for (int64_t k = n_ - 3; k >= 0; --k) {
      if (scales[k] == 0) continue;
      const double* const v = at_[k];
      for (int64_t i = k + 1; i < n_; ++i) {
        double dot = 0;
        for (int64_t j = k + 1; j < n_; ++j) dot += vector_[i][j] * v[j];
        dot *= scales[k];
        for (int64_t j = k + 1; j < n_; ++j) vector_[i][j] -= dot * v[j];
      }
    }
  }

  // The QL algorithm with Wilkinson's shifts, which are implicit: each pass chases an element up the matrix by
  // rotations. Golub, Van Loan, section 8.3.
  bool diagonalise() {
    constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
    beside_[n_ - 1] = 0;
    for (int64_t first = 0; first < n_; ++first) {
      for (int pass = 0;; ++pass) {
        int64_t last = first;  // of a block without zeros next to the diagonal
        while (last + 1 < n_ &&
               std::abs(beside_[last]) > kEpsilon * (std::abs(diagonal_[last]) + std::abs(diagonal_[last + 1]))) {
          ++last;
        }
        if (last == first) break;
        if (pass == 60) return false;
        const double half = (diagonal_[first + 1] - diagonal_[first]) / (2 * beside_[first]);
        const double root = std::copysign(fixed::hypot(half, 1), half);
        double g = diagonal_[last] - diagonal_[first] + beside_[first] / (half + root);
        double sine = 1, cosine = 1, shift = 0;
        int64_t i = last - 1;
        for (; i >= first; --i) {
          const double f = sine * beside_[i], b = cosine * beside_[i], length = std::sqrt(f * f + g * g);
          beside_[i + 1] = length;
          if (length == 0) break;  // the block falls into two
          sine = f / length;
          cosine = g / length;
          g = diagonal_[i + 1] - shift;
          const double turned = (diagonal_[i] - g) * sine + 2 * cosine * b;
          shift = sine * turned;
          diagonal_[i + 1] = g + shift;
          g = cosine * turned - b;
          if (vectors_) rotate(vector_[i], vector_[i + 1], cosine, sine);
        }
        if (i >= first) {
          diagonal_[i + 1] -= shift;
        } else {
          diagonal_[first] -= shift;
          beside_[first] = g;
        }
        beside_[last] = 0;
      }
    }
    return true;
  }

  void rotate(double* x, double* y, double cosine, double sine) const {
    for (int64_t k = 0; k < n_; ++k) {
      const double a = x[k], b = y[k];
      x[k] = cosine * a - sine * b;
      y[k] = sine * a + cosine * b;
    }
  }

  void sort() {
    for (int64_t i = 0; i < n_; ++i) {
      const int64_t least = std::min_element(diagonal_ + i, diagonal_ + n_) - diagonal_;
      if (least == i) continue;
      std::swap(diagonal_[i], diagonal_[least]);
      if (vectors_) std::swap_ranges(vector_[i], vector_[i] + n_, vector_[least]);
    }
  }

  int64_t n_ = 0;
  bool vectors_ = false;
  double at_[kMostEigen][kMostEigen];
  double vector_[kMostEigen][kMostEigen];  // row i: eigenvector i
  double diagonal_[kMostEigen], beside_[kMostEigen];
};

}  // namespace tapegrad::small
