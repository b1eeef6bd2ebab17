// The kernels of attention with many keys. The weights of a query have the bits of attention_heads.cpp.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/attention/score_block.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops/attention/detail/attention_rows-inl.h>
#include <tapegrad/autograd/ops/attention/detail/score_block.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

HWY_INLINE int64_t visible_columns(const ScoreBlock& b, int64_t t) {
  return b.causal ? std::clamp<int64_t>(b.first + t + 1, 0, b.columns) : b.columns;
}

// Scales the scores of a query, and masks them.
template <class T>
void finish_scores(const ScoreBlock& b, int64_t t, T* row, int64_t visible) {
  if (b.scale != 1) scale_row(row, visible, static_cast<T>(b.scale));
  if (b.allowed) {
    const bool* const allowed = b.allowed + t * b.mask_row;
    if (b.mask_column == 1) {
      each_span<T>(visible,
                   [&](auto s) { s.store(where(s.load_mask(allowed), s.load(row), Vec<T>(kNothing<T>)), row); });
    } else {
      for (int64_t j = 0; j < visible; ++j) row[j] = allowed[j * b.mask_column] ? row[j] : kNothing<T>;
    }
  } else if (b.added) {
    const T* const added = static_cast<const T*>(b.added) + t * b.mask_row;
    if (b.mask_column == 1) {
      map_row(
          visible, row, [](Vec<T> x, Vec<T> m) { return x + m; }, row, added);
    } else {
      for (int64_t j = 0; j < visible; ++j) row[j] += added[j * b.mask_column];
    }
  }
}

template <class T>
void drop_row(const ScoreBlock& b, int64_t t, int64_t n, const T* from, T* to) {
  const Vec<T> factor = dropout_factor<T>(b.keep_probability);
  const bool* const keep = b.keep + t * b.columns;
  each_span<T>(n, [&](auto s) { s.store(where(s.load_mask(keep), s.load(from) * factor, Vec<T>(0)), to); });
}

void softmax_of_block(const ScoreBlock& b) {
  with_floating_type(b.dtype, [&]<class T>(T) {
    for (int64_t t = 0; t < b.rows; ++t) {
      T* const row = static_cast<T*>(b.weights) + t * b.stride;
      const int64_t visible = visible_columns(b, t);
      finish_scores(b, t, row, visible);
      const SoftmaxOfRow<T> softmax = softmax_row(row, visible);
      static_cast<T*>(b.highest)[t] = softmax.highest;
      static_cast<T*>(b.factor)[t] = softmax.factor;
      std::fill(row + visible, row + b.columns, T{0});
      if (b.keep) drop_row(b, t, visible, row, row);
    }
  });
}

void slopes_of_block(const ScoreBlock& b) {
  with_floating_type(b.dtype, [&]<class T>(T) {
    for (int64_t t = 0; t < b.rows; ++t) {
      const T* const dy = static_cast<const T*>(b.dy) + t * b.dy_row;
      const T* const y = static_cast<const T*>(b.y) + t * b.y_row;
      static_cast<T*>(b.slope)[t] = reduce_sum(sum_spans<T>(b.width, [&](auto s) { return s.load(dy) * s.load(y); }));
    }
  });
}

void weights_of_block(const ScoreBlock& b) {
  with_floating_type(b.dtype, [&]<class T>(T) {
    for (int64_t t = 0; t < b.rows; ++t) {
      T* const row = static_cast<T*>(b.weights) + t * b.stride;
      const int64_t visible = visible_columns(b, t);
      finish_scores(b, t, row, visible);
      const T origin = softmax_origin(static_cast<const T*>(b.highest)[t]);
      const T factor = static_cast<const T*>(b.factor)[t];
      map_row(
          visible, row, [&](Vec<T> x) { return exp_nonpositive(x - origin) * factor; }, row);
      std::fill(row + visible, row + b.columns, T{0});
      if (b.keep) drop_row(b, t, b.columns, row, static_cast<T*>(b.dropped) + t * b.stride);
    }
  });
}

// forward was w = softmax(s), d = w * keep * factor, y = d v, so now ds = d * dd - w * <dy, y>.
void scores_backward(const ScoreBlock& b) {
  with_floating_type(b.dtype, [&]<class T>(T) {
    for (int64_t t = 0; t < b.rows; ++t) {
      const T* const w = static_cast<const T*>(b.weights) + t * b.stride;
      const T* const d = static_cast<const T*>(b.dropped) + t * b.stride;
      T* const ds = static_cast<T*>(b.gradient) + t * b.stride;
      const Vec<T> slope = static_cast<const T*>(b.slope)[t];
      if (d == w) {
        map_row(
            b.columns, ds, [slope](Vec<T> g, Vec<T> p) { return p * (g - slope); }, ds, w);
      } else {
        map_row(
            b.columns, ds, [slope](Vec<T> g, Vec<T> p, Vec<T> kept) { return kept * g - p * slope; }, ds, w, d);
      }
    }
  });
}

const AttentionBlockKernels& block_kernels() {
  static constexpr AttentionBlockKernels kernels{softmax_of_block, slopes_of_block, weights_of_block, scores_backward};
  return kernels;
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {
namespace {

HWY_EXPORT(block_kernels);

}  // namespace

const AttentionBlockKernels& attention_block_kernels() { return chosen<HWY_DISPATCH_TABLE(block_kernels)>(); }

}  // namespace tapegrad
#endif  // HWY_ONCE
