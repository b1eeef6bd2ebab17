// Scaled dot-product attention: scores, mask, softmax, dropout and the weighted sum of values, head by head in cache.
#include <tapegrad/autograd/simd_targets.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/attention.cpp"
#include <hwy/foreach_target.h>
#include <tapegrad/autograd/simd.h>

#include <tapegrad/autograd/ops/attention_rows.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// One row of scores becomes weights: softmax over n scores that are scaled already and -inf where nothing may be seen.
template <class T>
void softmax_row(T* row, std::int64_t n) {
  constexpr std::int64_t kStep = kLanes<T>;
  const T nothing = -std::numeric_limits<T>::infinity();
  Vec<T> top(nothing);
  std::int64_t j = 0;
  for (; j + kStep <= n; j += kStep) top = max(top, load(row + j));
  T highest = reduce_max(top);
  for (; j < n; ++j) highest = row[j] > highest ? row[j] : highest;
  if (highest == nothing) {  // may see nothing: weights of zero
    for (j = 0; j < n; ++j) row[j] = row[j] == row[j] ? T{0} : row[j];
    return;
  }
  Vec<T> total(T{0});
  for (j = 0; j + kStep <= n; j += kStep) {
    const Vec<T> e = exp(load(row + j) - highest);
    total += e;
    store(e, row + j);
  }
  T sum = reduce_sum(total);
  if (j < n) {
    const std::int64_t rest = n - j;
    const Vec<T> e = exp(load(row + j, rest) - highest);
    store(e, row + j, rest);
    for (; j < n; ++j) sum += row[j];
  }
  const Vec<T> inverse(T{1} / sum);
  for (j = 0; j + kStep <= n; j += kStep) store(load(row + j) * inverse, row + j);
  for (; j < n; ++j) row[j] *= T{1} / sum;
}

template <class T>
void scores_to_weights(const AttentionRows<T>& a) {
  const T nothing = -std::numeric_limits<T>::infinity();
  for (std::int64_t t = 0; t < a.rows; ++t) {
    T* row = a.weights + t * a.columns;
    const std::int64_t visible = a.causal ? std::min(a.columns, t + 1) : a.columns;
    if (a.allowed) {
      const bool* allowed = a.allowed + t * a.mask_row;
      for (std::int64_t j = 0; j < visible; ++j) row[j] = allowed[j * a.mask_column] ? row[j] * a.scale : nothing;
    } else if (a.added) {
      const T* added = a.added + t * a.mask_row;
      for (std::int64_t j = 0; j < visible; ++j) row[j] = row[j] * a.scale + added[j * a.mask_column];
    } else {
      for (std::int64_t j = 0; j < visible; ++j) row[j] *= a.scale;
    }
    softmax_row(row, visible);
    for (std::int64_t j = visible; j < a.columns; ++j) row[j] = T{0};
  }
}

// forward was w = softmax(s), d = w * keep * factor, so now ds = w * (dw - <dw, w>) with dw = dd * keep * factor.
template <class T>
void weights_backward(const AttentionRows<T>& a, T* dd) {
  constexpr std::int64_t kStep = kLanes<T>;
  for (std::int64_t t = 0; t < a.rows; ++t) {
    const T* w = a.weights + t * a.columns;
    T* row = dd + t * a.columns;
    if (a.keep) {
      const bool* keep = a.keep + t * a.columns;
      for (std::int64_t j = 0; j < a.columns; ++j) row[j] = keep[j] ? row[j] * a.factor : T{0};
    }
    Vec<T> total(T{0});
    std::int64_t j = 0;
    for (; j + kStep <= a.columns; j += kStep) total = fma(load(w + j), load(row + j), total);
    T dot = reduce_sum(total);
    for (; j < a.columns; ++j) dot += w[j] * row[j];
    for (j = 0; j + kStep <= a.columns; j += kStep) store(load(w + j) * (load(row + j) - dot), row + j);
    for (; j < a.columns; ++j) row[j] = w[j] * (row[j] - dot);
  }
}

void scores_to_weights_float(const AttentionRows<float>& a) { scores_to_weights(a); }
void scores_to_weights_double(const AttentionRows<double>& a) { scores_to_weights(a); }
void weights_backward_float(const AttentionRows<float>& a, float* dd) { weights_backward(a, dd); }
void weights_backward_double(const AttentionRows<double>& a, double* dd) { weights_backward(a, dd); }

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <fmt/format.h>
#include <tapegrad/autograd/blas.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/stack.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/tape.h>

#include <cmath>

namespace tapegrad {
namespace {

HWY_EXPORT(scores_to_weights_float);
HWY_EXPORT(scores_to_weights_double);
HWY_EXPORT(weights_backward_float);
HWY_EXPORT(weights_backward_double);

void scores_to_weights(const AttentionRows<float>& a) { HWY_DYNAMIC_DISPATCH(scores_to_weights_float)(a); }
void scores_to_weights(const AttentionRows<double>& a) { HWY_DYNAMIC_DISPATCH(scores_to_weights_double)(a); }
void weights_backward(const AttentionRows<float>& a, float* dd) { HWY_DYNAMIC_DISPATCH(weights_backward_float)(a, dd); }
void weights_backward(const AttentionRows<double>& a, double* dd) {
  HWY_DYNAMIC_DISPATCH(weights_backward_double)(a, dd);
}

const Op kAttention{"scaled_dot_product_attention"};

// Everything that one call works on; the leading axes of query, key and value are equal (expanded where they
// broadcast).
struct Attention {
  Tensor query, key, value;  // [..., T, D] [..., S, D] [..., S, E]
  Tensor mask;               // expanded to [..., T, S], or empty
  Tensor weights;            // [..., T, S], before dropout
  Tensor keep;               // bool [..., T, S], or empty without dropout
  double scale = 1;
  double keep_probability = 1;  // 1 - p
  bool causal = false;

  std::int64_t rows() const { return query.size(-2); }
  std::int64_t columns() const { return key.size(-2); }
  std::int64_t heads() const { return leading_axes(query).numel(); }
  // Heads a thread takes at a time: about a million multiplications.
  std::int64_t grain() const {
    const std::int64_t work = std::max<std::int64_t>(1, rows() * columns() * (query.size(-1) + value.size(-1)));
    return std::max<std::int64_t>(1, (std::int64_t{1} << 20) / work);
  }
};

template <class T>
MatrixView<const T> head(const Tensor& x, std::int64_t start) {
  return {x.data<T>() + start, x.strides()[-2], x.strides()[-1]};
}
template <class T>
MatrixView<T> fresh_head(const Tensor& x, std::int64_t start) {
  return {x.mutable_data<T>() + start, x.strides()[-2], x.strides()[-1]};
}

template <class T>
AttentionRows<T> rows_of(const Attention& a, std::int64_t head) {
  const std::int64_t cells = a.rows() * a.columns();
  AttentionRows<T> rows;
  rows.rows = a.rows();
  rows.columns = a.columns();
  rows.scale = static_cast<T>(a.scale);
  rows.factor = T{1} / static_cast<T>(a.keep_probability);  // rounded as PyTorch does
  rows.causal = a.causal;
  rows.weights = a.weights.mutable_data<T>() + head * cells;
  if (a.keep.defined()) rows.keep = a.keep.data<bool>() + head * cells;
  return rows;
}

template <class T>
void set_mask(AttentionRows<T>& rows, const Tensor& mask, std::int64_t start) {
  rows.mask_row = mask.strides()[-2];
  rows.mask_column = mask.strides()[-1];
  if (mask.dtype() == kBool) {
    rows.allowed = mask.data<bool>() + start;
  } else {
    rows.added = mask.data<T>() + start;
  }
}

// Fills a.weights and y [..., T, E].
template <class T>
void forward(const Attention& a, const Tensor& y) {
  const Shape batch = leading_axes(a.query);
  const Offsets from_q = matrix_starts(a.query, batch), from_k = matrix_starts(a.key, batch);
  const Offsets from_v = matrix_starts(a.value, batch), from_y = matrix_starts(y, batch);
  const Offsets from_mask = a.mask.defined() ? matrix_starts(a.mask, batch) : Offsets();
  const std::int64_t t = a.rows(), s = a.columns(), d = a.query.size(-1), e = a.value.size(-1);
  const Tensor key = a.key.transpose(-2, -1);
  parallel_for(a.heads(), a.grain(), [&](std::int64_t begin, std::int64_t end) {
    const Tensor dropped = a.keep.defined() ? Tensor::empty({t, s}, a.query.dtype()) : Tensor();
    for (std::int64_t h = begin; h < end; ++h) {
      const auto i = static_cast<std::size_t>(h);
      AttentionRows<T> rows = rows_of<T>(a, h);
      if (a.mask.defined()) set_mask(rows, a.mask, from_mask[i]);
      gemm<T>(t, s, d, T{1}, head<T>(a.query, from_q[i]), head<T>(key, from_k[i]), T{0}, {rows.weights, s, 1});
      scores_to_weights(rows);
      const T* weights = rows.weights;
      if (rows.keep) {
        T* out = dropped.mutable_data<T>();
        for (std::int64_t j = 0; j < t * s; ++j) out[j] = rows.keep[j] ? weights[j] * rows.factor : T{0};
        weights = out;
      }
      gemm<T>(t, e, s, T{1}, {weights, s, 1}, head<T>(a.value, from_v[i]), T{0}, fresh_head<T>(y, from_y[i]));
    }
  });
}

// dquery, dkey, dvalue and, where it is defined, dscores [..., T, S] (the gradient of an added mask).
template <class T>
void backward(const Attention& a, const Tensor& dy, const Tensor& dq, const Tensor& dk, const Tensor& dv,
              const Tensor& dscores) {
  const Shape batch = leading_axes(a.query);
  const Offsets from_q = matrix_starts(a.query, batch), from_k = matrix_starts(a.key, batch);
  const Offsets from_v = matrix_starts(a.value, batch), from_dy = matrix_starts(dy, batch);
  const Offsets to_q = matrix_starts(dq, batch), to_k = matrix_starts(dk, batch), to_v = matrix_starts(dv, batch);
  const std::int64_t t = a.rows(), s = a.columns(), d = a.query.size(-1), e = a.value.size(-1);
  const Tensor value = a.value.transpose(-2, -1);
  parallel_for(a.heads(), a.grain(), [&](std::int64_t begin, std::int64_t end) {
    const Tensor scratch = Tensor::empty({2, t, s}, a.query.dtype());
    for (std::int64_t h = begin; h < end; ++h) {
      const auto i = static_cast<std::size_t>(h);
      const AttentionRows<T> rows = rows_of<T>(a, h);
      T* const ds = dscores.defined() ? dscores.mutable_data<T>() + h * t * s : scratch.mutable_data<T>();
      const T* weights = rows.weights;
      if (rows.keep) {
        T* out = scratch.mutable_data<T>() + t * s;
        for (std::int64_t j = 0; j < t * s; ++j) out[j] = rows.keep[j] ? weights[j] * rows.factor : T{0};
        weights = out;
      }
      // y = weights v
      gemm<T>(s, e, t, T{1}, {weights, 1, s}, head<T>(dy, from_dy[i]), T{0}, fresh_head<T>(dv, to_v[i]));
      gemm<T>(t, s, e, T{1}, head<T>(dy, from_dy[i]), head<T>(value, from_v[i]), T{0}, {ds, s, 1});
      weights_backward(rows, ds);
      // scores = scale q k^T
      const T scale = rows.scale;
      gemm<T>(t, d, s, scale, {ds, s, 1}, head<T>(a.key, from_k[i]), T{0}, fresh_head<T>(dq, to_q[i]));
      gemm<T>(s, d, t, scale, {ds, 1, s}, head<T>(a.query, from_q[i]), T{0}, fresh_head<T>(dk, to_k[i]));
    }
  });
}

// The weights once more, of recorded operations, so that gradients of gradients flow through them.
Tensor composed_weights(const Attention& a) {
  Tensor scores = matmul(a.query, a.key.t()) * a.scale;
  const double nothing = -std::numeric_limits<double>::infinity();
  if (a.mask.defined()) {
    scores = a.mask.dtype() == kBool ? masked_fill(scores, logical_not(a.mask), nothing) : scores + a.mask;
  }
  if (a.causal) {
    const Tensor later = triu(ones({a.rows(), a.columns()}, kBool), 1);
    scores = masked_fill(scores, later, nothing);
  }
  return softmax(scores, -1);
}

Grads composed_backward(const Attention& a, const Tensor& dy) {
  const Tensor w = composed_weights(a);
  const Tensor kept = a.keep.defined() ? a.keep.to(w.dtype()) / a.keep_probability : Tensor();
  const Tensor dropped = kept.defined() ? w * kept : w;
  const Tensor dv = matmul(dropped.t(), dy);
  Tensor dw = matmul(dy, a.value.t());
  if (kept.defined()) dw = dw * kept;
  const Tensor ds = w * (dw - sum(dw * w, -1, true));
  return {matmul(ds, a.key) * a.scale, matmul(ds.t(), a.query) * a.scale, dv, ds};
}

Grads attention_backward(const Attention& a, const Tensor& dy, bool need_mask) {
  if (Tape::current()) return composed_backward(a, dy);
  const Tensor dq = empty_laid_out_as(a.query, a.query.size(-1));
  const Tensor dk = empty_laid_out_as(a.key, a.key.size(-1));
  const Tensor dv = empty_laid_out_as(a.value, a.value.size(-1));
  const Tensor dscores = need_mask ? Tensor::empty(a.weights.shape(), dy.dtype()) : Tensor();
  with_floating_type(dy.dtype(), [&](auto t) { backward<decltype(t)>(a, dy, dq, dk, dv, dscores); });
  return {dq, dk, dv, dscores};
}

void check_attention(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionOptions& options) {
  const auto shapes = [&] {
    return fmt::format("query {}, key {}, value {}", str(query.shape()), str(key.shape()), str(value.shape()));
  };
  if (!is_floating(query.dtype()) || query.dtype() != key.dtype() || query.dtype() != value.dtype()) {
    kAttention.fail(fmt::format("query, key and value are {}, {} and {}: all must be float32 or all float64",
                                name(query.dtype()), name(key.dtype()), name(value.dtype())));
  }
  if (query.dim() < 2 || key.dim() < 2 || value.dim() < 2) {
    kAttention.fail(fmt::format("{}: each needs two axes at least ([..., T, D])", shapes()));
  }
  if (query.size(-1) != key.size(-1)) {
    kAttention.fail(fmt::format("{}: query and key differ in their last size ({} against {})", shapes(), query.size(-1),
                                key.size(-1)));
  }
  if (key.size(-2) != value.size(-2)) {
    kAttention.fail(fmt::format("{}: {} keys against {} values", shapes(), key.size(-2), value.size(-2)));
  }
  if (!(options.dropout >= 0 && options.dropout <= 1)) {
    kAttention.fail(fmt::format("dropout {} is no probability (0 to 1)", options.dropout));
  }
}

}  // namespace

std::pair<Tensor, Tensor> attention_with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                                 const AttentionOptions& options) {
  check_attention(query, key, value, options);
  Attention a;
  const auto lead = [](const Tensor& x) { return leading_axes(x); };
  const Shape batch = broadcast(kAttention.name, broadcast(kAttention.name, lead(query), lead(key)), lead(value));
  const auto stretched = [&](const Tensor& x) {
    if (leading_axes(x) == batch) return x;
    Shape shape = batch;
    shape.push_back(x.size(-2));
    shape.push_back(x.size(-1));
    return x.expand(shape);
  };
  a.query = stretched(query);
  a.key = stretched(key);
  a.value = stretched(value);
  Shape cells = batch;
  cells.push_back(a.rows());
  cells.push_back(a.columns());
  if (options.mask.defined()) {
    Tensor mask = options.mask;
    if (mask.dtype() == kInt64) {
      kAttention.fail("the mask is int64; it must be bool (true may be seen) or floating (added to the scores)");
    }
    if (mask.dtype() != kBool) mask = mask.to(query.dtype());
    if (!broadcasts_to(mask.shape(), cells)) {
      kAttention.fail(fmt::format("the mask {} does not broadcast to the scores {}", str(mask.shape()), str(cells)));
    }
    a.mask = mask.shape() == cells ? mask : mask.expand(cells);
  }
  a.scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, query.size(-1)))));
  a.causal = options.causal;
  a.weights = Tensor::empty(cells, query.dtype());
  if (options.training && options.dropout > 0) {
    a.keep = Tensor::empty(cells, kBool);
    if (options.dropout < 1) {
      Generator& generator = options.generator ? *options.generator : default_generator();
      generator.keep_mask(reinterpret_cast<std::uint8_t*>(a.keep.mutable_data<bool>()), cells.numel(),
                          1 - options.dropout);
      a.keep_probability = 1 - options.dropout;
    } else {
      a.keep = zeros(cells, kBool);
    }
  }
  const Tensor y = empty_laid_out_as(a.query, a.value.size(-1));
  with_floating_type(query.dtype(), [&](auto t) { forward<decltype(t)>(a, y); });
  const Tensor weights = a.weights;
  const bool need_mask = recorded(a.mask);
  if (!need_mask && !recorded(a.query) && !recorded(a.key) && !recorded(a.value)) return {y, weights};
  return {record(kAttention, y, {a.query, a.key, a.value, a.mask},
                 [a, need_mask](const Tensor& dy) { return attention_backward(a, dy, need_mask); }),
          weights};
}

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options) {
  return attention_with_weights(query, key, value, options).first;
}

}  // namespace tapegrad
#endif  // HWY_ONCE
