// Vectors of the processor's full width, compiled once for each instruction set; for kernel files only.
//
// A kernel file starts with these lines (its own path in the first), and has its kernels between the two macros
// (kernels/kernel.h shows a whole one):
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

#include <cstdint>
#include <cstring>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <tapegrad/autograd/kernels/family.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// How many T one vector holds.
template <class T>
inline constexpr int64_t kLanes = HWY_LANES(T);

/// Whether there are 32 vector registers, not 16.
inline constexpr bool kManyRegisters = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON;

/// min and max as x86 has them: b when either is NaN, or both are zeros. For vectors of Highway's.
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

/// One bool per lane: the result of comparing vectors.
template <class T>
struct Mask;

/// A vector of T (float or double); scalars convert to it, so formulas read as they do on tensors.
template <class T>
struct Vec {
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

  /// a * b + c, rounded once where the instruction set can (portable: twice).
  friend HWY_INLINE Vec fma(Vec a, Vec b, Vec c) { return hn::MulAdd(a.raw, b.raw, c.raw); }
  /// The smaller and the larger; b when either is NaN.
  friend HWY_INLINE Vec min(Vec a, Vec b) { return smaller(a.raw, b.raw); }
  friend HWY_INLINE Vec max(Vec a, Vec b) { return larger(a.raw, b.raw); }
  /// The same with NaN when either is NaN, as tensors have it.
  friend HWY_INLINE Vec minimum(Vec a, Vec b) { return hn::IfThenElse(hn::IsNaN(a.raw), a.raw, smaller(a.raw, b.raw)); }
  friend HWY_INLINE Vec maximum(Vec a, Vec b) { return hn::IfThenElse(hn::IsNaN(a.raw), a.raw, larger(a.raw, b.raw)); }
  friend HWY_INLINE Vec copysign(Vec a, Vec sign) { return hn::CopySign(a.raw, sign.raw); }
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
#if HWY_MEM_OPS_MIGHT_FAULT  // a masked load reads the whole vector
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

// ---- Across lanes: the order is fixed for a given vector width ----

template <class T>
HWY_INLINE T reduce_sum(Vec<T> v) {
  const hn::ScalableTag<T> d;
  return hn::GetLane(hn::SumOfLanes(d, v.raw));
}
template <class T>
HWY_INLINE T reduce_max(Vec<T> v) {
  const hn::ScalableTag<T> d;
  return hn::GetLane(hn::MaxOfLanes(d, v.raw));
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
