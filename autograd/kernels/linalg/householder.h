// QR factorization of a small matrix, stored column by column: lapack::qr and lapack::qr_vectors without BLAS calls,
// whose overhead exceeds the work on small matrices.
#pragma once

#include <tapegrad/autograd/internal/fixed_math.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tapegrad::small {

/// sqrt(sum of x^2) without overflow.
template <class T>
T norm(int64_t n, const T* x) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  if (sum == 0 || !std::isfinite(sum) || sum < 1e-280) {
    sum = 0;
    for (int64_t i = 0; i < n; ++i) sum = fixed::hypot(sum, static_cast<double>(x[i]));
    return static_cast<T>(sum);
  }
  return static_cast<T>(std::sqrt(sum));
}

/// c -= scale * v (v . c) for n numbers, with v[0] = 1.
template <class T>
void reflect(int64_t n, T scale, const T* v, T* c) {
  T product = c[0];
  for (int64_t i = 1; i < n; ++i) product += v[i] * c[i];
  product *= scale;
  c[0] -= product;
  for (int64_t i = 1; i < n; ++i) c[i] -= product * v[i];
}

/// As lapack::qr.
template <class T>
void qr(int64_t m, int64_t n, T* a, T* tau) {
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    T* const v = a + k * (m + 1);
    const T first = v[0], below = norm(m - k - 1, v + 1);
    tau[k] = 0;
    if (below == 0) continue;
    const T length = -std::copysign(fixed::hypot(first, below), first);
    tau[k] = (length - first) / length;
    for (int64_t i = 1; i < m - k; ++i) v[i] /= first - length;
    for (int64_t j = k + 1; j < n; ++j) reflect(m - k, tau[k], v, a + j * m + k);
    v[0] = length;
  }
}

/// As lapack::qr_vectors.
template <class T>
void qr_vectors(int64_t m, int64_t columns, int64_t count, T* a, const T* tau) {
  std::fill(a + count * m, a + columns * m, T(0));
  for (int64_t j = count; j < columns; ++j) a[j * (m + 1)] = 1;
  for (int64_t k = count - 1; k >= 0; --k) {
    T* const v = a + k * (m + 1);
    for (int64_t j = k + 1; j < columns; ++j) reflect(m - k, tau[k], v, a + j * m + k);
    for (int64_t i = 1; i < m - k; ++i) v[i] *= -tau[k];
    v[0] = 1 - tau[k];
    std::fill(a + k * m, v, T(0));
  }
}

}  // namespace tapegrad::small
