// softmax and log_softmax: rows in one pass through the L1 cache. (Attention has its own softmax, in place over its
// scores: detail/attention_rows-inl.h.)
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/attention/softmax.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/softmax-inl.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/reduce.h>

#ifndef TAPEGRAD_SOFTMAX_TYPES
#define TAPEGRAD_SOFTMAX_TYPES
namespace tapegrad {

struct SoftmaxArgs {
  DType dtype;
  int64_t n;       // elements of a row
  const void* in;  // x forward, y backward
  const void* dy;  // backward only
  void* out;       // y forward, dx backward
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// NaN and +inf make the sum NaN.
template <class T>
HWY_INLINE void softmax_row(const T* x, int64_t n, T* y) {
  const T sum = exp_of_row(x, n, softmax_origin(largest(x, n)), y);
  const Vec<T> scale = sum == 0 ? T{0} : 1 / sum;
  each_span<T>(n, [&](auto s) { s.store(s.load(y) * scale, y); });
}

// Of `rows` rows, at most as many as a vector has lanes, whose logarithms are computed at once.
template <class T>
HWY_INLINE void log_softmax_of_rows(const T* x, int64_t rows, int64_t n, T* y) {
  T shifts[kLanes<T>], logs[kLanes<T>];
  for (int64_t row = 0; row < rows; ++row) {
    const T* const from = x + row * n;
    const T shift = shifts[row] = softmax_origin(largest(from, n));
    logs[row] = reduce_sum(sum_spans<T>(n, [&](auto s) { return exp_nonpositive(s.load(from) - shift); }));
  }
  std::fill(logs + rows, logs + kLanes<T>, T{1});
  const Vec<T> sums = load(logs);
  store(where(sums == 0, Vec<T>(0), log_of_each(sums)), logs);  // -inf stays -inf
  for (int64_t row = 0; row < rows; ++row, x += n, y += n) {
    const Vec<T> shift = shifts[row], log_sum = logs[row];
    each_span<T>(n, [&](auto s) { s.store(s.load(x) - shift - log_sum, y); });
  }
}

// dx = y * (dy - <dy, y>)
template <class T>
HWY_INLINE void softmax_backward_row(const T* y, const T* dy, int64_t n, T* dx) {
  const Vec<T> dot = reduce_sum(sum_spans<T>(n, [&](auto s) { return s.load(dy) * s.load(y); }));
  each_span<T>(n, [&](auto s) { s.store(s.load(y) * (s.load(dy) - dot), dx); });
}

// dx = dy - exp(y) * sum(dy), and 0 where the whole row is -inf
template <class T>
HWY_INLINE void log_softmax_backward_row(const T* y, const T* dy, int64_t n, T* dx) {
  if (largest(y, n) == kNothing<T> &&
      reduce_sum(sum_spans<T>(n, [&](auto s) { return s.load(y); })) == -std::numeric_limits<T>::infinity()) {
    std::fill(dx, dx + n, T{0});
    return;
  }
  const Vec<T> sum = reduce_sum(sum_spans<T>(n, [&](auto s) { return s.load(dy); }));
  each_span<T>(n, [&](auto s) { s.store(s.load(dy) - exp_nonpositive(s.load(y)) * sum, dx); });
}

// row(in, dy, n, out) for the rows [begin, end).
HWY_INLINE void each_row(const SoftmaxArgs& args, int64_t begin, int64_t end, auto row) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    const T* const dy = static_cast<const T*>(args.dy);
    for (int64_t i = begin * args.n; i < end * args.n; i += args.n) {
      row(static_cast<const T*>(args.in) + i, dy ? dy + i : nullptr, args.n, static_cast<T*>(args.out) + i);
    }
  });
}

void softmax_rows(const SoftmaxArgs& args, int64_t begin, int64_t end) {
  each_row(args, begin, end, [](auto* x, auto*, int64_t n, auto* y) { softmax_row(x, n, y); });
}
void log_softmax_rows(const SoftmaxArgs& args, int64_t begin, int64_t end) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    for (int64_t i = begin; i < end; i += kLanes<T>) {
      const int64_t at = i * args.n;
      log_softmax_of_rows(static_cast<const T*>(args.in) + at, std::min(kLanes<T>, end - i), args.n,
                          static_cast<T*>(args.out) + at);
    }
  });
}
void softmax_backward_rows(const SoftmaxArgs& args, int64_t begin, int64_t end) {
  each_row(args, begin, end, [](auto* y, auto* dy, int64_t n, auto* dx) { softmax_backward_row(y, dy, n, dx); });
}
void log_softmax_backward_rows(const SoftmaxArgs& args, int64_t begin, int64_t end) {
  each_row(args, begin, end, [](auto* y, auto* dy, int64_t n, auto* dx) { log_softmax_backward_row(y, dy, n, dx); });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {

HWY_EXPORT(softmax_rows);
HWY_EXPORT(log_softmax_rows);
HWY_EXPORT(softmax_backward_rows);
HWY_EXPORT(log_softmax_backward_rows);

namespace {

const SymmetricOp kSoftmax{"softmax"};
const Op kLogSoftmax{"log_softmax"};

using Kernel = void (*)(const SoftmaxArgs&, int64_t, int64_t);

// A fresh tensor from the rows of `in` and, backward, of dy.
Tensor on_rows(Kernel kernel, const Tensor& in, const Tensor& dy = {}) {
  const Tensor out = Tensor::empty(in.shape(), in.dtype());
  if (out.numel() == 0) return out;
  const Tensor from = packed(in), by = packed(dy);
  const int64_t n = in.shape().back();
  run_rows(kernel,
           {.dtype = in.dtype(), .n = n, .in = from.raw_data(), .dy = data_or_null(by), .out = out.mutable_raw_data()},
           in.numel() / n, n);
  return out;
}

// y by `forward`, and its gradient by `backward` or, where backward itself is recorded, by `recorded`.
Tensor along_axis(const Op& op, Kernel forward, Kernel backward, Tensor (*recorded)(const Tensor& y, const Tensor& dy),
                  const Tensor& given, int64_t axis) {
  require_floating(op.name, {&given});
  return along_last_axis(op.name, given, axis, [&](const Tensor& x) {
    const Tensor y = on_rows(forward, x);
    return record(op, y, {x}, [y, backward, recorded](const Tensor& dy) -> Grads {
      return Tape::current() ? recorded(y, dy) : on_rows(backward, y, dy);
    });
  });
}

Tensor softmax_gradient(const Tensor& y, const Tensor& dy) {
  const Tensor g = dy * y;
  return g - y * sum(g, -1, true);
}

Tensor log_softmax_gradient(const Tensor& y, const Tensor& dy) {
  const Tensor dx = dy - exp(y) * sum(dy, -1, true);
  const Tensor masked = rows_of_minus_infinity(y);
  return any(masked) ? masked_fill(dx, masked, 0) : dx;
}

}  // namespace

Tensor softmax(const Tensor& x, int64_t axis) {
  return along_axis(kSoftmax, kernel_of(HWY_DISPATCH_TABLE(softmax_rows)),
                    kernel_of(HWY_DISPATCH_TABLE(softmax_backward_rows)), softmax_gradient, x, axis);
}

Tensor log_softmax(const Tensor& x, int64_t axis) {
  return along_axis(kLogSoftmax, kernel_of(HWY_DISPATCH_TABLE(log_softmax_rows)),
                    kernel_of(HWY_DISPATCH_TABLE(log_softmax_backward_rows)), log_softmax_gradient, x, axis);
}

}  // namespace tapegrad
#endif  // HWY_ONCE
