// Softmax, dropout and their gradients over rows of attention weights; included by kernel files, once for each
// instruction set.
#if defined(TAPEGRAD_AUTOGRAD_OPS_ATTENTION_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEGRAD_AUTOGRAD_OPS_ATTENTION_ROWS_INL_H_
#undef TAPEGRAD_AUTOGRAD_OPS_ATTENTION_ROWS_INL_H_
#else
#define TAPEGRAD_AUTOGRAD_OPS_ATTENTION_ROWS_INL_H_
#endif

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/softmax-inl.h>
#include <tapegrad/autograd/ops/attention/detail/attention_rows.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

template <class T>
T highest_score(const T* row, int64_t n, T highest) {
  constexpr int64_t kStep = kLanes<T>;
  int64_t j = 0;
  if (n >= kStep) {
    Vec<T> top(highest);
    for (; j + kStep <= n; j += kStep) top = max(top, load(row + j));
    highest = reduce_max(top);
  }
  for (; j < n; ++j) highest = row[j] > highest ? row[j] : highest;
  return highest;
}

// The sum of a row, in an order that depends on n alone: whole groups of kSumLanes elements by partial sums, the rest
// one by one. `add(partial, j)` adds the vector at element j to a partial sum, and `one(j)` is element j.
template <class T, class Add, class One>
HWY_INLINE T sum_of_row(int64_t n, Add add, One one) {
  const int64_t whole = n / kSumLanes<T> * kSumLanes<T>;
  Sum<Vec<T>> total;
  for (int64_t j = 0; j < whole; j += kSumLanes<T>) {
    each_part<T>([&](auto part) HWY_ATTR { total.part[part] = add(total.part[part], j + part * kLanes<T>); });
  }
  T sum = reduce_sum(total);
  for (int64_t j = whole; j < n; ++j) sum += one(j);
  return sum;
}

// Replaces scores by exp(score - highest); returns their sum.
template <class T>
T exponentiate(T* row, int64_t n, T highest) {
  map_row(
      n % kSumLanes<T>, row + n / kSumLanes<T> * kSumLanes<T>,
      [highest](Vec<T> x) HWY_ATTR { return exp_nonpositive_exact(x - highest); },
      row + n / kSumLanes<T> * kSumLanes<T>);
  return sum_of_row<T>(
      n,
      [=](Vec<T> total, int64_t j) HWY_ATTR {
        const Vec<T> e = exp_nonpositive_exact(load(row + j) - highest);
        store(e, row + j);
        return total + e;
      },
      [=](int64_t j) { return row[j]; });
}

template <class T>
void scale_row(T* row, int64_t n, T factor) {
  map_row(
      n, row, [factors = Vec<T>(factor)](Vec<T> x) { return x * factors; }, row);
}

// What makes a weight of a score: exp(score - highest) * factor. The factor is 0 where everything is masked.
template <class T>
struct SoftmaxOfRow {
  T highest, factor;
};

// Turns one row of scores into weights, in place (softmax.cpp contains the softmax of tensors): one softmax over the n
// scores of `row` and the m scores of `more`, which are already scaled, and -inf where masked.
template <class T>
SoftmaxOfRow<T> softmax_row(T* row, int64_t n, T* more = nullptr, int64_t m = 0) {
  const T highest = highest_score(more, m, highest_score(row, n, kNothing<T>));
  if (highest == kNothing<T>) {  // everything is masked: weights of zero
    for (int64_t j = 0; j < n; ++j) row[j] = row[j] == row[j] ? T{0} : row[j];
    for (int64_t j = 0; j < m; ++j) more[j] = more[j] == more[j] ? T{0} : more[j];
    return {highest, T{0}};
  }
  T sum = exponentiate(row, n, highest);
  if (m > 0) sum += exponentiate(more, m, highest);
  const T factor = T{1} / sum;
  scale_row(row, n, factor);
  scale_row(more, m, factor);
  return {highest, factor};
}

// dropped = weights * keep * factor
inline void drop_weights(const AttentionWeights& a) {
  with_floating_type(a.dtype, [&]<class T>(T) {
    const Vec<T> factor = dropout_factor<T>(a.keep_probability), zero = T{0};
    const T* const weights = static_cast<const T*>(a.weights);
    T* const dropped = static_cast<T*>(a.dropped);
    each_span<T>(a.rows * a.columns, [=, keep = a.keep](auto s) {
      s.store(where(s.load_mask(keep), s.load(weights) * factor, zero), dropped);
    });
  });
}

// forward was w = softmax(s), d = w * keep * factor, so now ds = w * (dw - <dw, w>) with dw = dd * keep * factor.
inline void weights_backward(const AttentionWeights& a) {
  with_floating_type(a.dtype, [&]<class T>(T) {
    const T factor = dropout_factor<T>(a.keep_probability);
    for (int64_t t = 0; t < a.rows; ++t) {
      const T* w = static_cast<const T*>(a.weights) + t * a.columns;
      T* row = static_cast<T*>(a.gradient) + t * a.columns;
      if (a.keep) {
        const bool* keep = a.keep + t * a.columns;
        for (int64_t j = 0; j < a.columns; ++j) row[j] = keep[j] ? row[j] * factor : T{0};
      }
      const T dot = sum_of_row<T>(
          a.columns, [=](Vec<T> total, int64_t j) HWY_ATTR { return fma(load(w + j), load(row + j), total); },
          [=](int64_t j) { return w[j] * row[j]; });
      map_row(
          a.columns, row, [dot](Vec<T> p, Vec<T> g) { return p * (g - dot); }, w, row);
    }
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the include guard of this instruction set
