// Sliding windows along an axis: unfold, and its gradient.
// build: -O2
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/lines.h>

#include <algorithm>

namespace tapegrad {
namespace {

const Op kUnfold{"unfold"};
const Op kAddWindows{"add_windows"};

constexpr int64_t kPiece = 4096;  // elements of an axis for one thread to add up
constexpr int64_t kColumns = 16;  // of several, whose windows are added at a time

// Windows of the axis of `shape` as a view; not recorded.
Tensor windows_of(const Tensor& x, int axis, int64_t size, int64_t step) {
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape[axis] = (shape[axis] - size) / step + 1;
  if (shape[axis] > 1) strides[axis] *= step;
  shape.push_back(size);
  strides.push_back(x.strides()[axis]);
  return x.view(shape, strides);
}

// Adds the windows dy [outer, windows, inner, size] to y [outer, n, inner], in the order of the windows.
template <class T>
void add_overlapping(const T* dy, const OuterAxisInner& whole, int64_t size, int64_t step, T* y) {
  const int64_t n = whole.size, inner = whole.inner, windows = (n - size) / step + 1;
  const int64_t pieces = (n - 1) / kPiece + 1;
  parallel_for(whole.outer * pieces, rows_grain(std::min(n, kPiece) * inner), [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t o = piece / pieces, first = piece % pieces * kPiece, last = std::min(first + kPiece, n);
      T* const to = y + o * n * inner;
      const int64_t from = first < size ? 0 : (first - size) / step + 1;
      for (int64_t w = from; w < windows && w * step < last; ++w) {
        const int64_t start = w * step, low = std::max<int64_t>(first - start, 0), high = std::min(size, last - start);
        const T* const window = dy + (o * windows + w) * inner * size;
        T* const place = to + start * inner;
        if (inner == 1) {
          for (int64_t k = low; k < high; ++k) place[k] += window[k];
          continue;
        }
        for (int64_t j = 0; j < inner; j += kColumns) {  // few lines of dy at a time, and whole lines of y
          const int64_t end = std::min(j + kColumns, inner);
          for (int64_t k = low; k < high; ++k) {
            for (int64_t column = j; column < end; ++column) place[k * inner + column] += window[column * size + k];
          }
        }
      }
    }
  });
}

// The inverse of unfold: zeros of `shape` to which the windows dy are added.
Tensor windows_added(const Tensor& dy, const Shape& shape, int axis, int64_t step) {
  const Tensor y = zeros(shape, dy.dtype());
  const int64_t size = dy.shape().back();
  if (step >= size) {
    copy_into_view(windows_of(y, axis, size, step), dy);
  } else if (dy.numel() > 0) {
    const Tensor from = packed(dy);
    with_floating_type(dy.dtype(), [&]<class T>(T) {
      add_overlapping(from.data<T>(), OuterAxisInner(shape, axis), size, step, y.mutable_data<T>());
    });
  }
  return record(kAddWindows, y, {dy},
                [axis, size, step](const Tensor& g) -> Grads { return unfold(g, axis, size, step); });
}

}  // namespace

Tensor unfold(const Tensor& x, int64_t axis, int64_t size, int64_t step) {
  const bool of_scalar = is_scalar_axis(x, axis);
  const int i = of_scalar ? 0 : normal_axis(kUnfold.name, axis, x.shape());
  const int64_t n = of_scalar ? 1 : x.shape()[i];
  require(
      size >= 0 && size <= n && step >= 1, kUnfold,
      "expected windows of at most the {} elements of axis {} of {}, and a step of 1 or more, got size {} and step {}",
      n, i, x.shape(), size, step);
  if (of_scalar) return unfold(x.reshape({1}), 0, size, step).select(0, 0);
  return record(kUnfold, windows_of(x, i, size, step), {x},
                [from = x.shape(), i, step](const Tensor& dy) -> Grads { return windows_added(dy, from, i, step); });
}

}  // namespace tapegrad
