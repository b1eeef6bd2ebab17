// softmax and log_softmax: rows in one pass through the first-level cache.
#include <tapegrad/autograd/kernels/simd_targets.h>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/softmax.cpp"
#include <hwy/foreach_target.h>
//
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/reduce.h>
#include <tapegrad/autograd/ops/rows-inl.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/tape.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// What is subtracted before exp: the largest element, and 0 for a row of nothing but -inf, whose sum then is 0. NaN and
// +inf make the sum NaN.
template <class T>
HWY_INLINE T shift_of(const T* x, int64_t n) {
  const T m = largest(x, n);
  return m == -std::numeric_limits<T>::infinity() ? T{0} : m;
}

template <class T>
HWY_INLINE void softmax_row(const T* x, int64_t n, T* y) {
  const Vec<T> shift = shift_of(x, n);
  const T sum = reduce_sum(sum_spans<T>(n, [&](auto s) {
    const Vec<T> e = exp_nonpositive(s.load(x) - shift);
    s.store(e, y);
    return e;
  }));
  const Vec<T> scale = sum == 0 ? T{0} : 1 / sum;
  each_span<T>(n, [&](auto s) { s.store(s.load(y) * scale, y); });
}

template <class T>
HWY_INLINE void log_softmax_row(const T* x, int64_t n, T* y) {
  const T shift = shift_of(x, n);
  const T sum = reduce_sum(sum_spans<T>(n, [&](auto s) { return exp_nonpositive(s.load(x) - shift); }));
  const Vec<T> log_sum = sum == 0 ? T{0} : std::log(sum);  // -inf stays -inf
  each_span<T>(n, [&](auto s) { s.store(s.load(x) - shift - log_sum, y); });
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
  if (largest(y, n) == -std::numeric_limits<T>::infinity() &&
      reduce_sum(sum_spans<T>(n, [&](auto s) { return s.load(y); })) == -std::numeric_limits<T>::infinity()) {
    std::fill(dx, dx + n, T{0});
    return;
  }
  const Vec<T> sum = reduce_sum(sum_spans<T>(n, [&](auto s) { return s.load(dy); }));
  each_span<T>(n, [&](auto s) { s.store(s.load(dy) - exp_nonpositive(s.load(y)) * sum, dx); });
}

void softmax_rows(DType dtype, const void* x, int64_t rows, int64_t n, void* y) {
  with_floating_type(dtype, [=](auto t) {
    using T = decltype(t);
    for (int64_t i = 0; i < rows; ++i) softmax_row(static_cast<const T*>(x) + i * n, n, static_cast<T*>(y) + i * n);
  });
}
void log_softmax_rows(DType dtype, const void* x, int64_t rows, int64_t n, void* y) {
  with_floating_type(dtype, [=](auto t) {
    using T = decltype(t);
    for (int64_t i = 0; i < rows; ++i) log_softmax_row(static_cast<const T*>(x) + i * n, n, static_cast<T*>(y) + i * n);
  });
}
void softmax_backward_rows(DType dtype, const void* y, const void* dy, int64_t rows, int64_t n, void* dx) {
  with_floating_type(dtype, [=](auto t) {
    using T = decltype(t);
    for (int64_t i = 0; i < rows * n; i += n) {
      softmax_backward_row(static_cast<const T*>(y) + i, static_cast<const T*>(dy) + i, n, static_cast<T*>(dx) + i);
    }
  });
}
void log_softmax_backward_rows(DType dtype, const void* y, const void* dy, int64_t rows, int64_t n, void* dx) {
  with_floating_type(dtype, [=](auto t) {
    using T = decltype(t);
    for (int64_t i = 0; i < rows * n; i += n) {
      log_softmax_backward_row(static_cast<const T*>(y) + i, static_cast<const T*>(dy) + i, n, static_cast<T*>(dx) + i);
    }
  });
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

const Op kSoftmax{"softmax"};
const Op kLogSoftmax{"log_softmax"};

using Forward = void (*)(DType, const void*, int64_t, int64_t, void*);
using BackwardRows = void (*)(DType, const void*, const void*, int64_t, int64_t, void*);

constexpr int64_t kGrain = 8192;  // elements a thread takes at least

// y, fresh, from the rows of x.
Tensor on_rows(const Tensor& x, Forward kernel) {
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  const int64_t n = x.shape().back();
  if (y.numel() == 0) return y;
  const int64_t bytes = n * item_size(x.dtype());
  const auto* from = static_cast<const std::byte*>(x.raw_data());
  auto* to = static_cast<std::byte*>(y.mutable_raw_data());
  parallel_for(x.numel() / n, std::max<int64_t>(1, kGrain / n), [&](int64_t begin, int64_t end) {
    kernel(x.dtype(), from + begin * bytes, end - begin, n, to + begin * bytes);
  });
  return y;
}

Tensor on_rows(const Tensor& y, const Tensor& dy, BackwardRows kernel) {
  const Tensor g = dy.contiguous();
  const Tensor dx = Tensor::empty(y.shape(), y.dtype());
  const int64_t n = y.shape().back();
  const int64_t bytes = n * item_size(y.dtype());
  const auto* from = static_cast<const std::byte*>(y.raw_data());
  const auto* by = static_cast<const std::byte*>(g.raw_data());
  auto* to = static_cast<std::byte*>(dx.mutable_raw_data());
  parallel_for(n == 0 ? 0 : y.numel() / n, std::max<int64_t>(1, kGrain / std::max<int64_t>(n, 1)),
               [&](int64_t begin, int64_t end) {
                 kernel(y.dtype(), from + begin * bytes, by + begin * bytes, end - begin, n, to + begin * bytes);
               });
  return dx;
}

// Checks x, and brings `axis` to the end and back.
template <class F>
Tensor along(const Op& op, const Tensor& x, int64_t axis, F rows) {
  if (!is_floating(x.dtype())) {
    op.fail(fmt::format("{} of type {} was given, float32 or float64 is needed (convert it by to())", str(x.shape()),
                        name(x.dtype())));
  }
  if (x.dim() == 0 && (axis == 0 || axis == -1)) return rows(x.reshape({1})).reshape({});
  const int i = normal_axis(op.name, axis, x.shape());
  if (i == x.dim() - 1) return rows(x.contiguous());
  return rows(x.transpose(i, -1).contiguous()).transpose(i, -1);
}

}  // namespace

Tensor softmax(const Tensor& x, int64_t axis) {
  return along(kSoftmax, x, axis, [](const Tensor& x) {
    const Tensor y = on_rows(x, HWY_DYNAMIC_DISPATCH(softmax_rows));
    return record(kSoftmax, y, {x}, [y](const Tensor& dy) -> Grads {
      if (Tape::current()) {
        const Tensor g = dy * y;
        return g - y * sum(g, -1, true);
      }
      return on_rows(y, dy, HWY_DYNAMIC_DISPATCH(softmax_backward_rows));
    });
  });
}

Tensor log_softmax(const Tensor& x, int64_t axis) {
  return along(kLogSoftmax, x, axis, [](const Tensor& x) {
    const Tensor y = on_rows(x, HWY_DYNAMIC_DISPATCH(log_softmax_rows));
    return record(kLogSoftmax, y, {x}, [y](const Tensor& dy) -> Grads {
      if (Tape::current()) {
        const Tensor dx = dy - exp(y) * sum(dy, -1, true);
        const Tensor nothing = rows_of_minus_infinity(y);
        return any(nothing) ? masked_fill(dx, nothing, 0) : dx;
      }
      return on_rows(y, dy, HWY_DYNAMIC_DISPATCH(log_softmax_backward_rows));
    });
  });
}

}  // namespace tapegrad
#endif  // HWY_ONCE
