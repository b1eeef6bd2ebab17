// Along one axis: cumsum, argmax, argmin.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/kernel.h>
#include <tapegrad/autograd/ops/reduce.h>

#include <algorithm>

namespace tapegrad {
namespace {

const Op kCumsum{"cumsum"};
constexpr std::string_view kArgmax = "argmax";
constexpr std::string_view kArgmin = "argmin";

// From the start of the axis, or backwards from its end; each is the gradient of the other.
Tensor running_sum(const Tensor& x, int axis, bool backwards) {
  const ReduceView view = view_for_reduction(kCumsum.name, x, axis);
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  if (y.numel() > 0) {
    with_type(x.dtype(), [&](auto t) {
      using T = decltype(t);
      const int64_t n = view.n;
      const int64_t inner = view.inner;
      parallel_for(view.outer, rows_grain(view.n * view.inner), [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o) {
          const int64_t first = (o * n + (backwards ? n - 1 : 0)) * inner;
          const int64_t step = backwards ? -inner : inner;
          const T* from = view.x.data<T>() + first;
          T* to = y.mutable_data<T>() + first;
          std::copy(from, from + inner, to);
          for (int64_t i = 1; i < n; ++i) {
            from += step;
            to += step;
            for (int64_t j = 0; j < inner; ++j) to[j] = static_cast<T>(to[j - step] + from[j]);
          }
        }
      });
    });
  }
  return record(kCumsum, y, {x},
                [axis, backwards](const Tensor& dy) -> Grads { return running_sum(dy, axis, !backwards); });
}

// The index of the first element that `better` prefers to all others; NaN is preferred to everything.
template <class Better>
Tensor first_best(std::string_view where, const Tensor& x, int axis, bool keepdim, Better better) {
  const ReduceView view = view_for_reduction(where, x, axis);
  const Tensor y = Tensor::empty(reduced_shape(where, x.shape(), axis, keepdim), kInt64);
  if (y.numel() == 0) return y;
  if (view.n == 0) {
    fail(where, fmt::format("expected at least one element along axis {}, got shape {}", axis, str(x.shape())));
  }
  with_type(x.dtype(), [&](auto t) {
    using T = decltype(t);
    const int64_t inner = view.inner;
    parallel_for(view.outer, rows_grain(view.n * view.inner), [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        const T* from = view.x.data<T>() + o * view.n * inner;
        int64_t* to = y.mutable_data<int64_t>() + o * inner;
        for (int64_t j = 0; j < inner; ++j) {
          int64_t best = 0;
          for (int64_t i = 1; i < view.n; ++i) {
            const T a = from[i * inner + j];
            const T b = from[best * inner + j];
            if (better(a, b) || (a != a && b == b)) best = i;
          }
          to[j] = best;
        }
      }
    });
  });
  return y;
}

const auto kGreater = [](auto a, auto b) { return a > b; };
const auto kSmaller = [](auto a, auto b) { return a < b; };

Tensor flat(const Tensor& x) { return x.detach().reshape({x.numel()}); }

}  // namespace

Tensor cumsum(const Tensor& x, int64_t axis) {
  if (x.dtype() == kBool) return cumsum(x.to(kInt64), axis);
  if (is_scalar_axis(x, axis)) return cumsum(x.reshape({1}), 0).reshape({});
  return running_sum(x, normal_axis(kCumsum.name, axis, x.shape()), false);
}

Tensor argmax(const Tensor& x, int64_t axis, bool keepdim) {
  if (is_scalar_axis(x, axis)) return argmax(x);
  return first_best(kArgmax, x, normal_axis(kArgmax, axis, x.shape()), keepdim, kGreater);
}

Tensor argmax(const Tensor& x) { return first_best(kArgmax, flat(x), 0, false, kGreater); }

Tensor argmin(const Tensor& x, int64_t axis, bool keepdim) {
  if (is_scalar_axis(x, axis)) return argmin(x);
  return first_best(kArgmin, x, normal_axis(kArgmin, axis, x.shape()), keepdim, kSmaller);
}

Tensor argmin(const Tensor& x) { return first_best(kArgmin, flat(x), 0, false, kSmaller); }

}  // namespace tapegrad
