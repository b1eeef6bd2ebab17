// Sums in float64 for the normalisations, and in a wider type for numbers so large that these overflow.
#pragma once

#include <cmath>
#include <cstdint>

namespace tapegrad {

/// Whether a mean is so far from 0, in standard deviations, that its rounding error must be corrected: it may be as
/// large as the numbers' differences from the mean. Nearer to 0, it is within the rounding errors of these differences.
template <class T>
bool is_far(T mean, T variance) {
  return mean * mean > 256 * variance && variance - variance == 0;
}

/// The sum of some numbers, less `origin` each, and the sum of their squared differences from the mean.
struct Moments {
  double count = 0;
  double sum = 0;
  double squares = 0;
  double origin = 0;  // the mean of numbers that are far from 0

  double mean() const { return origin + sum / count; }
  double variance() const { return squares / count; }
  /// Joins two sets of numbers. Chan, Golub, LeVeque 1983.
  void add(const Moments& other) {
    if (other.count == 0) return;
    if (count == 0) {
      *this = other;
      return;
    }
    const double apart = other.mean() - mean();
    squares += other.squares + apart * apart * (count * other.count / (count + other.count));
    count += other.count;
    sum += other.sum + (other.origin - origin) * other.count;
  }
};

/// The sums for the gradient of a normalisation.
struct GradientSums {
  double dy = 0;
  double dy_x = 0;  // dy times (x - mean)

  void add(const GradientSums& other) {
    dy += other.dy;
    dy_x += other.dy_x;
  }
};

/// 113 bits of precision and a large range, in software on all processors: x86-64's long double has fewer than arm64's.
#if defined(__x86_64__)
using Wide = __float128;
#else
using Wide = long double;
#endif
static_assert(sizeof(Wide) == 16);

/// The square root, by Newton's method from the root in double, which is the result for 0, x < 0, infinity and NaN.
inline Wide square_root(Wide x) {
  if (!(x > 0) || x - x != 0) return std::sqrt(static_cast<double>(x));
  Wide scale = 1;
  for (; x > 0x1p1000; x *= 0x1p-1000) scale *= 0x1p500;
  for (; x < 0x1p-1000; x *= 0x1p1000) scale *= 0x1p-500;
  Wide root = std::sqrt(static_cast<double>(x));
  for (int i = 0; i < 2; ++i) root = (root + x / root) / 2;
  return root * scale;
}

/// Mean and variance of numbers whose squares overflow.
struct WideMoments {
  Wide mean = 0, variance = 0;

  /// Of at(0) .. at(n - 1), around 0 unless `centred`. False if one of them is not finite: then nothing overflows.
  bool measure(int64_t n, bool centred, auto at) {
    for (int64_t i = 0; i < n; ++i) {
      if (!std::isfinite(at(i))) return false;
    }
    Wide sum = 0, squares = 0;
    for (int64_t i = 0; i < n && centred; ++i) sum += static_cast<Wide>(at(i));
    mean = sum / static_cast<Wide>(n);
    for (int64_t i = 0; i < n; ++i) squares += (at(i) - mean) * (at(i) - mean);
    variance = squares / static_cast<Wide>(n);
    return true;
  }
};

/// Whether `scale`, 1 / sqrt(variance + eps), is so small that its powers underflow: a gradient is computed in
/// Wide.
template <class T>
bool is_wide(T scale) {
  return scale < (sizeof(T) == sizeof(float) ? T(0x1p-60) : T(0x1p-500));
}

/// dx of one element of a normalisation: scale * (g - mean(g) - n * mean(g * n)), n = (x - mean) * scale; `sums` are of
/// g and of g * (x - mean).
template <class T>
T wide_gradient(T g, T x, T mean, T scale, const GradientSums& sums, double count) {
  const Wide s = scale, n = (static_cast<Wide>(x) - mean) * s;
  return static_cast<T>(s * (g - sums.dy / count - n * (sums.dy_x * s / count)));
}

}  // namespace tapegrad
