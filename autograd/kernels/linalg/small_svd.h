// Singular values and vectors of a small matrix: lapack::svd without the calls of BLAS, which take longer than the work
// on a few numbers. In double for both types.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tapegrad::small {

inline constexpr int64_t kMostSvd = 12, kMostSvdValues = 8;  // where it is faster than LAPACK

/// One-sided Jacobi: rotations among the columns of a matrix, or among its rows if it has fewer, until all are
/// orthogonal. Their lengths are the singular values. Demmel, Veselic 1992.
class JacobiSvd {
 public:
  /// As lapack::svd with SvdParts::reduced, or values, for m and n of at most kMostSvd; a is not changed. False also
  /// where a singular value is so small that its vector has no direction.
  template <class T>
  bool operator()(bool vectors, int64_t m, int64_t n, const T* a, T* s, T* u, T* vt) {
    const bool turned = m < n;  // then lines are rows
    count_ = std::min(m, n);
    length_ = std::max(m, n);
    vectors_ = vectors;
    T largest = 0;
    for (int64_t i = 0; i < m * n; ++i) largest = std::max(largest, std::abs(a[i]));
    if (!(largest > T(0))) return false;
    const double scale = largest;
    for (int64_t i = 0; i < count_; ++i) {
      for (int64_t j = 0; j < length_; ++j)
        line_[i][j] = static_cast<double>(turned ? a[i + j * m] : a[i * m + j]) / scale;
      std::fill_n(other_[i], count_, 0.0);
      other_[i][i] = 1;
    }
    if (!make_orthogonal(std::is_same_v<T, float> ? 1e-9 : 4 * std::numeric_limits<double>::epsilon())) return false;
    for (int64_t i = 0; i < count_; ++i) {
      const double size = std::sqrt(dot(line_[i], line_[i]));
      s[i] = static_cast<T>(size * scale);
      if (!vectors) continue;
      if (size < 1e-140) return false;
      for (int64_t j = 0; j < length_; ++j) {
        (turned ? vt[i + j * count_] : u[i * m + j]) = static_cast<T>(line_[i][j] / size);
      }
      for (int64_t j = 0; j < count_; ++j) (turned ? u[i * m + j] : vt[i + j * count_]) = static_cast<T>(other_[i][j]);
    }
    return true;
  }

 private:
  double dot(const double* x, const double* y) const {
    double sum = 0;
    for (int64_t k = 0; k < length_; ++k) sum += x[k] * y[k];
    return sum;
  }

  static void rotate(int64_t n, double* x, double* y, double cosine, double sine) {
    for (int64_t k = 0; k < n; ++k) {
      const double a = x[k], b = y[k];
      x[k] = cosine * a - sine * b;
      y[k] = sine * a + cosine * b;
    }
  }

  // Until the cosines of the angles between all lines are at most `least`; the longest line is first in the end.
  bool make_orthogonal(double least) {
    for (int sweep = 0; sweep < 40; ++sweep) {
      double square[kMostSvd];
      for (int64_t i = 0; i < count_; ++i) square[i] = dot(line_[i], line_[i]);
      bool turned = false;
      for (int64_t i = 0; i < count_; ++i) {
        for (int64_t j = i + 1; j < count_; ++j) {
          if (square[i] < square[j]) {
            std::swap_ranges(line_[i], line_[i] + length_, line_[j]);
            std::swap_ranges(other_[i], other_[i] + count_, other_[j]);
            std::swap(square[i], square[j]);
            turned = true;
          }
          const double product = dot(line_[i], line_[j]);
          if (std::abs(product) <= least * std::sqrt(square[i]) * std::sqrt(square[j])) continue;
          turned = true;
          const double half = (square[j] - square[i]) / (2 * product);
          const double tangent = std::copysign(1 / (std::abs(half) + std::sqrt(1 + half * half)), half);
          const double cosine = 1 / std::sqrt(1 + tangent * tangent), sine = cosine * tangent;
          rotate(length_, line_[i], line_[j], cosine, sine);
          if (vectors_) rotate(count_, other_[i], other_[j], cosine, sine);
          square[i] -= tangent * product;
          square[j] = std::max(square[j] + tangent * product, 0.0);
        }
      }
      if (!turned) return true;
    }
    return false;
  }

  int64_t count_ = 0, length_ = 0;
  bool vectors_ = false;
  double line_[kMostSvd][kMostSvd];
  double other_[kMostSvd][kMostSvd];  // the product of all rotations: the vectors on the other side
};

}  // namespace tapegrad::small
