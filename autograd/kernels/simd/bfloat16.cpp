// bfloat16: conversions of many values.
#include <tapegrad/autograd/kernels/simd/simd_targets.h>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/autograd/kernels/simd/bfloat16.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include <tapegrad/autograd/kernels/product/blas_dot.h>
#include <tapegrad/autograd/kernels/simd/bfloat16-inl.h>
#include <tapegrad/autograd/kernels/simd/bfloat16.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

void widen_row(const uint16_t* x, int64_t n, float* y) {
  int64_t i = 0;
  for (; i + kLanes<float> <= n; i += kLanes<float>) store(load_wide(x + i), y + i);
  if (i < n) store(load_wide(x + i, n - i), y + i, n - i);
}

void round_row(const float* x, int64_t n, uint16_t* y) {
  const hn::ScalableTag<int32_t> words;
  const hn::Rebind<uint16_t, decltype(words)> narrow;
  const auto halves = [&](Vec<float> v) HWY_ATTR {
    return hn::DemoteTo(narrow, hn::BitCast(words, hn::ShiftRight<16>(rounded_words(v))));
  };
  int64_t i = 0;
  for (; i + kLanes<float> <= n; i += kLanes<float>) hn::StoreU(halves(load(x + i)), narrow, y + i);
  if (i == n) return;
  uint16_t rest[kLanes<float>];
  hn::StoreU(halves(load(x + i, n - i)), narrow, rest);
  std::copy_n(rest, n - i, y + i);
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/parallel.h>

namespace tapegrad {
namespace {

constexpr int64_t kGrain = 32768;  // elements for one thread to convert at a time

HWY_EXPORT(widen_row);
HWY_EXPORT(round_row);

}  // namespace

void widen_bfloat16(const uint16_t* x, int64_t n, float* y) {
  parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
    kernel_of(HWY_DISPATCH_TABLE(widen_row))(x + begin, end - begin, y + begin);
  });
}

void round_to_bfloat16(const float* x, int64_t n, uint16_t* y) {
  parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
    kernel_of(HWY_DISPATCH_TABLE(round_row))(x + begin, end - begin, y + begin);
  });
}

}  // namespace tapegrad
#endif
