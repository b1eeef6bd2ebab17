// The depths of volumes as channels of images, for convolutions.
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/op.h>
#include <tapegrad/autograd/ops/convolution/detail/convolution_call.h>

#include <algorithm>

namespace tapegrad {
namespace {

const Op kDepthWindows{"depth_windows"};
const Op kAddDepths{"add_depths"};

// x [n, c, axis.size, plane], windows [n, axis.out, c, axis.kernel, plane].
struct Depths {
  int64_t n, c, h, w;
  ConvAxis axis;

  int64_t plane() const { return h * w; }
  // One window of each volume: x as it is.
  bool whole() const {
    return axis.out == 1 && axis.kernel == axis.size && axis.padding == 0 && (axis.dilation == 1 || axis.kernel == 1);
  }
};

template <class T>
void take_depths(const Depths& d, const T* x, T* windows) {
  const ConvAxis& axis = d.axis;
  const int64_t plane = d.plane();
  parallel_for_each(d.n * axis.out * d.c, rows_grain(axis.kernel * plane), [&](int64_t i) {
    const int64_t n = i / d.c / axis.out, first = i / d.c % axis.out * axis.stride - axis.padding;
    const T* const channel = x + (n * d.c + i % d.c) * axis.size * plane;
    for (int64_t k = 0; k < axis.kernel; ++k) {
      const int64_t depth = first + k * axis.dilation;
      T* const to = windows + (i * axis.kernel + k) * plane;
      if (depth >= 0 && depth < axis.size) {
        std::copy_n(channel + depth * plane, plane, to);
      } else {
        std::fill_n(to, plane, T{0});
      }
    }
  });
}

// Each depth is the sum of the planes that were taken from it, in the order of the kernel.
template <class T>
void add_depths(const Depths& d, const T* windows, T* x) {
  const ConvAxis& axis = d.axis;
  const int64_t plane = d.plane();
  parallel_for(d.n * d.c * axis.size, rows_grain(plane), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / axis.size / d.c, c = i / axis.size % d.c;
      T* const to = x + i * plane;
      bool any = false;
      for (int64_t k = 0; k < axis.kernel; ++k) {
        const int64_t first = i % axis.size + axis.padding - k * axis.dilation, window = first / axis.stride;
        if (first < 0 || first % axis.stride != 0 || window >= axis.out) continue;
        const T* const from = windows + (((n * axis.out + window) * d.c + c) * axis.kernel + k) * plane;
        if (any) {
          for (int64_t j = 0; j < plane; ++j) to[j] += from[j];
        } else {
          std::copy_n(from, plane, to);
        }
        any = true;
      }
      if (!any) std::fill_n(to, plane, T{0});
    }
  });
}

// The windows of x, or their transpose: each is the gradient of the other.
Tensor moved(const Depths& d, bool add, const Tensor& x) {
  const Shape shape =
      add ? Shape{d.n, d.c, d.axis.size, d.h, d.w} : Shape{d.n * d.axis.out, d.c * d.axis.kernel, d.h, d.w};
  if (d.whole()) return x.reshape(shape);
  const Tensor y = Tensor::empty(shape, x.dtype());
  if (y.numel() > 0) {
    const Tensor from = packed(x);
    with_floating_type(
        x.dtype(), [&]<class T>(T) { (add ? add_depths<T> : take_depths<T>)(d, from.data<T>(), y.mutable_data<T>()); });
  }
  return record(add ? kAddDepths : kDepthWindows, y, {x},
                [d, add, from = x.shape()](const Tensor& dy) -> Grads { return moved(d, !add, dy).reshape(from); });
}

}  // namespace

Tensor depth_windows(const Tensor& x, const ConvAxis& depth) {
  return moved({.n = x.size(0), .c = x.size(1), .h = x.size(3), .w = x.size(4), .axis = depth}, false, x);
}

Tensor depths_added(const Tensor& windows, const ConvAxis& depth) {
  return moved({.n = windows.size(0) / depth.out,
                .c = windows.size(1) / depth.kernel,
                .h = windows.size(2),
                .w = windows.size(3),
                .axis = depth},
               true, windows);
}

Tensor depths_swapped(const Tensor& x) {
  const int64_t depths = x.size(2);
  return depth_windows(x, {.size = depths, .out = depths})
      .reshape({x.size(0), depths, x.size(1), x.size(3), x.size(4)});
}

}  // namespace tapegrad
