// Dropout: one fused pass over a mask of bytes that the generator drew, the same forward and backward.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/random/dropout.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/rows-inl.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/dropout_mask.h>
#include <tapegrad/autograd/ops/detail/map.h>
#include <tapegrad/autograd/random.h>

#ifndef TAPEGRAD_DROPOUT_TYPES
#define TAPEGRAD_DROPOUT_TYPES
namespace tapegrad {

struct DropoutArgs {
  DType dtype;
  double keep_probability;
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// A MapKernel: y = x * (keep ? 1 / keep_probability : 0), x and keep being the operands. A product, so that NaN and
// infinity are not hidden where they are dropped, as in PyTorch.
void dropout_row(const void* const* operands, void* out, int64_t n, const void* context) {
  const auto& args = *static_cast<const DropoutArgs*>(context);
  with_floating_type(args.dtype, [&]<class T>(T) {
    const T* const x = static_cast<const T*>(operands[0]);
    const bool* const keep = static_cast<const bool*>(operands[1]);
    T* const y = static_cast<T*>(out);
    const Vec<T> scale = dropout_factor<T>(args.keep_probability), zero = T{0};
    each_span<T>(n, [=](auto s) { s.store(s.load(x) * where(s.load_mask(keep), scale, zero), y); });
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {
namespace {

HWY_EXPORT(dropout_row);

const ElementwiseOp kDropout{"dropout"};

// keep [x.shape()] bool. Linear in x, so it is its own derivative: dx = apply(dy, keep), to any order.
Tensor apply(const Tensor& x, const Tensor& keep, double p) {
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  const DropoutArgs args{.dtype = x.dtype(), .keep_probability = 1 - p};
  map(y, {&x, &keep}, kernel_of(HWY_DISPATCH_TABLE(dropout_row)), &args);
  return record(kDropout, y, {x}, [keep, p](const Tensor& dy) -> Grads { return apply(dy, keep, p); });
}

}  // namespace

Tensor dropout(const Tensor& x, double p, bool training, Generator* generator) {
  require_probability(kDropout.name, "the probability", p);
  require_floating(kDropout.name, {&x});
  if (!training || p == 0 || x.numel() == 0) return x;
  if (p == 1) return mul(x, 0.0);
  const Tensor keep = Tensor::empty(x.shape(), kBool);
  Generator& draws = generator ? *generator : default_generator();
  draws.keep_mask(reinterpret_cast<uint8_t*>(keep.mutable_data<bool>()), keep.numel(), 1 - p);
  return apply(x, keep, p);
}

}  // namespace tapegrad
#endif  // HWY_ONCE
