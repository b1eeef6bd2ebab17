// Loops over contiguous rows; included by kernel files, once for each instruction set.
//
// A loop calls its function with one span after another: `s.load(p)` loads a vector from p's row, `s.store(v, p)`
// stores one (load_mask and store_mask: of bool), and `s.only(v)` is v with zeros in the lanes past the row's end, in
// the last span, which may be shorter.
#if defined(TAPEGRAD_AUTOGRAD_OPS_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEGRAD_AUTOGRAD_OPS_ROWS_INL_H_
#undef TAPEGRAD_AUTOGRAD_OPS_ROWS_INL_H_
#else
#define TAPEGRAD_AUTOGRAD_OPS_ROWS_INL_H_
#endif

#include <tapegrad/autograd/kernels/simd/simd.h>

#include <algorithm>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

template <class T>
struct WholeSpan {
  int64_t at;
  HWY_INLINE Vec<T> load(const T* p) const { return HWY_NAMESPACE::load(p + at); }
  HWY_INLINE void store(Vec<T> v, T* p) const { HWY_NAMESPACE::store(v, p + at); }
  HWY_INLINE Mask<T> load_mask(const bool* p) const { return HWY_NAMESPACE::load_mask<T>(p + at); }
  HWY_INLINE void store_mask(Mask<T> m, bool* p) const { HWY_NAMESPACE::store_mask(m, p + at); }
  HWY_INLINE Vec<T> only(Vec<T> v, Vec<T> = T{0}) const { return v; }
};

template <class T>
struct LastSpan {
  int64_t at;
  int64_t lanes;
  HWY_INLINE Vec<T> load(const T* p) const { return HWY_NAMESPACE::load(p + at, lanes); }
  HWY_INLINE void store(Vec<T> v, T* p) const { HWY_NAMESPACE::store(v, p + at, lanes); }
  HWY_INLINE Mask<T> load_mask(const bool* p) const { return HWY_NAMESPACE::load_mask<T>(p + at, lanes); }
  HWY_INLINE void store_mask(Mask<T> m, bool* p) const { HWY_NAMESPACE::store_mask(m, p + at, lanes); }
  HWY_INLINE Vec<T> only(Vec<T> v, Vec<T> otherwise = T{0}) const {
    return hn::IfThenElse(hn::FirstN(hn::ScalableTag<T>(), static_cast<size_t>(lanes)), v.raw, otherwise.raw);
  }
};

// f(span) along a row of n elements.
template <class T, class F>
HWY_INLINE void each_span(int64_t n, F f) {
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) f(WholeSpan<T>{i});
  if (i < n) f(LastSpan<T>{i, n - i});
}

// Whether the next row of n elements is fetched while one is computed from the L1 cache: not if rows are so short that
// the processor is ahead of them, or so long that two and a result do not fit.
template <class T>
HWY_INLINE bool is_fetched(int64_t n) {
  const int64_t bytes = n * static_cast<int64_t>(sizeof(T));
  return bytes >= 1024 && bytes <= 16384;
}

// f(span), which also fetches the same span of other rows.
template <class F, class... T>
HWY_INLINE auto fetching(F f, const T*... rows) {
  return [=](auto s) HWY_ATTR {
    (hwy::Prefetch(rows + s.at), ...);
    return f(s);
  };
}

// y = f(span) along a row. If it `streams`, stores go past the caches, and rows that come next are fetched meanwhile;
// after its last row, the kernel calls stream_end().
template <class T, class F, class... Next>
HWY_INLINE void store_spans(int64_t n, T* y, bool streams, F f, const Next*... next) {
  if (HWY_LIKELY(!streams)) return each_span<T>(n, [&](auto s) { s.store(f(s), y); });
  // Aligned vectors; the ends of the row are ordinary stores.
  const int64_t past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(y) / sizeof(T)) & (kLanes<T> - 1);
  int64_t i = past == 0 ? 0 : std::min(n, kLanes<T> - past);
  const auto part = [&](LastSpan<T> s) HWY_ATTR { s.store(f(s), y); };
  if (i > 0) part({0, i});
  for (const auto both = fetching(f, next...); i + kLanes<T> <= n; i += kLanes<T>) stream(both(WholeSpan<T>{i}), y + i);
  if (i < n) part({i, n - i});
}

// Two sums computed in one loop.
template <class T>
struct TwoSums {
  using Element = T;
  Vec<T> a, b;
  HWY_INLINE TwoSums() {}
  HWY_INLINE TwoSums(Vec<T> first, Vec<T> second) : a(first), b(second) {}
  HWY_INLINE friend TwoSums operator+(TwoSums x, TwoSums y) { return {x.a + y.a, x.b + y.b}; }
  HWY_INLINE TwoSums& operator+=(TwoSums y) { return *this = *this + y; }
};
template <class T, class Span>
HWY_INLINE Vec<T> only(Span s, Vec<T> v, Vec<T> otherwise) {
  return s.only(v, otherwise);
}
template <class T, class Span>
HWY_INLINE TwoSums<T> only(Span s, TwoSums<T> v, TwoSums<T> otherwise) {
  return {s.only(v.a, otherwise.a), s.only(v.b, otherwise.b)};
}

// Combines f(span) along a row, as partial sums (Sum in simd.h) that start at `start`. In parts of 32 steps, so that no
// chain of roundings is long, with four independent chains at a time. combine(start, v) must be v.
template <class T, class V, class Combine, class F>
HWY_INLINE Sum<V> fold_spans(int64_t n, V start, Combine combine, F f) {
  constexpr int64_t kStep = 4 * kSumLanes<T>;
  Sum<V> total;
  each_part<T>([&](auto part) HWY_ATTR { total.part[part] = start; });
  int64_t i = 0;
  while (i + kStep <= n) {
    const int64_t end = i + std::min<int64_t>(32, (n - i) / kStep) * kStep;
    each_part<T>([&](auto part) HWY_ATTR {
      V a = start, b = start, c = start, d = start;
      for (int64_t at = i + part * kLanes<T>; at < end; at += kStep) {
        a = combine(a, f(WholeSpan<T>{at}));
        b = combine(b, f(WholeSpan<T>{at + kSumLanes<T>}));
        c = combine(c, f(WholeSpan<T>{at + 2 * kSumLanes<T>}));
        d = combine(d, f(WholeSpan<T>{at + 3 * kSumLanes<T>}));
      }
      total.part[part] = combine(total.part[part], combine(combine(a, b), combine(c, d)));
    });
    i = end;
  }
  for (; i + kSumLanes<T> <= n; i += kSumLanes<T>) {
    each_part<T>([&](auto part)
                     HWY_ATTR { total.part[part] = combine(total.part[part], f(WholeSpan<T>{i + part * kLanes<T>})); });
  }
  each_part<T>([&](auto part) HWY_ATTR {
    const int64_t at = i + part * kLanes<T>;
    if (at >= n) return;
    const LastSpan<T> last{at, std::min(n - at, kLanes<T>)};
    total.part[part] = combine(total.part[part], only(last, f(last), start));
  });
  return total;
}

// The sum of f(span), a Vec or TwoSums, along a row.
template <class T, class F>
HWY_INLINE auto sum_spans(int64_t n, F f) {
  using V = decltype(f(WholeSpan<T>{0}));
  return fold_spans<T>(
      n, V{}, [](V a, V b) HWY_ATTR { return a + b; }, f);
}

// Both sums.
template <class T>
struct Two {
  T a, b;
};
template <class T>
HWY_INLINE Two<T> reduce_sum(const Sum<TwoSums<T>>& sum) {
  Sum<Vec<T>> a, b;
  each_part<T>([&](auto part) HWY_ATTR { a.part[part] = sum.part[part].a, b.part[part] = sum.part[part].b; });
  return {reduce_sum(a), reduce_sum(b)};
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

// The bits of exp(x), denormal ones included, for x <= 0: in one factor that cannot overflow, and one that rounds.
template <class T>
HWY_INLINE Vec<T> exp_nonpositive_exact(Vec<T> x) {
  constexpr int kOffset = sizeof(T) == 8 ? 512 : 64;
  const Vec<T> lowest = sizeof(T) == 8 ? T(-746) : T(-104);
  const math::Exp<T> e(max(lowest, x));
  const Vec<T> power = e.power(kOffset);
  return fma(e.expm1_r, power, power) * T(sizeof(T) == 8 ? 0x1p-512 : 0x1p-64);
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the include guard of this instruction set
