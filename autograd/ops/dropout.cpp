// Dropout: one fused pass over a mask of bytes that the generator drew, forward and backward alike.
#include <tapegrad/autograd/kernels/simd_targets.h>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/dropout.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <tapegrad/autograd/kernels/simd.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// y = x * (keep ? scale : 0): a product, so that NaN and infinity stay visible where they are dropped, as in PyTorch.
template <class T>
HWY_INLINE void keep_row(int64_t n, const T* x, const bool* keep, T scale, T* y) {
  const auto noise = [scale](Mask<T> m) { return where(m, Vec<T>(scale), Vec<T>(T{0})); };
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) store(load(x + i) * noise(load_mask<T>(keep + i)), y + i);
  if (i < n) store(load(x + i, n - i) * noise(load_mask<T>(keep + i, n - i)), y + i, n - i);
}
void keep_float(int64_t n, const float* x, const bool* keep, float scale, float* y) { keep_row(n, x, keep, scale, y); }
void keep_double(int64_t n, const double* x, const bool* keep, double scale, double* y) {
  keep_row(n, x, keep, scale, y);
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/formula.h>
#include <tapegrad/autograd/ops/map.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/tape.h>

namespace tapegrad {
namespace {

HWY_EXPORT(keep_float);
HWY_EXPORT(keep_double);

const Op kDropout{"dropout"};

// keep [x.shape()] bool. Linear in x, so its derivative is itself: dx = apply(dy, keep), to any order.
Tensor apply(const Tensor& x, const Tensor& keep, double p) {
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  with_floating_type(x.dtype(), [&](auto t) {
    using T = decltype(t);
    const T scale = T{1} / static_cast<T>(1 - p);
    map(
        y, {&x, &keep},
        [](const void* const* in, void* out, int64_t n, const void* context) {
          const T* values = static_cast<const T*>(in[0]);
          const bool* kept = static_cast<const bool*>(in[1]);
          const T factor = *static_cast<const T*>(context);
          if constexpr (std::is_same_v<T, float>) {
            HWY_DYNAMIC_DISPATCH(keep_float)(n, values, kept, factor, static_cast<T*>(out));
          } else {
            HWY_DYNAMIC_DISPATCH(keep_double)(n, values, kept, factor, static_cast<T*>(out));
          }
        },
        &scale);
  });
  return record(kDropout, y, {x}, [keep, p](const Tensor& dy) -> Grads { return apply(dy, keep, p); });
}

}  // namespace

Tensor dropout(const Tensor& x, double p, bool training, Generator* generator) {
  if (!(p >= 0 && p <= 1)) kDropout.fail(fmt::format("probability {}, need one in [0, 1]", p));
  need_floating(kDropout, x);
  if (!training || p == 0 || x.numel() == 0) return x;
  if (p == 1) return mul(x, 0.0);
  const Tensor keep = Tensor::empty(x.shape(), kBool);
  Generator& draws = generator ? *generator : default_generator();
  draws.keep_mask(reinterpret_cast<uint8_t*>(keep.mutable_data<bool>()), keep.numel(), 1 - p);
  return apply(x, keep, p);
}

}  // namespace tapegrad
#endif
