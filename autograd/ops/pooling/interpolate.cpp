// Resizing of images and signals: nearest, linear and bilinear interpolation.
#include <fmt/format.h>
#include <tapegrad/autograd/ops/pooling/detail/resample.h>
#include <tapegrad/autograd/pooling.h>

#include <algorithm>
#include <cmath>

namespace tapegrad {
namespace {

const Op kInterpolate{"interpolate"};

// How the positions of one axis of the result map to those of x.
struct Scaling {
  int64_t in, out;
  double factor;  // 0: follows from the sizes
  bool align_corners;
};

// The distance in x between two neighbours of the result. Computed in T, as PyTorch does, so that rounding selects the
// same elements.
template <class T>
T distance(const Scaling& axis) {
  if (axis.align_corners) return axis.out > 1 ? static_cast<T>(axis.in - 1) / static_cast<T>(axis.out - 1) : T{0};
  if (axis.factor > 0) return static_cast<T>(1 / axis.factor);
  return static_cast<T>(axis.in) / static_cast<T>(axis.out);
}

AxisMap nearest(const Scaling& axis) {
  const float step = distance<float>(axis);  // for float64 too
  const auto from = [&](int64_t o) -> int64_t {
    if (axis.out == axis.in) return o;
    if (axis.out == 2 * axis.in) return o / 2;
    return std::min(static_cast<int64_t>(std::floor(static_cast<float>(o) * step)), axis.in - 1);
  };
  return axis_map(axis.in, axis.out, from, [](int64_t) { return 1; });
}

template <class T>
AxisMap linear(const Scaling& axis) {
  if (axis.in == axis.out) {
    return axis_map(
        axis.in, axis.out, [](int64_t o) { return o; }, [](int64_t) { return 1; });
  }
  const T step = distance<T>(axis);
  const auto position = [&](int64_t o) {
    const T at = static_cast<T>(o);
    return axis.align_corners ? step * at : std::max(step * (at + T(0.5)) - T(0.5), T{0});
  };
  const auto first = [&](int64_t o) { return std::min(static_cast<int64_t>(position(o)), axis.in - 1); };
  const auto count = [&](int64_t o) -> int64_t { return first(o) + 1 < axis.in ? 2 : 1; };
  AxisMap map = axis_map(axis.in, axis.out, first, count);
  map.weights = Tensor::empty({weight_count(map)}, dtype_of<T>());
  T* weight = map.weights.mutable_data<T>();
  for (int64_t o = 0; o < axis.out; ++o) {
    const T right = std::clamp(position(o) - static_cast<T>(first(o)), T{0}, T{1});
    *weight++ = count(o) == 2 ? 1 - right : T{1};
    if (count(o) == 2) *weight++ = right;
  }
  return map;
}

AxisMap axis_of(Interpolation mode, const Scaling& axis, DType dtype) {
  if (mode == Interpolation::nearest) return nearest(axis);
  return dtype == kFloat32 ? linear<float>(axis) : linear<double>(axis);
}

// The sizes of one axis, from `size` or `scale_factor`.
Scaling scaling(const InterpolateOptions& options, const Planes& planes, int axis) {
  const int64_t in = planes.size(axis);
  Scaling s{.in = in, .out = 0, .factor = 0, .align_corners = options.align_corners};
  if (options.size.given()) {
    s.out = options.size[axis];
    if (s.out < 1) kInterpolate.fail(fmt::format("expected sizes of 1 or more, got {}", s.out));
    if (s.out > INT32_MAX) kInterpolate.fail(fmt::format("expected sizes of {} or less, got {}", INT32_MAX, s.out));
    return s;
  }
  s.factor = options.scale_factor[axis];
  const double out = std::floor(static_cast<double>(in) * s.factor);
  if (!(out >= 1 && out <= INT32_MAX)) {
    kInterpolate.fail(fmt::format("expected scale factors that give sizes of 1 or more, got {} for {}", s.factor, in));
  }
  s.out = static_cast<int64_t>(out);
  return s;
}

}  // namespace

Tensor interpolate(const Tensor& x, const InterpolateOptions& options) {
  if (options.size.given() == options.scale_factor.given()) {
    kInterpolate.fail(
        fmt::format("expected either size or scale_factor, got {}", options.size.given() ? "both" : "none"));
  }
  if (options.mode == Interpolation::nearest && options.align_corners) {
    kInterpolate.fail("expected align_corners with linear or bilinear, got nearest");
  }
  int axes = options.mode == Interpolation::linear ? 1 : 2;
  if (options.mode == Interpolation::nearest && x.dim() == 3) axes = 1;
  const Planes planes(kInterpolate, x, axes, false);
  if (options.size.given()) options.size.require_axes(kInterpolate.name, "size", axes);
  if (options.scale_factor.given()) options.scale_factor.require_axes(kInterpolate.name, "scale_factor", axes);
  const AxisMap h = axes == 2 ? axis_of(options.mode, scaling(options, planes, 0), x.dtype())
                              : nearest({.in = 1, .out = 1, .factor = 0, .align_corners = false});
  return resample(kInterpolate, x, planes, h, axis_of(options.mode, scaling(options, planes, axes - 1), x.dtype()));
}

}  // namespace tapegrad
