// Sliding windows along an axis: unfold, and its gradient.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/kernel.h>

#include <algorithm>

namespace tapegrad {
namespace {

const Op kUnfold{"unfold"};
const Op kAddWindows{"add_windows"};

// The inverse of unfold: zeros of `shape` to which the windows dy [outer, windows, inner, size] are added.
Tensor windows_added(const Tensor& dy, const Shape& shape, int axis, int64_t step) {
  const Tensor y = zeros(shape, dy.dtype());
  const int64_t windows = dy.shape()[axis], size = dy.shape().back();
  if (dy.numel() > 0) {
    const Tensor from = packed(dy);
    const OuterAxisInner whole(shape, axis);
    const int64_t n = whole.size, inner = whole.inner;
    with_floating_type(dy.dtype(), [&](auto t) {
      using T = decltype(t);
      const T* const in = from.data<T>();
      T* const out = y.mutable_data<T>();
      parallel_for(whole.outer * n, rows_grain(inner * std::max<int64_t>(1, size / step)),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t row = begin; row < end; ++row) {
                       const int64_t o = row / n, i = row % n;
                       // Element i is element i - w * step of window w.
                       const int64_t first = i < size ? 0 : (i - size) / step + 1;
                       const int64_t last = std::min(i / step, windows - 1);
                       T* const to = out + row * inner;
                       for (int64_t w = first; w <= last; ++w) {
                         const T* const window = in + (o * windows + w) * inner * size + (i - w * step);
                         for (int64_t j = 0; j < inner; ++j) to[j] += window[j * size];
                       }
                     }
                   });
    });
  }
  return record(kAddWindows, y, {dy},
                [axis, size, step](const Tensor& g) -> Grads { return unfold(g, axis, size, step); });
}

}  // namespace

Tensor unfold(const Tensor& x, int64_t axis, int64_t size, int64_t step) {
  const int i = normal_axis(kUnfold.name, axis, x.shape());
  const int64_t n = x.shape()[i];
  if (size < 0 || size > n || step < 1) {
    kUnfold.fail(
        fmt::format("expected windows of at most the {} elements of axis {} of {}, and a step of 1 or more, "
                    "got size {} and step {}",
                    n, i, str(x.shape()), size, step));
  }
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape[i] = (n - size) / step + 1;
  if (shape[i] > 1) strides[i] *= step;
  shape.push_back(size);
  strides.push_back(x.strides()[i]);
  return record(kUnfold, x.view(shape, strides), {x},
                [from = x.shape(), i, step](const Tensor& dy) -> Grads { return windows_added(dy, from, i, step); });
}

}  // namespace tapegrad
