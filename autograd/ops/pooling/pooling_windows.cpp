// The windows of pooling along one axis, and the checks of its settings.
// build: -Os
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops/detail/shapes.h>
#include <tapegrad/autograd/ops/pooling/detail/pooling_windows.h>

#include <algorithm>

namespace tapegrad {

namespace {

int64_t at_least(const Op& op, std::string_view name, int64_t least, int64_t value) {
  if (value < least) fail(op, "expected {} of {} or more, got {}", name, least, value);
  // Positions, products and sums of these, must fit into 64 bits.
  if (value > INT32_MAX) fail(op, "expected {} of {} or less, got {}", name, INT32_MAX, value);
  return value;
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

Windows sliding(const Op& op, const Tensor& x, const Planes& planes, const WindowSettings& settings, int axis) {
  const int64_t kernel = at_least(op, "kernel_size", 1, settings.kernel[axis]);
  const int64_t stride = settings.stride.given() ? at_least(op, "stride", 1, settings.stride[axis]) : kernel;
  const int64_t dilation = at_least(op, "dilation", 1, settings.dilation[axis]);
  const int64_t padding = at_least(op, "padding", 0, settings.padding[axis]);
  const int64_t window = dilation * (kernel - 1) + 1;
  require(padding <= window / 2, op, "expected padding of at most half of the window's {} elements, got {}", window,
          padding);
  const int64_t in = planes.size(axis);
  int64_t out = floor_div(in + 2 * padding - window + (settings.ceil_mode ? stride - 1 : 0), stride) + 1;
  if (settings.ceil_mode && (out - 1) * stride >= in + padding) --out;  // the last window would begin in the padding
  require(out >= 1, op, "expected an image of {} or more elements for a window of {} with padding {}, got shape {}",
          window - 2 * padding, window, padding, x.shape());
  Windows windows{.in = in, .step = dilation, .windows = {}};
  windows.windows.reserve(static_cast<std::size_t>(out));
  for (int64_t o = 0; o < out; ++o) {
    const int64_t start = o * stride - padding;
    const int64_t first = start < 0 ? start + (-start + dilation - 1) / dilation * dilation : start;
    const int64_t stop = std::min(start + window, in);
    const int64_t count = first < stop ? (stop - first - 1) / dilation + 1 : 0;
    windows.windows.push_back({first, count, std::min(start + window, in + padding) - start});
  }
  return windows;
}

Windows adaptive(const Op& op, const Planes& planes, const PerAxis<int64_t>& output_size, int axis) {
  const int64_t in = planes.size(axis), out = at_least(op, "output_size", 0, output_size[axis]);
  Windows windows{.in = in, .step = 1, .windows = {}};
  windows.windows.reserve(static_cast<std::size_t>(out));
  for (int64_t o = 0; o < out; ++o) {
    const int64_t first = o * in / out, count = ((o + 1) * in + out - 1) / out - first;
    windows.windows.push_back({first, count, count});
  }
  return windows;
}

// f(axis) for each axis that x has, single elements for the others.
PoolWindows windows_per_axis(const Planes& planes, auto f) {
  const int axes = planes.axes;
  return {.d = axes == 3 ? f(0) : single_elements(1),
          .plane = {.h = axes > 1 ? f(axes - 2) : single_elements(1), .w = f(axes - 1)}};
}

}  // namespace

Planes::Planes(const Op& op, const Tensor& x, int axes, bool unbatched) : axes(axes) {
  const int lead = x.dim() - axes;
  if (lead != 2 && !(unbatched && lead == 1)) {
    const char* const sizes = axes == 1 ? "L" : axes == 2 ? "H, W" : "D, H, W";
    fail(op, "expected x [N, C, {}]{}, got shape {}", sizes, unbatched ? fmt::format(" or [C, {}]", sizes) : "",
         x.shape());
  }
  require_floating(op.name, {&x});
  for (int i = 0; i < lead; ++i) count *= x.shape()[i];
  if (axes == 3) d = x.shape()[-3];
  if (axes > 1) h = x.shape()[-2];
  w = x.shape()[-1];
  require(d != 0 && h != 0 && w != 0, op, "expected spatial sizes of 1 or more, got shape {}", x.shape());
}

Planes::Planes(const Tensor& x) : axes(2), h(x.shape()[-2]), w(x.shape()[-1]) {
  for (int i = 0; i < x.dim() - 2; ++i) count *= x.shape()[i];
}

Planes Planes::each_depth() const {
  Planes all = *this;
  all.axes = std::min(axes, 2);
  all.count *= d;
  all.d = 1;
  return all;
}

Shape Planes::resized(const Tensor& x, int64_t out_h, int64_t out_w) const {
  Shape shape = x.shape();
  if (axes > 1) shape[-2] = out_h;
  shape[-1] = out_w;
  return shape;
}

Tensor depth_by_plane(const Tensor& x) { return x.flatten(-2, -1); }

Tensor plane_unflattened(const Tensor& x, int64_t h, int64_t w) {
  return x.reshape(with_axes(with_size(x.shape(), -1, h), {w}));
}

Windows single_elements(int64_t size) {
  Windows all{.in = size, .step = 1, .windows = {}};
  for (int64_t i = 0; i < size; ++i) all.windows.push_back({i, 1, 1});
  return all;
}

PoolWindows sliding_windows(const Op& op, const Tensor& x, const Planes& planes, const WindowSettings& settings) {
  settings.kernel.require_axes(op.name, "kernel_size", planes.axes);
  if (settings.stride.given()) settings.stride.require_axes(op.name, "stride", planes.axes);
  settings.padding.require_axes(op.name, "padding", planes.axes);
  settings.dilation.require_axes(op.name, "dilation", planes.axes);
  return windows_per_axis(planes, [&](int axis) { return sliding(op, x, planes, settings, axis); });
}

PoolWindows adaptive_windows(const Op& op, const Planes& planes, const PerAxis<int64_t>& output_size) {
  output_size.require_axes(op.name, "output_size", planes.axes);
  return windows_per_axis(planes, [&](int axis) { return adaptive(op, planes, output_size, axis); });
}

}  // namespace tapegrad
