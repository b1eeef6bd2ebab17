// Vectors of the processor's full width, compiled once for each instruction set; for kernel files only.
//
// A kernel file starts with these lines (its own path in the first), and has its kernels between the two macros
// (autograd/kernels/kernel.h shows a whole one):
//
//   #define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/family.cpp"
//   #include <tapegrad/autograd/kernels/simd/simd_targets.h>
//
//   #include <tapegrad/autograd/kernels/simd/simd.h>
//   HWY_BEFORE_NAMESPACE();
//   namespace tapegrad::HWY_NAMESPACE {
//   void tanh_row(int64_t n, const float* x, float* y) {
//     map_row(n, y, [](auto v) { return tanh(v); }, x);
//   }
//   }  // namespace tapegrad::HWY_NAMESPACE
//   HWY_AFTER_NAMESPACE();
//   #if HWY_ONCE
//   namespace tapegrad {
//   HWY_EXPORT(tanh_row);
//   void tanh_row(int64_t n, const float* x, float* y) { kernel_of(HWY_DISPATCH_TABLE(tanh_row))(n, x, y); }
//   }  // namespace tapegrad
//   #endif
//
// Lambdas that work on vectors must be between the macros too, or they are not compiled for the instruction set.
#if defined(TAPEGRAD_AUTOGRAD_SIMD_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEGRAD_AUTOGRAD_SIMD_H_
#undef TAPEGRAD_AUTOGRAD_SIMD_H_
#else
#define TAPEGRAD_AUTOGRAD_SIMD_H_
#endif

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <tapegrad/autograd/kernels/family.h>

// The portable family is for checks: its functions, between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE, need not be
// fast.
#if HWY_TARGET == HWY_SSE4 && defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#undef HWY_PUSH_ATTRIBUTES
#define HWY_PUSH_ATTRIBUTES(targets_str) \
  HWY_PRAGMA(GCC push_options) HWY_PRAGMA(GCC target targets_str) HWY_PRAGMA(GCC optimize("Os"))
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// How many T one vector holds.
template <class T>
inline constexpr int64_t kLanes = HWY_LANES(T);

/// Whether there are 32 vector registers, not 16.
inline constexpr bool kManyRegisters = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON;

/// min and max as x86 has them: b when either is NaN, or both are zeros. For Highway's vectors.
template <class V>
HWY_INLINE V smaller(V a, V b) {
  if constexpr (HWY_TARGET == HWY_NEON) return hn::IfThenElse(hn::Lt(a, b), a, b);
  return hn::Min(a, b);
}
template <class V>
HWY_INLINE V larger(V a, V b) {
  if constexpr (HWY_TARGET == HWY_NEON) return hn::IfThenElse(hn::Gt(a, b), a, b);
  return hn::Max(a, b);
}

#if HWY_TARGET == HWY_SSE4
// a * b + c without the instruction, for processors that have none. The product of two floats is exact in double. Its
// sum with c is rounded to odd (Boldo, Melquiond 2008): then rounding it to float gives what rounding once would.
template <class V>
HWY_INLINE V rounded_to_odd(V product, V c) {
  const hn::DFromV<V> d;
  const hn::RebindToSigned<decltype(d)> di;
  const V sum = hn::Add(product, c), of_c = hn::Sub(sum, product);
  const V lost = hn::Add(hn::Sub(product, hn::Sub(sum, of_c)), hn::Sub(c, of_c));  // NaN where the sum is not finite
  const V zero = hn::Zero(d);
  const auto inexact = hn::BitCast(di, hn::VecFromMask(d, hn::Or(hn::Lt(lost, zero), hn::Gt(lost, zero))));
  const auto bits = hn::BitCast(di, sum), one = hn::Set(di, 1);
  const auto even = hn::Sub(hn::And(bits, one), one);  // all bits set, or none
  const auto towards = hn::Or(hn::BroadcastSignBit(hn::Xor(bits, hn::BitCast(di, lost))), one);  // 1 or -1
  return hn::BitCast(d, hn::Add(bits, hn::And(towards, hn::And(inexact, even))));
}
template <class V>
HWY_NOINLINE __attribute__((cold)) V emulated_fused(V a, V b, V c) {
  const hn::DFromV<V> d;
  if constexpr (sizeof(hn::TFromV<V>) == sizeof(double)) {
    HWY_ALIGN double x[hn::MaxLanes(d)], y[hn::MaxLanes(d)], z[hn::MaxLanes(d)];
    hn::Store(a, d, x);
    hn::Store(b, d, y);
    hn::Store(c, d, z);
    for (size_t i = 0; i < hn::MaxLanes(d); ++i) x[i] = std::fma(x[i], y[i], z[i]);
    return hn::Load(d, x);
  } else {
    const hn::Half<decltype(d)> half;
    const hn::Repartition<double, decltype(d)> wide;
    const auto of = [&](auto a_half, auto b_half, auto c_half) HWY_ATTR {
      const auto product = hn::Mul(hn::PromoteTo(wide, a_half), hn::PromoteTo(wide, b_half));
      return hn::DemoteTo(half, rounded_to_odd(product, hn::PromoteTo(wide, c_half)));
    };
    return hn::Combine(d, of(hn::UpperHalf(half, a), hn::UpperHalf(half, b), hn::UpperHalf(half, c)),
                       of(hn::LowerHalf(half, a), hn::LowerHalf(half, b), hn::LowerHalf(half, c)));
  }
}

/// a * b + c, rounded once, for every instruction set. For Highway's vectors.
template <class V>
HWY_NOINLINE V fused(V a, V b, V c) {
  if (HWY_UNLIKELY(!detail::has_fma)) return emulated_fused(a, b, c);
  // Most processors have the instruction, but the compiler must not use it here.
  if constexpr (sizeof(hn::TFromV<V>) == sizeof(double)) {
    asm("vfmadd213pd %2, %1, %0" : "+x"(a.raw) : "x"(b.raw), "x"(c.raw));
  } else {
    asm("vfmadd213ps %2, %1, %0" : "+x"(a.raw) : "x"(b.raw), "x"(c.raw));
  }
  return a;
}
#else
/// a * b + c, rounded once, for every instruction set. For Highway's vectors.
template <class V>
HWY_INLINE V fused(V a, V b, V c) {
  return hn::MulAdd(a, b, c);
}
#endif

/// One bool per lane: the result of comparing vectors.
template <class T>
struct Mask;

/// A vector of T (float or double); scalars convert to it, so formulas read as they do on tensors.
template <class T>
struct Vec {
  using Element = T;
  using Tag = hn::ScalableTag<T>;
  using Raw = hn::Vec<Tag>;
  Raw raw;

  HWY_INLINE Vec() : raw(hn::Zero(Tag())) {}
  HWY_INLINE Vec(T s) : raw(hn::Set(Tag(), s)) {}
  HWY_INLINE Vec(Raw r) : raw(r) {}

  friend HWY_INLINE Vec operator+(Vec a, Vec b) { return hn::Add(a.raw, b.raw); }
  friend HWY_INLINE Vec operator-(Vec a, Vec b) { return hn::Sub(a.raw, b.raw); }
  friend HWY_INLINE Vec operator*(Vec a, Vec b) { return hn::Mul(a.raw, b.raw); }
  friend HWY_INLINE Vec operator/(Vec a, Vec b) { return hn::Div(a.raw, b.raw); }
  friend HWY_INLINE Vec operator-(Vec a) { return hn::Neg(a.raw); }
  HWY_INLINE Vec& operator+=(Vec b) { return *this = *this + b; }
  HWY_INLINE Vec& operator-=(Vec b) { return *this = *this - b; }
  HWY_INLINE Vec& operator*=(Vec b) { return *this = *this * b; }
  HWY_INLINE Vec& operator/=(Vec b) { return *this = *this / b; }

  // With NaN on either side only != is true.
  friend HWY_INLINE Mask<T> operator<(Vec a, Vec b) { return hn::Lt(a.raw, b.raw); }
  friend HWY_INLINE Mask<T> operator<=(Vec a, Vec b) { return hn::Le(a.raw, b.raw); }
  friend HWY_INLINE Mask<T> operator>(Vec a, Vec b) { return hn::Gt(a.raw, b.raw); }
  friend HWY_INLINE Mask<T> operator>=(Vec a, Vec b) { return hn::Ge(a.raw, b.raw); }
  friend HWY_INLINE Mask<T> operator==(Vec a, Vec b) { return hn::Eq(a.raw, b.raw); }
  friend HWY_INLINE Mask<T> operator!=(Vec a, Vec b) {  // hn::Ne is false with NaN from AVX2 on
    return hn::Not(hn::Eq(a.raw, b.raw));
  }

  /// a * b + c, rounded once.
  friend HWY_INLINE Vec fma(Vec a, Vec b, Vec c) { return fused(a.raw, b.raw, c.raw); }
  /// The smaller and the larger; b when either is NaN.
  friend HWY_INLINE Vec min(Vec a, Vec b) { return smaller(a.raw, b.raw); }
  friend HWY_INLINE Vec max(Vec a, Vec b) { return larger(a.raw, b.raw); }
  /// The same with NaN when either is NaN, as tensors have it.
  friend HWY_INLINE Vec minimum(Vec a, Vec b) { return hn::IfThenElse(hn::IsNaN(a.raw), a.raw, smaller(a.raw, b.raw)); }
  friend HWY_INLINE Vec maximum(Vec a, Vec b) { return hn::IfThenElse(hn::IsNaN(a.raw), a.raw, larger(a.raw, b.raw)); }
  friend HWY_INLINE Vec copysign(Vec a, Vec sign) { return hn::CopySign(a.raw, sign.raw); }

  friend HWY_INLINE Vec abs(Vec x) { return hn::Abs(x.raw); }
  friend HWY_INLINE Vec sqrt(Vec x) { return hn::Sqrt(x.raw); }
  friend HWY_INLINE Vec rsqrt(Vec x) { return 1 / sqrt(x); }
  friend HWY_INLINE Vec floor(Vec x) { return hn::Floor(x.raw); }
  friend HWY_INLINE Vec ceil(Vec x) { return hn::Ceil(x.raw); }
  friend HWY_INLINE Vec trunc(Vec x) { return hn::Trunc(x.raw); }
  /// To the nearest integer, halves to even.
  friend HWY_INLINE Vec round(Vec x) { return hn::Round(x.raw); }
};

template <class T>
struct Mask {
  using Raw = hn::Mask<hn::ScalableTag<T>>;
  Raw raw;

  HWY_INLINE Mask(Raw r) : raw(r) {}
  friend HWY_INLINE Mask operator&(Mask a, Mask b) { return hn::And(a.raw, b.raw); }
  friend HWY_INLINE Mask operator|(Mask a, Mask b) { return hn::Or(a.raw, b.raw); }
  friend HWY_INLINE Mask operator^(Mask a, Mask b) { return hn::Xor(a.raw, b.raw); }
  friend HWY_INLINE Mask operator!(Mask a) { return hn::Not(a.raw); }
  /// a where the mask is set, b elsewhere.
  friend HWY_INLINE Vec<T> where(Mask m, Vec<T> a, Vec<T> b) { return hn::IfThenElse(m.raw, a.raw, b.raw); }
};

template <class T>
HWY_INLINE bool any(Mask<T> m) {
  return !hn::AllFalse(hn::ScalableTag<T>(), m.raw);
}

// ---- Memory: unaligned; with a count, only the first n lanes are accessed (0 <= n <= kLanes<T>) ----

template <class T>
HWY_INLINE Vec<T> load(const T* p) {
  return hn::LoadU(hn::ScalableTag<T>(), p);
}

/// The lanes from n on are zero.
template <class T>
HWY_INLINE Vec<T> load(const T* p, int64_t n) {
  const hn::ScalableTag<T> d;
  // Where a masked load reads the whole vector. AVX2's does not, though Highway says so, for its numbers of 8 and 16
  // bits.
#if HWY_MEM_OPS_MIGHT_FAULT && (HWY_TARGET != HWY_AVX2 || HWY_IS_ASAN || HWY_IS_MSAN)
  HWY_ALIGN T lanes[kLanes<T>] = {};
  std::memcpy(lanes, p, n * sizeof(T));
  return hn::Load(d, lanes);
#else
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(n)), d, p);
#endif
}

// One step of a partial store: stores the lower half of v if n has that bit, and returns what is left to store.
template <class V, class D, class T = hn::TFromD<D>>
HWY_INLINE auto store_half(V v, T* p, int64_t n, D) {
  const hn::Half<D> half;
  if ((n & static_cast<int64_t>(hn::MaxLanes(half))) == 0) return hn::LowerHalf(half, v);
  hn::StoreU(hn::LowerHalf(half, v), half, p);
  return hn::UpperHalf(half, v);
}

template <class T>
HWY_INLINE void store(Vec<T> v, T* p) {
  hn::StoreU(v.raw, hn::ScalableTag<T>(), p);
}

template <class T>
HWY_INLINE void store(Vec<T> v, T* p, int64_t n) {
  const hn::ScalableTag<T> d;
#if HWY_TARGET == HWY_AVX3
  hn::BlendedStore(v.raw, hn::FirstN(d, static_cast<size_t>(n)), d, p);
#else  // in halves: a masked store takes a dozen cycles on AMD's processors
  if (n >= kLanes<T>) {
    hn::StoreU(v.raw, d, p);
    return;
  }
  const auto rest = store_half(v.raw, p, n, d);
  if constexpr (kLanes<T> >= 4) {
    const hn::FixedTag<T, kLanes<T> / 2> half;
    const auto next = store_half(rest, p + (n & (kLanes<T> / 2)), n, half);
    if constexpr (kLanes<T> >= 8) {
      store_half(next, p + (n & 6), n, hn::FixedTag<T, kLanes<T> / 4>());
    }
  }
#endif
}

/// Stores past the caches, for results that are not read soon. p must be aligned to a vector; call stream_end() after
/// the row.
template <class T>
HWY_INLINE void stream(Vec<T> v, T* p) {
  hn::Stream(v.raw, hn::ScalableTag<T>(), p);
}
HWY_INLINE void stream_end() { hwy::FlushStream(); }

/// From bytes of 0 and 1; lanes from n on are false.
template <class T>
HWY_INLINE Mask<T> load_mask(const bool* p, int64_t n = kLanes<T>) {
  uint8_t bytes[kLanes<T>] = {};
  std::memcpy(bytes, p, n);
  const hn::ScalableTag<T> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes_tag;
  const hn::Rebind<uint32_t, decltype(d)> words_tag;
  const auto words = hn::PromoteTo(words_tag, hn::LoadU(bytes_tag, bytes));
  const hn::RebindToUnsigned<decltype(d)> lanes_tag;
  if constexpr (sizeof(T) == 4) {
    return hn::RebindMask(d, hn::Ne(words, hn::Zero(words_tag)));
  } else {
    return hn::RebindMask(d, hn::Ne(hn::PromoteTo(lanes_tag, words), hn::Zero(lanes_tag)));
  }
}

template <class T>
HWY_INLINE void store_mask(Mask<T> m, bool* p, int64_t n = kLanes<T>) {
  uint8_t bits[8] = {};
  hn::StoreMaskBits(hn::ScalableTag<T>(), m.raw, bits);
  for (int64_t i = 0; i < n; i += 8) {  // bit j of a byte goes to byte j
    const uint64_t b = bits[i / 8];
    const uint64_t bytes = ((b & 0x7f) * 0x02040810204081 & 0x0101010101010101) | b >> 7 << 56;
    std::memcpy(p + i, &bytes, n - i < 8 ? n - i : 8);
  }
}

// ---- Across lanes ----

template <class T>
HWY_INLINE T reduce_max(Vec<T> v) {
  const hn::ScalableTag<T> d;
  return hn::GetLane(hn::MaxOfLanes(d, v.raw));
}

// ---- Sums: in an order that no instruction set changes (docs/reproducibility.md, "The order of sums") ----

/// A sum over contiguous elements has this many partial sums; element i is added to number i % kSumLanes<T>.
template <class T>
inline constexpr int64_t kSumLanes = 64 / sizeof(T);
/// The vectors that hold one partial sum per lane.
template <class T>
inline constexpr int64_t kSumVecs = kSumLanes<T> / kLanes<T>;

/// f(part) for each of these vectors. `part` is a constant where there are few, so that sums stay in registers.
template <class T, class F>
HWY_INLINE void each_part(F f) {
  if constexpr (kSumVecs < T >> 2) {
    for (int64_t part = 0; part < kSumVecs<T>; ++part) f(part);
  } else {
    f(std::integral_constant<int64_t, 0>());
    if constexpr (kSumVecs < T >> 1) f(std::integral_constant<int64_t, 1>());
  }
}

/// The partial sums. V is Vec<T>, or several of them.
template <class V>
struct Sum {
  V part[kSumVecs<typename V::Element>];

  HWY_INLINE Sum() {}  // zeros; written out, or it would not be compiled for the instruction set
  HWY_INLINE Sum& operator+=(const Sum& other) {
    each_part<typename V::Element>([&](auto i) HWY_ATTR { part[i] += other.part[i]; });
    return *this;
  }
};

/// Partial sums that are in memory.
template <class T>
HWY_INLINE Sum<Vec<T>> load_sum(const T* from) {
  Sum<Vec<T>> sum;
  each_part<T>([&](auto part) HWY_ATTR { sum.part[part] = load(from + part * kLanes<T>); });
  return sum;
}

// Adds the upper half of the lanes to the lower half, until one lane is left.
template <class D, class V>
HWY_INLINE hn::TFromD<D> sum_of_halves(D d, V v) {
  if constexpr (hn::MaxLanes(d) * sizeof(hn::TFromD<D>) > 16) {
    const hn::Half<D> half;
    return sum_of_halves(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return hn::GetLane(hn::Add(v, hn::Shuffle01(v)));
  } else {
    v = hn::Add(v, hn::Shuffle1032(v));
    return hn::GetLane(hn::Add(v, hn::Shuffle2301(v)));
  }
}

/// The partial sums of all these vectors as one vector: number i and number i + kSumLanes / 2 are combined, and so on.
template <class T, class Combine>
HWY_INLINE Vec<T> merged(const Sum<Vec<T>>& sum, Combine combine) {
  static_assert(kSumVecs<T> == 1 || kSumVecs<T> == 2 || kSumVecs<T> == 4);
  if constexpr (kSumVecs<T> == 1) {
    return sum.part[0];
  } else if constexpr (kSumVecs<T> == 2) {
    return combine(sum.part[0], sum.part[1]);
  } else {
    return combine(combine(sum.part[0], sum.part[2]), combine(sum.part[1], sum.part[3]));
  }
}

/// The sum of the partial sums, halved likewise until one is left.
template <class T>
HWY_INLINE T reduce_sum(const Sum<Vec<T>>& sum) {
  const auto add = [](Vec<T> a, Vec<T> b) HWY_ATTR { return a + b; };
  return sum_of_halves(hn::ScalableTag<T>(), merged(sum, add).raw);
}

// ---- Rows ----

/// y[i] = f(x[i]...) for i in [0, n); f takes and returns vectors, y may be one of the x.
template <class T, class F, class... X>
HWY_INLINE void map_row(int64_t n, T* y, F f, const X*... x) {
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) store(f(load(x + i)...), y + i);
  if (i < n) store(f(load(x + i, n - i)...), y + i, n - i);
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#include <tapegrad/autograd/kernels/simd/simd_math.h>
#include <tapegrad/autograd/kernels/simd/simd_trig.h>

#endif  // the include guard of this instruction set
