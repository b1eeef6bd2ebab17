// float16 and bfloat16: conversions of many values, by the formulas of float16.h and bfloat16.h. On integers: not every
// processor converts.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/kernels/simd/halves.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/simd/bfloat16-inl.h>
#include <tapegrad/autograd/kernels/simd/bfloat16.h>
#include <tapegrad/autograd/kernels/simd/float16.h>
#include <tapegrad/autograd/kernels/simd/simd.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

using HalfWords = hn::Rebind<int32_t, Vec<float>::Tag>;
using Halves = hn::Rebind<uint16_t, Vec<float>::Tag>;

struct Float16 {
  static HWY_INLINE Vec<float> widened(hn::Vec<Halves> x) {
    const HalfWords d;
    const Vec<float>::Tag floats;
    const auto word = hn::PromoteTo(d, x);
    const auto rest = hn::And(word, hn::Set(d, 0x7fff)), high = hn::ShiftLeft<13>(rest);
    const auto small = hn::BitCast(d, hn::Mul(hn::ConvertTo(floats, rest), hn::Set(floats, 0x1p-24F)));
    const auto normal = hn::Add(high, hn::Set(d, 0x38000000));
    const auto infinite = hn::Or(high, hn::Set(d, 0x7f800000));
    const auto special =
        hn::IfThenElse(hn::Gt(rest, hn::Set(d, 0x7c00)), hn::Or(infinite, hn::Set(d, 0x400000)), infinite);
    const auto finite = hn::IfThenElse(hn::Lt(rest, hn::Set(d, 0x400)), small, normal);
    const auto value = hn::IfThenElse(hn::Lt(rest, hn::Set(d, 0x7c00)), finite, special);
    return hn::BitCast(floats, hn::Or(value, hn::ShiftLeft<16>(hn::Xor(word, rest))));
  }

  static HWY_INLINE hn::Vec<Halves> rounded(Vec<float> x) {
    const HalfWords d;
    const Vec<float>::Tag floats;
    const auto bits = hn::BitCast(d, x.raw), rest = hn::And(bits, hn::Set(d, 0x7fffffff));
    const auto top = hn::ShiftRight<13>(rest);
    const auto small =
        hn::Sub(hn::BitCast(d, hn::Add(hn::BitCast(floats, rest), hn::Set(floats, 0.5F))), hn::Set(d, 0x3f000000));
    const auto normal =
        hn::ShiftRight<13>(hn::Add(hn::Add(rest, hn::Set(d, 0xfff - 0x38000000)), hn::And(top, hn::Set(d, 1))));
    const auto nan = hn::Or(hn::And(top, hn::Set(d, 0x3ff)), hn::Set(d, 0x7e00));
    const auto special = hn::IfThenElse(hn::Gt(rest, hn::Set(d, 0x7f800000)), nan, hn::Set(d, 0x7c00));
    const auto finite = hn::IfThenElse(hn::Lt(rest, hn::Set(d, 0x38800000)), small, normal);
    const auto value = hn::IfThenElse(hn::Lt(rest, hn::Set(d, 0x47800000)), finite, special);
    const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 0x8000));
    return hn::DemoteTo(Halves(), hn::Or(value, sign));
  }
};

struct BFloat16 {
  static HWY_INLINE Vec<float> widened(hn::Vec<Halves> x) {
    return hn::BitCast(Vec<float>::Tag(), hn::ShiftLeft<16>(hn::PromoteTo(HalfWords(), x)));
  }
  static HWY_INLINE hn::Vec<Halves> rounded(Vec<float> x) {
    return hn::DemoteTo(Halves(), hn::BitCast(HalfWords(), hn::ShiftRight<16>(rounded_words(x))));
  }
};

template <class Half>
HWY_INLINE void widen_row(const uint16_t* x, int64_t n, float* y) {
  int64_t i = 0;
  for (; i + kLanes<float> <= n; i += kLanes<float>) store(Half::widened(hn::LoadU(Halves(), x + i)), y + i);
  if (i == n) return;
  uint16_t rest[kLanes<float>] = {};
  std::copy_n(x + i, n - i, rest);
  store(Half::widened(hn::LoadU(Halves(), rest)), y + i, n - i);
}

template <class Half>
HWY_INLINE void round_row(const float* x, int64_t n, uint16_t* y) {
  int64_t i = 0;
  for (; i + kLanes<float> <= n; i += kLanes<float>) hn::StoreU(Half::rounded(load(x + i)), Halves(), y + i);
  if (i == n) return;
  uint16_t rest[kLanes<float>];
  hn::StoreU(Half::rounded(load(x + i, n - i)), Halves(), rest);
  std::copy_n(rest, n - i, y + i);
}

void widen_float16_row(const uint16_t* x, int64_t n, float* y) { widen_row<Float16>(x, n, y); }
void round_float16_row(const float* x, int64_t n, uint16_t* y) { round_row<Float16>(x, n, y); }
void widen_bfloat16_row(const uint16_t* x, int64_t n, float* y) { widen_row<BFloat16>(x, n, y); }
void round_bfloat16_row(const float* x, int64_t n, uint16_t* y) { round_row<BFloat16>(x, n, y); }

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/parallel.h>

namespace tapegrad {
namespace {

constexpr int64_t kHalvesGrain = 32768;  // elements for one thread to convert at a time

HWY_EXPORT(widen_float16_row);
HWY_EXPORT(round_float16_row);
HWY_EXPORT(widen_bfloat16_row);
HWY_EXPORT(round_bfloat16_row);

template <class From, class To>
void convert_halves(void (*kernel)(const From*, int64_t, To*), const From* x, int64_t n, To* y) {
  parallel_for(n, kHalvesGrain, [=](int64_t begin, int64_t end) { kernel(x + begin, end - begin, y + begin); });
}

}  // namespace

void widen_float16(const uint16_t* x, int64_t n, float* y) {
  convert_halves(kernel_of(HWY_DISPATCH_TABLE(widen_float16_row)), x, n, y);
}
void round_to_float16(const float* x, int64_t n, uint16_t* y) {
  convert_halves(kernel_of(HWY_DISPATCH_TABLE(round_float16_row)), x, n, y);
}
void widen_bfloat16(const uint16_t* x, int64_t n, float* y) {
  convert_halves(kernel_of(HWY_DISPATCH_TABLE(widen_bfloat16_row)), x, n, y);
}
void round_to_bfloat16(const float* x, int64_t n, uint16_t* y) {
  convert_halves(kernel_of(HWY_DISPATCH_TABLE(round_bfloat16_row)), x, n, y);
}

}  // namespace tapegrad
#endif
