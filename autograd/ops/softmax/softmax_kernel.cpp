// softmax and log_softmax: rows in one pass through the L1 cache. (Attention has its own softmax, in place over its
// scores: autograd/ops/attention/detail/attention_rows-inl.h.)
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/softmax/softmax_kernel.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/detail/scratch.h>
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
  bool streams;    // out goes past the caches
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// A row of n elements, and the one to fetch while it is computed.
template <class T>
struct SoftmaxRow {
  const T* in;
  const T* dy;
  int64_t n, next;  // what is fetched is `next` elements from here
  T* out;
  bool streams;
};

// NaN and +inf make the sum NaN. `exps` is y or memory that a cache holds.
template <class T>
HWY_INLINE void softmax_row(const SoftmaxRow<T>& r, T* exps) {
  const T origin = softmax_origin(largest(r.in, r.n));
  const T sum = r.next == 0 ? exp_of_row(r.in, r.n, origin, exps)  //
                            : exp_of_row(r.in, r.n, origin, exps, r.in + r.next);
  const Vec<T> scale = sum == 0 ? T{0} : 1 / sum;
  store_spans(r.n, r.out, r.streams, [=](auto s) HWY_ATTR { return s.load(exps) * scale; });
}

// Of the rows from `begin` on, at most as many as a vector has lanes, whose logarithms are computed at once.
template <class T>
HWY_INLINE void log_softmax_of_rows(const SoftmaxArgs& args, int64_t begin, int64_t end) {
  const int64_t rows = std::min(kLanes<T>, end - begin);
  const int64_t n = args.n;
  const T* x = static_cast<const T*>(args.in) + begin * n;
  T shifts[kLanes<T>], logs[kLanes<T>];
  for (int64_t row = 0; row < rows; ++row) {
    const T* const from = x + row * n;
    const T shift = shifts[row] = softmax_origin(largest(from, n));
    const auto exp_of = [=](auto s) HWY_ATTR { return exp_nonpositive(s.load(from) - shift); };
    const bool fetches = args.streams && is_fetched<T>(n) && begin + row + 1 < end;
    logs[row] = reduce_sum(fetches ? sum_spans<T>(n, fetching(exp_of, from + n)) : sum_spans<T>(n, exp_of));
  }
  std::fill(logs + rows, logs + kLanes<T>, T{1});
  const Vec<T> sums = load(logs);
  store(where(sums == 0, Vec<T>(0), log_of_each(sums)), logs);  // -inf stays -inf
  for (int64_t row = 0; row < rows; ++row, x += n) {
    const Vec<T> shift = shifts[row], log_sum = logs[row];
    const auto result = [=](auto s) HWY_ATTR { return s.load(x) - shift - log_sum; };
    store_spans(n, static_cast<T*>(args.out) + (begin + row) * n, args.streams, result);
  }
}

// dx = y * (dy - <dy, y>)
template <class T>
HWY_INLINE void softmax_backward_row(const SoftmaxRow<T>& r) {
  const Vec<T> dot = reduce_sum(sum_spans<T>(r.n, [&](auto s) { return s.load(r.dy) * s.load(r.in); }));
  const auto slope = [=](auto s) HWY_ATTR { return s.load(r.in) * (s.load(r.dy) - dot); };
  store_spans(r.n, r.out, r.streams, slope, r.in + r.next, r.dy + r.next);
}

// dx = dy - exp(y) * sum(dy), and 0 where the whole row is -inf
template <class T>
HWY_INLINE void log_softmax_backward_row(const SoftmaxRow<T>& r) {
  const T* const y = r.in;
  const T* const dy = r.dy;
  if (largest(y, r.n) == kNothing<T> &&
      reduce_sum(sum_spans<T>(r.n, [&](auto s) { return s.load(y); })) == -std::numeric_limits<T>::infinity()) {
    std::fill(r.out, r.out + r.n, T{0});
    return;
  }
  const Vec<T> sum = reduce_sum(sum_spans<T>(r.n, [&](auto s) { return s.load(dy); }));
  const auto slope = [=](auto s) HWY_ATTR { return s.load(dy) - exp_nonpositive(s.load(y)) * sum; };
  store_spans(r.n, r.out, r.streams, slope, r.in + r.next, r.dy + r.next);
}

// f(row) for the rows [begin, end).
HWY_INLINE void each_row(const SoftmaxArgs& args, int64_t begin, int64_t end, auto f) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    const int64_t n = args.n, next = is_fetched<T>(n) ? n : 0;
    for (int64_t i = begin; i < end; ++i) {
      f(SoftmaxRow<T>{static_cast<const T*>(args.in) + i * n,
                      args.dy ? static_cast<const T*>(args.dy) + i * n : nullptr, n, i + 1 < end ? next : 0,
                      static_cast<T*>(args.out) + i * n, args.streams});
    }
  });
  if (args.streams) stream_end();
}

void softmax_rows(const SoftmaxArgs& args, int64_t begin, int64_t end) {
  const Scratch<std::byte> exps(args.streams ? args.n * item_size(args.dtype) : 0);
  each_row(args, begin, end, [&]<class T>(const SoftmaxRow<T>& r) {
    softmax_row(r, args.streams ? reinterpret_cast<T*>(exps.get()) : r.out);
  });
}
void log_softmax_rows(const SoftmaxArgs& args, int64_t begin, int64_t end) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    for (int64_t i = begin; i < end; i += kLanes<T>) log_softmax_of_rows<T>(args, i, end);
  });
  if (args.streams) stream_end();
}
void softmax_backward_rows(const SoftmaxArgs& args, int64_t begin, int64_t end) {
  each_row(args, begin, end, [](const auto& r) { softmax_backward_row(r); });
}
void log_softmax_backward_rows(const SoftmaxArgs& args, int64_t begin, int64_t end) {
  each_row(args, begin, end, [](const auto& r) { log_softmax_backward_row(r); });
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
           {.dtype = in.dtype(),
            .n = n,
            .in = from.raw_data(),
            .dy = data_or_null(by),
            .out = out.mutable_raw_data(),
            .streams = is_streamed(out)},
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
