// The kernels of attention by hashing: scores to weights, and their gradient.
// build: -O2
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/attention/lsh_rows.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/ops/attention/detail/attention_rows-inl.h>
#include <tapegrad/autograd/ops/attention/detail/attention_rows.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

void lsh_weights(const LshRows& a) {
  with_floating_type(a.dtype, [&]<class T>(T) {
    const int64_t n = a.columns;
    for (int64_t i = 0; i < a.rows; ++i) {
      T* const row = static_cast<T*>(a.scores) + i * n;
      T &top = static_cast<T*>(a.top)[i], &total = static_cast<T*>(a.total)[i];
      RunningSoftmax<T> softmax{top, total};
      T& factor = static_cast<T*>(a.factor)[i];
      factor = softmax.raise(highest_score(row, n, top));
      if (softmax.highest == kNothing<T>) {  // no key yet, or only scores that are NaN, which reach the result
        for (int64_t j = 0; j < n; ++j) {
          if (row[j] == row[j]) row[j] = T{0};
          total += row[j];
        }
        continue;
      }
      total = softmax.sum + exponentiate(row, n, softmax.highest);
      top = softmax.highest;
    }
  });
}

// forward was w = exp(score - whole), y = sum of w v, so now dscore = w (<dy, v> - <dy, y>).
void lsh_weights_backward(const LshRows& a) {
  with_floating_type(a.dtype, [&]<class T>(T) {
    const int64_t n = a.columns;
    for (int64_t i = 0; i < a.rows; ++i) {
      T* const w = static_cast<T*>(a.scores) + i * n;
      T* const ds = static_cast<T*>(a.gradient) + i * n;
      const T whole = static_cast<const T*>(a.whole)[i], delta = static_cast<const T*>(a.delta)[i];
      if (whole == kNothing<T>) {
        std::fill(w, w + n, T{0});
        std::fill(ds, ds + n, T{0});
        continue;
      }
      each_span<T>(n, [=](auto s) {
        const Vec<T> e = exp(s.load(w) - whole), d = s.load(ds);
        s.store(e, w);
        s.store(e * (d - delta), ds);
      });
    }
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {
namespace {

HWY_EXPORT(lsh_weights);
HWY_EXPORT(lsh_weights_backward);

}  // namespace

void lsh_scores_to_weights(const LshRows& rows) { kernel_of(HWY_DISPATCH_TABLE(lsh_weights))(rows); }
void lsh_scores_backward(const LshRows& rows) { kernel_of(HWY_DISPATCH_TABLE(lsh_weights_backward))(rows); }

}  // namespace tapegrad
#endif  // HWY_ONCE
