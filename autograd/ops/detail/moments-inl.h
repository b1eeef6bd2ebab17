// Means, variances and sums of planes; included by kernel files, once for each instruction set.
//
// Planes are `n` contiguous elements each, `stride` elements apart. They are read in blocks that stay in the L1 cache:
// a block's elements are added in T, blocks in float64.
#if defined(TAPEGRAD_AUTOGRAD_OPS_MOMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEGRAD_AUTOGRAD_OPS_MOMENTS_INL_H_
#undef TAPEGRAD_AUTOGRAD_OPS_MOMENTS_INL_H_
#else
#define TAPEGRAD_AUTOGRAD_OPS_MOMENTS_INL_H_
#endif

#include <tapegrad/autograd/kernels/simd/rows-inl.h>
#include <tapegrad/autograd/ops/detail/moments.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// f(plane, offset, count, planes): blocks of about 2048 elements, either part of one plane or several whole ones.
HWY_INLINE void each_block(int64_t planes, int64_t n, auto f) {
  constexpr int64_t kBlock = 2048;
  if (planes == 1 && n <= kBlock) {
    f(int64_t{0}, int64_t{0}, n, int64_t{1});
  } else if (n > kBlock) {
    for (int64_t p = 0; p < planes; ++p) {
      for (int64_t i = 0; i < n; i += kBlock) f(p, i, std::min(kBlock, n - i), int64_t{1});
    }
  } else if (n > 0) {
    const int64_t several = kBlock / n;
    for (int64_t p = 0; p < planes; p += several) f(p, int64_t{0}, n, std::min(several, planes - p));
  }
}

// The moments of numbers that are far from 0 and have about this mean: `sums(m)` returns the sum of the differences
// from m, and the sum of their squares.
template <class T, class Sums>
HWY_INLINE Moments corrected_moments(double elements, T mean, Sums sums) {
  const T nearer = static_cast<T>(static_cast<double>(mean) + static_cast<double>(sums(mean).a) / elements);
  const auto [rest, squares] = sums(nearer);
  const double left = static_cast<double>(rest);
  return {elements, left, std::max(static_cast<double>(squares) - left * left / elements, 0.0),
          static_cast<double>(nearer)};
}

// Mean and squared differences of all elements of the planes.
template <class T>
HWY_INLINE Moments moments_of(const T* x, int64_t planes, int64_t stride, int64_t n) {
  Moments total;
  each_block(planes, n, [&](int64_t plane, int64_t offset, int64_t size, int64_t count) {
    const T* const block = x + plane * stride + offset;
    Sum<Vec<T>> sums;
    for (int64_t p = 0; p < count; ++p) {
      const T* const row = block + p * stride;
      sums += sum_spans<T>(size, [&](auto s) { return s.load(row); });
    }
    const double sum = static_cast<double>(reduce_sum(sums)), elements = static_cast<double>(size * count);
    const Vec<T> mean = static_cast<T>(sum / elements);
    Sum<Vec<T>> squares;
    for (int64_t p = 0; p < count; ++p) {
      const T* const row = block + p * stride;
      squares += sum_spans<T>(size, [&](auto s) {
        const Vec<T> d = s.load(row) - mean;
        return d * d;
      });
    }
    const double of_squares = static_cast<double>(reduce_sum(squares));
    if (HWY_LIKELY(!is_far(sum / elements, of_squares / elements))) {
      total.add({elements, sum, of_squares});
      return;
    }
    total.add(corrected_moments<T>(elements, static_cast<T>(sum / elements), [&](T near) HWY_ATTR {
      Sum<TwoSums<T>> both;
      for (int64_t p = 0; p < count; ++p) {
        const T* const row = block + p * stride;
        both += sum_spans<T>(size, [&](auto s) {
          const Vec<T> d = s.load(row) - Vec<T>(near);
          return TwoSums<T>{d, d * d};
        });
      }
      return reduce_sum(both);
    }));
  });
  return total;
}

// The sums of dy and of dy * (x - mean).
template <class T>
HWY_INLINE GradientSums gradient_sums_of(const T* x, const T* dy, T mean_of_x, int64_t planes, int64_t stride,
                                         int64_t n) {
  GradientSums total;
  const Vec<T> mean = mean_of_x;
  each_block(planes, n, [&](int64_t plane, int64_t offset, int64_t size, int64_t count) {
    Sum<TwoSums<T>> sums;
    for (int64_t p = 0; p < count; ++p) {
      const int64_t begin = (plane + p) * stride + offset;
      const T* const row = x + begin;
      const T* const drow = dy + begin;
      sums += sum_spans<T>(size, [&](auto s) {
        const Vec<T> d = s.load(drow);
        return TwoSums<T>{d, d * (s.load(row) - mean)};
      });
    }
    const auto [of_dy, of_dy_x] = reduce_sum(sums);
    total.dy += static_cast<double>(of_dy);
    total.dy_x += static_cast<double>(of_dy_x);
  });
  return total;
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the include guard of this instruction set
