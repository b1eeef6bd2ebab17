// Vectors of float32 rounded to bfloat16; included by kernel files, once for each instruction set.
#if defined(TAPEGRAD_AUTOGRAD_BFLOAT16_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEGRAD_AUTOGRAD_BFLOAT16_INL_H_
#undef TAPEGRAD_AUTOGRAD_BFLOAT16_INL_H_
#else
#define TAPEGRAD_AUTOGRAD_BFLOAT16_INL_H_
#endif

#include <tapegrad/autograd/kernels/simd/simd.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// The bfloat16 nearest to each element, as round_to_bfloat16, in the upper half of its word; the lower half is
// unspecified.
HWY_INLINE hn::Vec<hn::ScalableTag<uint32_t>> rounded_words(Vec<float> x) {
  const hn::ScalableTag<uint32_t> d;
  const auto bits = hn::BitCast(d, x.raw);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
  const auto nearest = hn::Add(hn::Add(bits, hn::Set(d, 0x7fff)), odd);
  return hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(x.raw)), hn::Set(d, 0x7fc00000), nearest);
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the include guard of this instruction set
