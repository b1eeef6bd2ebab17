// The kernels of window attention: scores to weights, dropout, gradients.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/attention/window_rows.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/ops/attention/detail/attention_rows-inl.h>
#include <tapegrad/autograd/ops/attention/detail/attention_rows.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

void softmax_in_window(const WindowRows& a) {
  with_floating_type(a.dtype, [&]<class T>(T) {
    const T nothing = -std::numeric_limits<T>::infinity(), scale = static_cast<T>(a.scale);
    for (int64_t t = 0; t < a.rows; ++t) {
      T* const row = static_cast<T*>(a.weights) + t * a.columns;
      T* const span = row + a.globals;
      const int64_t begin = a.begin(t), end = a.end(t);
      if (a.hidden && a.hidden[t]) {
        std::fill(row, row + a.columns, T{0});
        continue;
      }
      const bool* const seen = a.seen + t * a.globals;
      for (int64_t j = 0; j < a.globals; ++j) row[j] = seen[j] ? row[j] * scale : nothing;
      scale_row(span + begin, end - begin, scale);
      if (a.allowed) {
        const bool* const allowed = a.allowed + t * a.mask_row;
        for (int64_t j = begin; j < end; ++j) span[j] = allowed[j * a.mask_column] ? span[j] : nothing;
      }
      softmax_row(span + begin, end - begin, row, a.globals);
      std::fill(span, span + begin, T{0});
      std::fill(span + end, row + a.columns, T{0});
    }
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {

namespace {

HWY_EXPORT(softmax_in_window);
HWY_EXPORT(drop_weights);
HWY_EXPORT(weights_backward);

}  // namespace

void window_scores_to_weights(const WindowRows& rows) { kernel_of(HWY_DISPATCH_TABLE(softmax_in_window))(rows); }
void drop_window_weights(const AttentionWeights& rows) { kernel_of(HWY_DISPATCH_TABLE(drop_weights))(rows); }
void window_weights_backward(const AttentionWeights& rows) { kernel_of(HWY_DISPATCH_TABLE(weights_backward))(rows); }

}  // namespace tapegrad
#endif  // HWY_ONCE
