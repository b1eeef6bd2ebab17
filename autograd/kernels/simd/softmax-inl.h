// Softmax of contiguous rows, at once or part by part; included by kernel files, once for each instruction set.
#if defined(TAPEGRAD_AUTOGRAD_KERNELS_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEGRAD_AUTOGRAD_KERNELS_SOFTMAX_INL_H_
#undef TAPEGRAD_AUTOGRAD_KERNELS_SOFTMAX_INL_H_
#else
#define TAPEGRAD_AUTOGRAD_KERNELS_SOFTMAX_INL_H_
#endif

#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/kernels/simd/rows-inl.h>

#include <limits>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// The score of a masked element, whose exp is 0.
template <class T>
inline constexpr T kNothing = -std::numeric_limits<T>::infinity();

// What is subtracted from scores before exp: the highest one, or 0 where everything is masked, whose sum is then 0.
template <class T>
HWY_INLINE T softmax_origin(T highest) {
  return highest == kNothing<T> ? T{0} : highest;
}

// y = exp(x - origin), where no x is larger than origin; returns the sum. Fetches the row `next`, if one is given.
template <class T, class... Next>
HWY_INLINE T exp_of_row(const T* x, int64_t n, T origin, T* y, Next... next) {
  const auto exp_of = [&](auto s) HWY_ATTR {
    const Vec<T> e = exp_nonpositive(s.load(x) - origin);
    s.store(e, y);
    return e;
  };
  return reduce_sum(sum_spans<T>(n, fetching(exp_of, next...)));
}

// The parts of a float's logarithm that a vector of doubles has: within 2^-47 of its size.
HWY_INLINE Vec<double> rough_log(auto x) { return log(Vec<double>(hn::PromoteTo(hn::ScalableTag<double>(), x))); }

// fixed::log of every lane, to the bit. Of a float it is the double's logarithm, rounded; where all doubles near a
// rough one round to the same float, that is the result. Elsewhere, once in 2^21 numbers, fixed::log computes it, as it
// does in double and in the portable family.
template <class T>
HWY_INLINE Vec<T> log_of_each(Vec<T> x) {
  const auto one = [](T lane) { return fixed::log(lane); };
  if constexpr (sizeof(T) == sizeof(double) || HWY_TARGET == HWY_SSE4) {
    return lane_by_lane(one, x);
  } else {
    const hn::ScalableTag<T> d;
    const hn::Half<decltype(d)> half;
    const Vec<double> low = rough_log(hn::LowerHalf(half, x.raw)), high = rough_log(hn::UpperHalf(half, x.raw));
    const auto rounded = [&](double factor) HWY_ATTR {
      return Vec<T>(hn::Combine(d, hn::DemoteTo(half, (high * factor).raw), hn::DemoteTo(half, (low * factor).raw)));
    };
    const Vec<T> y = rounded(1 - 0x1p-46);
    const Mask<T> unclear = rounded(1 + 0x1p-46) != y;  // NaN, too
    if (HWY_UNLIKELY(any(unclear))) return where(unclear, lane_by_lane(one, x), y);
    return y;
  }
}

// A row that is read part by part: the highest score so far, and the sum of exp(score - highest). Whatever was summed
// with these weights is corrected when a part has a higher score (Milakov, Gimelshein 2018).
template <class T>
struct RunningSoftmax {
  T highest = kNothing<T>, sum = 0;

  // Takes in the highest score of the next part. Returns the factor that corrects what was summed before, 1 if nothing
  // changes; the sum is corrected already, and the exps of the part remain to be added to it.
  HWY_INLINE T raise(T top) {
    if (!(top > highest)) return T{1};
    const T factor = fixed::exp(highest - top);
    highest = top;
    sum *= factor;
    return factor;
  }
  HWY_INLINE T origin() const { return softmax_origin(highest); }
};

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the include guard of this instruction set
