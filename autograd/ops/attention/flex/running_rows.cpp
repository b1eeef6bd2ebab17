// The softmax of a row is corrected when a block has a higher score than the ones before (Milakov, Gimelshein 2018; Dao
// and others 2022).
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/attention/flex/running_rows.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/softmax-inl.h>
#include <tapegrad/autograd/ops/attention/flex/detail/running_rows.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

template <class T>
HWY_INLINE void scale_result(const RunningRows& r, int64_t t, T factor) {
  T* const y = static_cast<T*>(r.result) + t * r.block.width;
  map_row(
      r.block.width, y, [factor](Vec<T> v) { return v * factor; }, y);
}

void add_to_running_rows(const RunningRows& r) {
  with_floating_type(r.block.dtype, [&]<class T>(T) {
    const ScoreBlock& b = r.block;
    T *const highest = static_cast<T*>(b.highest), *const sum = static_cast<T*>(b.factor);
    for (int64_t t = 0; t < b.rows; ++t) {
      T* const row = static_cast<T*>(b.weights) + t * b.stride;
      if (b.allowed) {
        const bool* const allowed = b.allowed + t * b.mask_row;
        each_span<T>(b.columns,
                     [&](auto s) { s.store(where(s.load_mask(allowed), s.load(row), Vec<T>(kNothing<T>)), row); });
      }
      RunningSoftmax<T> softmax;
      if (!r.begins) softmax = {highest[t], sum[t]};
      const T factor = softmax.raise(largest(row, b.columns));
      softmax.sum += exp_of_row(row, b.columns, softmax.origin(), row);
      highest[t] = softmax.highest;
      sum[t] = softmax.sum;
      if (!r.begins && factor != 1) scale_result(r, t, factor);
    }
  });
}

void finish_running_rows(const RunningRows& r) {
  with_floating_type(r.block.dtype, [&]<class T>(T) {
    T* const sum = static_cast<T*>(r.block.factor);
    for (int64_t t = 0; t < r.block.rows; ++t) {
      sum[t] = sum[t] == 0 ? T{0} : T{1} / sum[t];
      scale_result(r, t, sum[t]);
    }
  });
}

const RunningRowsKernels& running_kernels() {
  static constexpr RunningRowsKernels kernels{add_to_running_rows, finish_running_rows};
  return kernels;
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {
namespace {

HWY_EXPORT(running_kernels);

}  // namespace

const RunningRowsKernels& running_rows_kernels() { return chosen<HWY_DISPATCH_TABLE(running_kernels)>(); }

}  // namespace tapegrad
#endif  // HWY_ONCE
