// layer_norm, layer_norm_std and rms_norm: one kernel for the three, forward and backward.
#include <tapegrad/autograd/kernels/simd_targets.h>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/norm.cpp"
#include <hwy/foreach_target.h>
//
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/norm.h>
#include <tapegrad/autograd/ops/reduce.h>
#include <tapegrad/autograd/ops/rows-inl.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/tape.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// y = (x - mean) * scale * weight + bias, a row; what backward needs goes to `kept`.
template <class T>
HWY_INLINE void norm_row(Norm form, T eps, const T* x, const T* weight, const T* bias, int64_t n, T* y,
                         NormRow<T>& kept) {
  const T count = static_cast<T>(n);
  const T mean = form == Norm::rms ? T{0} : reduce_sum(sum_spans<T>(n, [&](auto s) { return s.load(x); })) / count;
  const T squares = reduce_sum(sum_spans<T>(n, [&](auto s) {
    const Vec<T> c = s.load(x) - mean;
    return c * c;
  }));
  T scale;
  T pull;
  if (form == Norm::std) {
    const T std = std::sqrt(squares / count);
    scale = 1 / (std + eps);
    pull = std == 0 ? T{0} : 1 / (std * count);
  } else {
    scale = 1 / std::sqrt(squares / count + eps);
    pull = scale / count;
  }
  kept = {mean, scale, pull};
  if (weight && bias) {
    each_span<T>(n, [&](auto s) { s.store(fma((s.load(x) - mean) * scale, s.load(weight), s.load(bias)), y); });
  } else if (weight) {
    each_span<T>(n, [&](auto s) { s.store((s.load(x) - mean) * scale * s.load(weight), y); });
  } else if (bias) {
    each_span<T>(n, [&](auto s) { s.store((s.load(x) - mean) * scale + s.load(bias), y); });
  } else {
    each_span<T>(n, [&](auto s) { s.store((s.load(x) - mean) * scale, y); });
  }
}

// With g = dy * weight and n = (x - mean) * scale:
// dx = scale * (g - mean(g)) - n * pull * sum(g * n), without mean(g) in rms_norm.
template <class T>
HWY_INLINE void norm_backward_row(Norm form, const NormRow<T>& kept, const T* x, const T* weight, const T* dy,
                                  int64_t n, T* dx) {
  const Vec<T> mean = kept.mean, scale = kept.scale;
  const auto g = [&](auto s) { return weight ? s.load(dy) * s.load(weight) : s.load(dy); };
  const TwoSums<T> sums = sum_spans<T>(n, [&](auto s) {
    const Vec<T> v = g(s);
    return TwoSums<T>{v, v * ((s.load(x) - mean) * scale)};
  });
  const Vec<T> shift = form == Norm::rms ? T{0} : reduce_sum(sums.a) / static_cast<T>(n);
  const Vec<T> pull = kept.pull * reduce_sum(sums.b);
  each_span<T>(n, [&](auto s) { s.store(scale * (g(s) - shift) - (s.load(x) - mean) * scale * pull, dx); });
}

void norm_rows(const NormTask& task, int64_t begin, int64_t end) {
  with_floating_type(task.dtype, [&](auto t) {
    using T = decltype(t);
    const int64_t n = task.n;
    for (int64_t i = begin; i < end; ++i) {
      NormRow<T> row;
      norm_row(task.form, static_cast<T>(task.eps), static_cast<const T*>(task.x) + i * n,
               static_cast<const T*>(task.weight), static_cast<const T*>(task.bias), n, static_cast<T*>(task.y) + i * n,
               task.kept ? static_cast<NormRow<T>*>(task.kept)[i] : row);
    }
  });
}

// Rows [begin, end), and their part of the sums over rows: dweight = sum(dy * n), dbias = sum(dy).
void norm_backward_rows(const NormBackwardTask& task, int64_t begin, int64_t end, void* dweight, void* dbias) {
  with_floating_type(task.dtype, [&](auto t) {
    using T = decltype(t);
    const int64_t n = task.n;
    T* const dw = static_cast<T*>(dweight);
    T* const db = static_cast<T*>(dbias);
    if (dw) std::fill(dw, dw + n, T{0});
    if (db) std::fill(db, db + n, T{0});
    for (int64_t i = begin; i < end; ++i) {
      const T* x = static_cast<const T*>(task.x) + i * n;
      const T* dy = static_cast<const T*>(task.dy) + i * n;
      const NormRow<T>& kept = static_cast<const NormRow<T>*>(task.kept)[i];
      if (task.dx) {
        norm_backward_row(task.form, kept, x, static_cast<const T*>(task.weight), dy, n,
                          static_cast<T*>(task.dx) + i * n);
      }
      const Vec<T> mean = kept.mean, scale = kept.scale;
      if (dw && db) {
        each_span<T>(n, [&](auto s) {
          const Vec<T> d = s.load(dy);
          s.store(fma(d, (s.load(x) - mean) * scale, s.load(dw)), dw);
          s.store(d + s.load(db), db);
        });
      } else if (dw) {
        each_span<T>(n, [&](auto s) { s.store(fma(s.load(dy), (s.load(x) - mean) * scale, s.load(dw)), dw); });
      } else if (db) {
        each_span<T>(n, [&](auto s) { s.store(s.load(dy) + s.load(db), db); });
      }
    }
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {

HWY_EXPORT(norm_rows);
HWY_EXPORT(norm_backward_rows);

namespace {

const Op kLayerNorm{"layer_norm"};
const Op kLayerNormStd{"layer_norm_std"};
const Op kRmsNorm{"rms_norm"};

constexpr int64_t kGrain = 8192;     // elements a thread takes at least
constexpr int64_t kMostBlocks = 64;  // parts of dweight and dbias
constexpr int64_t kLeastRows = 8;    // rows in a part

// The composed form of backward, every step recorded; the engine sums dweight and dbias over the rows.
Grads composed_backward(Norm form, double eps, const Tensor& x, const Tensor& weight, const Axes& axes, int64_t n,
                        const Tensor& dy) {
  const Tensor centred = form == Norm::rms ? x : x - mean(x, axes, true);
  const Tensor g = weight.defined() ? dy * weight : dy;
  const Tensor shifted = form == Norm::rms ? g : g - mean(g, axes, true);
  if (form == Norm::std) {
    const Tensor s = tapegrad::std(x, axes, true, 0);
    const Tensor safe = masked_fill(s, s == 0, 1);  // where s is 0, centred is 0 too
    const Tensor scale = 1 / (s + eps);
    const Tensor along = sum(g * centred, axes, true) * scale * scale / (safe * static_cast<double>(n));
    return {scale * shifted - centred * along, dy * (centred * scale), dy};
  }
  const Tensor scale = rsqrt(mean(centred * centred, axes, true) + eps);
  const Tensor normal = centred * scale;
  return {scale * (shifted - normal * mean(g * normal, axes, true)), dy * normal, dy};
}

struct Needs {
  bool x, weight, bias;
};

Grads fused_backward(Norm form, const Tensor& x, const Tensor& weight, const Tensor& kept, const Shape& normal,
                     Needs need, const Tensor& dy) {
  const int64_t n = normal.numel();
  const int64_t rows = n == 0 ? 0 : x.numel() / n;
  const DType dtype = x.dtype();
  const Tensor g = dy.contiguous();
  const Tensor dx = need.x ? Tensor::empty(x.shape(), dtype) : Tensor();
  const NormBackwardTask task{form,
                              dtype,
                              n,
                              x.raw_data(),
                              weight.defined() ? weight.raw_data() : nullptr,
                              kept.raw_data(),
                              g.raw_data(),
                              need.x ? dx.mutable_raw_data() : nullptr};
  const bool sums = need.weight || need.bias;
  const int64_t block = sums ? std::max(kLeastRows, (rows + kMostBlocks - 1) / kMostBlocks)
                             : std::max<int64_t>(1, kGrain / std::max<int64_t>(n, 1));
  const int64_t blocks = (rows + block - 1) / block;
  const Folding weights{need.weight ? Tensor::empty({blocks, n}, dtype) : Tensor(), 1, blocks, n};
  const Folding biases{need.bias ? Tensor::empty({blocks, n}, dtype) : Tensor(), 1, blocks, n};
  const auto part = [&](const Folding& f, int64_t begin) -> void* {
    if (!f.x.defined()) return nullptr;
    return static_cast<std::byte*>(f.x.mutable_raw_data()) + begin / block * n * item_size(dtype);
  };
  parallel_for(rows, block, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(norm_backward_rows)(task, begin, end, part(weights, begin), part(biases, begin));
  });
  const auto folded = [&](const Folding& f) {
    if (!f.x.defined()) return Tensor();
    const Tensor y = Tensor::empty(normal, dtype);
    fold(Fold::sum, f, y);
    return y;
  };
  return {dx, folded(weights), folded(biases)};
}

Tensor normalise(const Op& op, Norm form, const Tensor& given, const Tensor& weight_given, const Tensor& bias_given,
                 double eps) {
  if (!is_floating(given.dtype())) {
    op.fail(fmt::format("x of type {} was given, float32 or float64 is needed", name(given.dtype())));
  }
  if (given.dim() == 0) op.fail("x has no axes, at least one is needed");
  const Tensor& model = weight_given.defined() ? weight_given : bias_given;
  Shape normal = model.defined() ? model.shape() : Shape{given.shape().back()};
  const int lead = given.dim() - normal.rank();
  bool fits = lead >= 0 && normal.rank() > 0;
  for (int i = 0; fits && i < normal.rank(); ++i) fits = given.shape()[lead + i] == normal[i];
  if (!fits) {
    op.fail(
        fmt::format("weight or bias has shape {}, it must be the last axes of x {}", str(normal), str(given.shape())));
  }
  for (const Tensor* p : {&weight_given, &bias_given}) {
    if (!p->defined()) continue;
    if (!(p->shape() == normal)) op.fail(fmt::format("weight has shape {}, bias {}", str(normal), str(p->shape())));
    if (p->dtype() != given.dtype()) {
      op.fail(fmt::format("x is {}, weight or bias {} (one type is needed)", name(given.dtype()), name(p->dtype())));
    }
  }
  const Tensor x = given.contiguous();
  const Tensor weight = weight_given.defined() ? weight_given.contiguous() : Tensor();
  const Tensor bias = bias_given.defined() ? bias_given.contiguous() : Tensor();
  const int64_t n = normal.numel();
  const int64_t rows = n == 0 ? 0 : x.numel() / n;
  const Needs need{needs_grad(x), needs_grad(weight), needs_grad(bias)};
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  Tensor kept;
  if (need.x || need.weight || need.bias) kept = Tensor::empty({rows, 3}, x.dtype());
  const NormTask task{form,
                      x.dtype(),
                      n,
                      eps,
                      x.raw_data(),
                      weight.defined() ? weight.raw_data() : nullptr,
                      bias.defined() ? bias.raw_data() : nullptr,
                      y.mutable_raw_data(),
                      kept.defined() ? kept.mutable_raw_data() : nullptr};
  parallel_for(rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(n, 1)), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(norm_rows)
    (task, begin, end);
  });
  if (!kept.defined()) return y;
  return record(op, y, {x, weight, bias},
                [form, eps, x, weight, kept, rank = normal.rank(), need](const Tensor& dy) -> Grads {
                  const int lead = x.dim() - rank;
                  const Shape normal(x.shape().begin() + lead, rank);
                  if (!Tape::current()) return fused_backward(form, x, weight, kept, normal, need, dy);
                  Axes axes;
                  for (int i = lead; i < x.dim(); ++i) axes.push_back(i);
                  return composed_backward(form, eps, x, weight, axes, normal.numel(), dy);
                });
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  return normalise(kLayerNorm, Norm::layer, x, weight, bias, eps);
}

Tensor layer_norm_std(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps) {
  return normalise(kLayerNormStd, Norm::std, x, gamma, beta, eps);
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  return normalise(kRmsNorm, Norm::rms, x, weight, Tensor(), eps);
}

}  // namespace tapegrad
#endif  // HWY_ONCE
