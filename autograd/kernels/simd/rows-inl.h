// Loops over contiguous rows; included by kernel files, once for each instruction set.
//
// A loop calls its function with one span after another: `s.load(p)` loads a vector from p's row, `s.store(v, p)`
// stores one, and `s.only(v)` is v with zeros in the lanes past the row's end, in the last span, which may be shorter.
#if defined(TAPEGRAD_AUTOGRAD_OPS_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEGRAD_AUTOGRAD_OPS_ROWS_INL_H_
#undef TAPEGRAD_AUTOGRAD_OPS_ROWS_INL_H_
#else
#define TAPEGRAD_AUTOGRAD_OPS_ROWS_INL_H_
#endif

#include <tapegrad/autograd/kernels/simd/simd.h>

#include <algorithm>
#include <cmath>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

template <class T>
struct WholeSpan {
  int64_t at;
  HWY_INLINE Vec<T> load(const T* p) const { return HWY_NAMESPACE::load(p + at); }
  HWY_INLINE void store(Vec<T> v, T* p) const { HWY_NAMESPACE::store(v, p + at); }
  HWY_INLINE Vec<T> only(Vec<T> v, T = 0) const { return v; }
};

template <class T>
struct LastSpan {
  int64_t at;
  int64_t lanes;
  HWY_INLINE Vec<T> load(const T* p) const { return HWY_NAMESPACE::load(p + at, lanes); }
  HWY_INLINE void store(Vec<T> v, T* p) const { HWY_NAMESPACE::store(v, p + at, lanes); }
  HWY_INLINE Vec<T> only(Vec<T> v, T otherwise = 0) const {
    const hn::ScalableTag<T> d;
    return hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(lanes)), v.raw, hn::Set(d, otherwise));
  }
};

// f(span) along a row of n elements.
template <class T, class F>
HWY_INLINE void each_span(int64_t n, F f) {
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) f(WholeSpan<T>{i});
  if (i < n) f(LastSpan<T>{i, n - i});
}

// Two sums computed in one loop.
template <class T>
struct TwoSums {
  Vec<T> a, b;
  HWY_INLINE friend TwoSums operator+(TwoSums x, TwoSums y) { return {x.a + y.a, x.b + y.b}; }
  HWY_INLINE TwoSums& operator+=(TwoSums y) { return *this = *this + y; }
};
template <class T, class Span>
HWY_INLINE Vec<T> only(Span s, Vec<T> v) {
  return s.only(v);
}
template <class T, class Span>
HWY_INLINE TwoSums<T> only(Span s, TwoSums<T> v) {
  return {s.only(v.a), s.only(v.b)};
}

// The sum of f(span) along a row, lane by lane: a Vec or TwoSums. In parts of 32 steps, so that no chain of additions
// is long, with four independent additions at a time.
template <class T, class F>
HWY_INLINE auto sum_spans(int64_t n, F f) {
  using Sum = decltype(f(WholeSpan<T>{0}));
  constexpr int64_t kStep = 4 * kLanes<T>;
  Sum total{};
  int64_t i = 0;
  while (i + kStep <= n) {
    Sum a{}, b{}, c{}, d{};
    const int64_t end = std::min(n, i + 32 * kStep);
    for (; i + kStep <= end; i += kStep) {
      a += f(WholeSpan<T>{i});
      b += f(WholeSpan<T>{i + kLanes<T>});
      c += f(WholeSpan<T>{i + 2 * kLanes<T>});
      d += f(WholeSpan<T>{i + 3 * kLanes<T>});
    }
    total += (a + b) + (c + d);
  }
  for (; i + kLanes<T> <= n; i += kLanes<T>) total += f(WholeSpan<T>{i});
  if (i < n) {
    const LastSpan<T> last{i, n - i};
    total += only(last, f(last));
  }
  return total;
}

// The largest element of a row; -inf of an empty one. May miss a NaN; the computation that follows must detect it.
template <class T>
HWY_INLINE T largest(const T* x, int64_t n) {
  const T lowest = -std::numeric_limits<T>::infinity();
  Vec<T> a = lowest, b = lowest, c = lowest, d = lowest;
  constexpr int64_t kStep = 4 * kLanes<T>;
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    a = max(load(x + i), a);
    b = max(load(x + i + kLanes<T>), b);
    c = max(load(x + i + 2 * kLanes<T>), c);
    d = max(load(x + i + 3 * kLanes<T>), d);
  }
  for (; i + kLanes<T> <= n; i += kLanes<T>) a = max(load(x + i), a);
  if (i < n) {
    const LastSpan<T> last{i, n - i};
    b = max(last.only(last.load(x), lowest), b);
  }
  return reduce_max(max(max(a, b), max(c, d)));
}

// exp(x) for x <= 0. Denormal results become zero: from `lowest` on, the power of two has a biased exponent of 0.
template <class T>
HWY_INLINE Vec<T> exp_nonpositive(Vec<T> x) {
  const Vec<T> lowest = sizeof(T) == 8 ? T(-709.2) : T(-88.1);
  const math::Exp<T> e(max(lowest, x));  // in this order NaN stays
  const Vec<T> power = e.power();
  return fma(e.expm1_r, power, power);
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the include guard of this instruction set
