// layer_norm, layer_norm_std and rms_norm: one kernel for the three, forward and backward.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/norm/norm.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/detail/op_timer.h>
#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/tape_watch.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/rows-inl.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/by_example.h>
#include <tapegrad/autograd/ops/detail/moments.h>
#include <tapegrad/autograd/ops/detail/reduce.h>
#include <tapegrad/autograd/ops/norm/detail/channel_norm.h>

#ifndef TAPEGRAD_NORM_TYPES
#define TAPEGRAD_NORM_TYPES
namespace tapegrad {

enum class Norm { layer, std, rms };

// What backward needs of each row: forward computed (x - mean) * scale; `pull` is a factor in dx (norm_backward_row).
// `mean` is NaN if forward widened the row, and so does backward.
template <class T>
struct NormRow {
  T mean, scale, pull;
};

// A finite row whose squares overflow in T: normals = (x - mean) * scale, computed in Wide. False for any other.
template <class T>
bool widen(Norm form, double eps, const T* x, int64_t n, T* normals, Wide& scale) {
  WideMoments of;
  if (!of.measure(n, form != Norm::rms, [x](int64_t i) { return x[i]; })) return false;
  scale = form == Norm::std ? 1 / (square_root(of.variance) + eps) : 1 / square_root(of.variance + eps);
  for (int64_t i = 0; i < n; ++i) normals[i] = static_cast<T>((x[i] - of.mean) * scale);
  return true;
}

struct NormArgs {
  Norm form;
  DType dtype;
  int64_t n;  // elements of a row
  double eps;
  const void* x;
  const void* weight;  // or nullptr, as bias
  const void* bias;
  void* y;
  void* kept;    // NormRow of every row, or nullptr
  bool streams;  // y goes past the caches
};

struct NormBackwardArgs {
  Norm form;
  DType dtype;
  int64_t n;
  double eps;
  const void* x;
  const void* weight;
  const void* kept;
  const void* dy;
  void* dx;      // or nullptr
  bool streams;  // dx goes past the caches
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// One row of y = (x - mean) * scale * weight + bias; what backward needs goes to `kept`.
template <class T>
HWY_INLINE void norm_row(const NormArgs& args, const T* x, const T* next, T* y, NormRow<T>& kept) {
  const Norm form = args.form;
  const int64_t n = args.n;
  const T* const weight = static_cast<const T*>(args.weight);
  const T* const bias = static_cast<const T*>(args.bias);
  const T count = static_cast<T>(n), eps = static_cast<T>(args.eps);
  T mean = form == Norm::rms ? T{0} : reduce_sum(sum_spans<T>(n, [&](auto s) { return s.load(x); })) / count;
  const auto square = [&](auto s) HWY_ATTR {
    const Vec<T> c = s.load(x) - mean;
    return c * c;
  };
  T squares = reduce_sum(next == x ? sum_spans<T>(n, square) : sum_spans<T>(n, fetching(square, next)));
  if (HWY_UNLIKELY(is_far(mean, squares / count))) {
    mean += reduce_sum(sum_spans<T>(n, [&](auto s) { return s.load(x) - mean; })) / count;
    const auto [rest, of_squares] = reduce_sum(sum_spans<T>(n, [&](auto s) {
      const Vec<T> c = s.load(x) - mean;
      return TwoSums<T>{c, c * c};
    }));
    squares = std::max(of_squares - rest * rest / count, T{0});
  }
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
  Wide wide;
  if (!std::isfinite(squares) && widen(form, args.eps, x, n, y, wide)) {
    kept.mean = std::numeric_limits<T>::quiet_NaN();
    x = y;
    mean = 0;
    scale = 1;
  }
  const auto normal = [=](auto s) HWY_ATTR { return (s.load(x) - mean) * scale; };
  const auto write = [&](auto f) HWY_ATTR { store_spans(n, y, args.streams, f, next); };
  if (weight && bias) {
    write([=](auto s) HWY_ATTR { return fma(normal(s), s.load(weight), s.load(bias)); });
  } else if (weight) {
    write([=](auto s) HWY_ATTR { return normal(s) * s.load(weight); });
  } else if (bias) {
    write([=](auto s) HWY_ATTR { return normal(s) + s.load(bias); });
  } else {
    write(normal);
  }
}

// With g = dy * weight and n = (x - mean) * scale:
// dx = scale * (g - mean(g)) - n * pull * sum(g * n), without mean(g) in rms_norm.
template <class T>
HWY_INLINE void norm_backward_row(const NormBackwardArgs& args, const NormRow<T>& kept, const T* x, const T* dy,
                                  int64_t next, T* dx) {
  const T* const weight = static_cast<const T*>(args.weight);
  const Vec<T> mean = kept.mean, scale = kept.scale;
  const auto g = [&](auto s) { return weight ? s.load(dy) * s.load(weight) : s.load(dy); };
  const auto [of_g, of_g_n] = reduce_sum(sum_spans<T>(args.n, [&](auto s) {
    const Vec<T> v = g(s);
    return TwoSums<T>{v, v * ((s.load(x) - mean) * scale)};
  }));
  const Vec<T> shift = args.form == Norm::rms ? T{0} : of_g / static_cast<T>(args.n);
  const Vec<T> pull = kept.pull * of_g_n;
  const auto slope = [&](auto s) HWY_ATTR { return scale * (g(s) - shift) - (s.load(x) - mean) * scale * pull; };
  store_spans(args.n, dx, args.streams, slope, x + next, dy + next);
}

void norm_rows(const NormArgs& args, int64_t begin, int64_t end) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    const int64_t n = args.n;
    const bool fetches = (args.streams || args.form != Norm::rms) && is_fetched<T>(n);
    for (int64_t i = begin; i < end; ++i) {
      NormRow<T> row;
      const T* const x = static_cast<const T*>(args.x) + i * n;
      norm_row(args, x, fetches && i + 1 < end ? x + n : x, static_cast<T*>(args.y) + i * n,
               args.kept ? static_cast<NormRow<T>*>(args.kept)[i] : row);
    }
    if (args.streams) stream_end();
  });
}

// Rows [begin, end), and their part of the sums over rows: dweight = sum(dy * n), dbias = sum(dy).
void norm_backward_rows(const NormBackwardArgs& args, int64_t begin, int64_t end, void* dweight, void* dbias) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    const int64_t n = args.n;
    const bool fetches = args.streams && is_fetched<T>(n);
    T* const dw = static_cast<T*>(dweight);
    T* const db = static_cast<T*>(dbias);
    if (dw) std::fill(dw, dw + n, T{0});
    if (db) std::fill(db, db + n, T{0});
    for (int64_t i = begin; i < end; ++i) {
      const T* x = static_cast<const T*>(args.x) + i * n;
      const T* dy = static_cast<const T*>(args.dy) + i * n;
      NormRow<T> kept = static_cast<const NormRow<T>*>(args.kept)[i];
      const Scratch<T> normals(std::isnan(kept.mean) ? n : 0);
      Wide factor = 1;
      const bool widened = std::isnan(kept.mean) && widen(args.form, args.eps, x, n, normals.get(), factor);
      if (widened) {
        x = normals.get();
        // pull / scale: 1 / n, and in layer_norm_std (std + eps) / (std * n), where scale = 1 / (std + eps)
        const Wide rest = args.form == Norm::std ? 1 - args.eps * factor : 1;
        kept = {0, 1, rest == 0 ? T{0} : static_cast<T>(1 / (rest * static_cast<Wide>(n)))};
      }
      if (args.dx) {
        T* const dx = static_cast<T*>(args.dx) + i * n;
        norm_backward_row(args, kept, x, dy, fetches && !widened && i + 1 < end ? n : 0, dx);
        if (widened) {
          for (int64_t j = 0; j < n; ++j) dx[j] = static_cast<T>(dx[j] * factor);
        }
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
    if (args.streams) stream_end();
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {

HWY_EXPORT(norm_rows);
HWY_EXPORT(norm_backward_rows);

namespace {

const Op kLayerNorm{"layer_norm", {.rows = RowRule::normalized}};
const Op kLayerNormStd{"layer_norm_std", {.rows = RowRule::normalized}};
const Op kRmsNorm{"rms_norm", {.rows = RowRule::normalized}};

constexpr int64_t kGrain = 8192;     // elements for one thread to take at a time
constexpr int64_t kMostBlocks = 64;  // parts of dweight and dbias
constexpr int64_t kLeastRows = 8;    // rows in a part

// The composed form of backward, every step recorded; the engine sums dweight and dbias over the rows. `eps` is a
// number, or a tensor with one for each row.
template <class Eps>
Grads composed_backward(Norm form, const Eps& eps, const Tensor& x, const Tensor& weight, const Axes& axes, int64_t n,
                        const Tensor& dy) {
  const Tensor centred = form == Norm::rms ? x : without_mean(x, axes);
  const Tensor spread = form == Norm::std ? tapegrad::std(x, axes, true, 0) : mean(centred * centred, axes, true);
  if constexpr (std::is_same_v<Eps, double>) {
    const Tensor variance = form == Norm::std ? square(spread.detach()) : spread.detach();
    if (const Tensor factor = range_factor(x, variance, axes); factor.defined()) {
      const Tensor of_row = eps * (form == Norm::std ? factor : square(factor));
      Grads grads = composed_backward(form, of_row, x * factor, weight, axes, n, dy);
      grads[0] = grads[0] * factor;
      return grads;
    }
  }
  const Tensor g = weight.defined() ? dy * weight : dy;
  const Tensor shifted = form == Norm::rms ? g : g - mean(g, axes, true);
  if (form == Norm::std) {
    const Tensor safe = masked_fill(spread, spread == 0, 1);  // where it is 0, centred is 0 too
    const Tensor scale = 1 / (spread + eps);
    const Tensor along = sum(g * centred, axes, true) * scale * scale / (safe * static_cast<double>(n));
    return {scale * shifted - centred * along, dy * (centred * scale), dy};
  }
  const Tensor scale = rsqrt(spread + eps);
  const Tensor normal = centred * scale;
  return {scale * (shifted - normal * mean(g * normal, axes, true)), dy * normal, dy};
}

// The sums over rows, dweight and dbias, are made in blocks of rows, which are then added.
Grads fused_backward(Norm form, double eps, const Tensor& x, const Tensor& weight, const Tensor& kept,
                     const Shape& normal, const WantedGrads& wants, const Tensor& dy) {
  const int64_t n = normal.numel();
  const int64_t rows = n == 0 ? 0 : x.numel() / n;
  const DType dtype = x.dtype();
  const Tensor g = packed(dy);
  const Tensor dx = wants.x ? Tensor::empty(x.shape(), dtype) : Tensor();
  const NormBackwardArgs args{.form = form,
                              .dtype = dtype,
                              .n = n,
                              .eps = eps,
                              .x = x.raw_data(),
                              .weight = data_or_null(weight),
                              .kept = kept.raw_data(),
                              .dy = g.raw_data(),
                              .dx = mutable_data_or_null(dx),
                              .streams = is_streamed(dx)};
  const bool sums = wants.weight || wants.bias;
  const int64_t block = sums ? std::max(kLeastRows, pieces_of(rows, kMostBlocks)) : rows_grain(n, kGrain);
  const int64_t blocks = pieces_of(rows, block);
  const ReduceView weights{wants.weight ? Tensor::empty({blocks, n}, dtype) : Tensor(), 1, blocks, n};
  const ReduceView biases{wants.bias ? Tensor::empty({blocks, n}, dtype) : Tensor(), 1, blocks, n};
  const auto part = [&](const ReduceView& f, int64_t begin) -> void* {
    if (!f.x.defined()) return nullptr;
    return static_cast<std::byte*>(f.x.mutable_raw_data()) + begin / block * n * item_size(dtype);
  };
  parallel_for(rows, block, [&](int64_t begin, int64_t end) {
    kernel_of(HWY_DISPATCH_TABLE(norm_backward_rows))(args, begin, end, part(weights, begin), part(biases, begin));
  });
  const auto total = [&](const ReduceView& f) {
    if (!f.x.defined()) return Tensor();
    const Tensor y = Tensor::empty(normal, dtype);
    reduce(ReduceKind::sum, f, y);
    return y;
  };
  return {dx, total(weights), total(biases)};
}

bool is_divided(const Tensor& x, int rank, int64_t examples) { return x.dim() > rank && x.size(0) % examples == 0; }

Tensor normalise(const Op& op, Norm form, const Tensor& given, const Tensor& weight_given, const Tensor& bias_given,
                 double eps);

// dweight and dbias per example, [examples, ...]: sums over the rows of each.
Grads backward_by_example(const Op& op, Norm form, double eps, const Tensor& x, const Tensor& weight,
                          const Tensor& kept, const Shape& normal, WantedGrads wants, const Tensor& dy,
                          int64_t examples) {
  const int64_t n = normal.numel(), rows = x.numel() / std::max<int64_t>(1, n);
  const Shape split{examples, rows / examples, n};
  Shape whole = normal;
  whole.insert(0, examples);
  const Tensor g = dy.reshape({rows, n});
  Tensor dweight, dbias;
  if (wants.weight) {
    const Tensor normals = normalise(op, form, x.reshape({rows, n}), {}, {}, eps);
    dweight = sum_of_rows((g * normals).reshape(split)).reshape(whole);
  }
  if (wants.bias) dbias = sum_of_rows(g.reshape(split)).reshape(whole);
  wants.weight = wants.bias = false;
  Tensor dx;
  if (wants.x) dx = fused_backward(form, eps, x, weight, kept, normal, wants, dy)[0];
  return {dx, dweight, dbias};
}

// The axes that are normalised: those of weight or bias, or the last one.
Shape require_norm(const Op& op, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require_floating(op.name, {&x, &weight, &bias});
  if (x.dim() == 0) op.fail("expected x with at least one axis, got a scalar");
  if (weight.defined() && bias.defined() && !(weight.shape() == bias.shape())) {
    fail(op, "expected weight and bias of one shape, got {} and {}", weight.shape(), bias.shape());
  }
  const Tensor& model = weight.defined() ? weight : bias;
  const Shape normal = model.defined() ? model.shape() : Shape{x.shape().back()};
  const int lead = x.dim() - normal.rank();
  bool fits = lead >= 0 && normal.rank() > 0;
  for (int i = 0; fits && i < normal.rank(); ++i) fits = x.shape()[lead + i] == normal[i];
  require(fits, op, "expected weight and bias in the shape of the last axes of x {}, got {}", x.shape(), normal);
  return normal;
}

Tensor normalise(const Op& op, Norm form, const Tensor& given, const Tensor& weight_given, const Tensor& bias_given,
                 double eps) {
  const OpTimer timer(op, {given, weight_given, bias_given});
  const Shape normal = require_norm(op, given, weight_given, bias_given);
  const Tensor x = given.contiguous();
  const Tensor weight = contiguous_or_empty(weight_given), bias = contiguous_or_empty(bias_given);
  const int64_t n = normal.numel();
  const int64_t rows = n == 0 ? 0 : x.numel() / n;
  const WantedGrads wants(x, weight, bias);
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  const Tensor kept = wants.any() ? Tensor::empty({rows, 3}, x.dtype()) : Tensor();
  run_rows(kernel_of(HWY_DISPATCH_TABLE(norm_rows)),
           {.form = form,
            .dtype = x.dtype(),
            .n = n,
            .eps = eps,
            .x = x.raw_data(),
            .weight = data_or_null(weight),
            .bias = data_or_null(bias),
            .y = y.mutable_raw_data(),
            .kept = mutable_data_or_null(kept),
            .streams = is_streamed(y)},
           rows, n, kGrain);
  if (!wants.any()) return y;
  auto backward = [&op, form, eps, x, weight, kept, rank = normal.rank(), wants](const Tensor& dy,
                                                                                 const BackwardPass& pass) -> Grads {
    const Shape normal(x.shape().end() - rank, rank);
    if (pass.examples > 0 && is_divided(x, rank, pass.examples)) {
      return backward_by_example(op, form, eps, x, weight, kept, normal, wants, dy, pass.examples);
    }
    if (!Tape::current()) return fused_backward(form, eps, x, weight, kept, normal, wants, dy);
    Axes axes;
    for (int i = x.dim() - rank; i < x.dim(); ++i) axes.push_back(i);
    return composed_backward(form, eps, x, weight, axes, normal.numel(), dy);
  };
  return with_settings(record(op, y, {x, weight, bias}, std::move(backward)), "eps", eps, "size", n);
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
