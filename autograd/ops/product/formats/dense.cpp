// Weights that stay tensors: float32, float16 and bfloat16.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/product/formats/dense.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/product/blas_dot.h>
#include <tapegrad/autograd/kernels/product/few_rows.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

void multiply_bfloat16(const StreamedWeight& w, int64_t begin, int64_t end, int64_t m, int64_t k, const void* a) {
  const auto done = [&](int64_t i, int64_t j, float sum) HWY_ATTR { w.store(i, begin + j, sum); };
  dot_rows(m, end - begin, k, static_cast<const float*>(a), k, static_cast<const uint16_t*>(w.data) + begin * k, k,
           done);
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/kernels/simd/bfloat16.h>
#include <tapegrad/autograd/weight_format.h>

namespace tapegrad {
namespace {

HWY_EXPORT(multiply_bfloat16);

}  // namespace

extern const RowsFormat kBFloat16Rows;
const RowsFormat kBFloat16Rows{
    .group_bytes = 2,
    .multiply = [](const StreamedWeight& w, int64_t begin, int64_t end, int64_t m, int64_t k,
                   const void* a) { kernel_of(HWY_DISPATCH_TABLE(multiply_bfloat16))(w, begin, end, m, k, a); },
    .widen = [](const void* data, const float*, int64_t rows, int64_t k,
                float* w) { widen_bfloat16(static_cast<const uint16_t*>(data), rows * k, w); }};

extern const WeightFormat kFloat32Format, kFloat16Format, kBFloat16Format;
const WeightFormat kFloat32Format{.name = "float32", .memory = "", .dtype = kFloat32, .rows = &kFloat32Rows};
const WeightFormat kFloat16Format{.name = "float16", .memory = "half", .dtype = kFloat16, .rows = &kFloat16Rows};
const WeightFormat kBFloat16Format{.name = "bfloat16", .memory = "half", .dtype = kBFloat16, .rows = &kBFloat16Rows};

}  // namespace tapegrad
#endif
