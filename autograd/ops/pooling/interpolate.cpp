// Resizing of signals, images and volumes. Each mode is a linear map of each axis.
// build: -Os
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops/pooling/detail/resample.h>
#include <tapegrad/autograd/pooling.h>

#include <algorithm>
#include <cmath>

namespace tapegrad {
namespace {

const Op kInterpolate{"interpolate"};

struct Mode {
  std::string_view name;
  int axes;  // 0: any number
  bool aligns = false, antialiases = false;
};

Mode mode_of(Interpolation mode) {
  switch (mode) {
    case Interpolation::nearest: return {"nearest", 0};
    case Interpolation::nearest_exact: return {"nearest_exact", 0};
    case Interpolation::linear: return {"linear", 1, true};
    case Interpolation::bilinear: return {"bilinear", 2, true, true};
    case Interpolation::trilinear: return {"trilinear", 3, true};
    case Interpolation::bicubic: return {"bicubic", 2, true, true};
    case Interpolation::area: return {"area", 0};
  }
  fail(kInterpolate, "expected an Interpolation, got {}", static_cast<int>(mode));
}

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

AxisMap picked(const Scaling& axis, auto from) {
  return axis_map(axis.in, axis.out, from, [](int64_t) { return 1; });
}

AxisMap nearest(const Scaling& axis) {
  const float step = distance<float>(axis);  // for float64 too
  return picked(axis, [&](int64_t o) -> int64_t {
    if (axis.out == axis.in) return o;
    if (axis.out == 2 * axis.in) return o / 2;
    return std::min(static_cast<int64_t>(std::floor(static_cast<float>(o) * step)), axis.in - 1);
  });
}

AxisMap nearest_exact(const Scaling& axis) {
  const float step = distance<float>(axis);
  return picked(axis, [&](int64_t o) -> int64_t {
    return std::min(static_cast<int64_t>(std::floor((static_cast<float>(o) + 0.5F) * step)), axis.in - 1);
  });
}

AxisMap area(const Scaling& axis, DType dtype) {
  const auto first = [&](int64_t o) { return o * axis.in / axis.out; };
  const auto count = [&](int64_t o) { return ((o + 1) * axis.in + axis.out - 1) / axis.out - first(o); };
  AxisMap map = axis_map(axis.in, axis.out, first, count);
  map.divisors = Tensor::empty({axis.out}, dtype);
  with_floating_type(dtype, [&]<class T>(T) {
    for (int64_t o = 0; o < axis.out; ++o) map.divisors.mutable_data<T>()[o] = static_cast<T>(count(o));
  });
  return map;
}

// Keys' cubic filter at x >= 0, with its parameter a.
template <class T>
T cubic_filter(T x, T a) {
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return a * (((x - 5) * x + 8) * x - 4);
  return 0;
}

// A map that is filled output by output; f(o, weights) returns the first input and the weights from there on.
template <class T, class F>
AxisMap filtered(const Scaling& axis, F f) {
  PoolVector<int64_t> first, count;
  PoolVector<T> weights, own;
  for (int64_t o = 0; o < axis.out; ++o) {
    own.clear();
    first.push_back(f(o, own));
    count.push_back(static_cast<int64_t>(own.size()));
    weights.insert(weights.end(), own.begin(), own.end());
  }
  const auto of = [](const PoolVector<int64_t>& list) {
    return [&list](int64_t o) { return list[static_cast<std::size_t>(o)]; };
  };
  AxisMap map = axis_map(axis.in, axis.out, of(first), of(count));
  map.weights = Tensor::empty({weight_count(map)}, dtype_of<T>());
  std::copy(weights.begin(), weights.end(), map.weights.mutable_data<T>());
  return map;
}

// Four elements around the position; those outside of the axis are its first or last element.
template <class T>
AxisMap cubic(const Scaling& axis) {
  const T step = distance<T>(axis), a = T(-0.75);
  return filtered<T>(axis, [&](int64_t o, PoolVector<T>& weights) -> int64_t {
    const T at = static_cast<T>(o), position = axis.align_corners ? step * at : step * (at + T(0.5)) - T(0.5);
    const int64_t second = std::min(static_cast<int64_t>(std::floor(position)), axis.in - 1);
    const T t = std::clamp(position - static_cast<T>(second), T{0}, T{1});
    const T values[] = {cubic_filter(t + 1, a), cubic_filter(t, a), cubic_filter(1 - t, a), cubic_filter(2 - t, a)};
    const int64_t first = std::clamp<int64_t>(second - 1, 0, axis.in - 1);
    for (int64_t k = 0; k < 4; ++k) {
      const auto i = static_cast<std::size_t>(std::clamp<int64_t>(second - 1 + k, 0, axis.in - 1) - first);
      if (i == weights.size()) weights.push_back(0);
      weights[i] += values[k];
    }
    return first;
  });
}

// The filter as wide as the distance between two outputs; its weights add up to 1.
template <class T>
AxisMap antialiased(const Scaling& axis, bool is_cubic) {
  const T step = distance<T>(axis), wide = std::max(step, T{1}), support = (is_cubic ? T{2} : T{1}) * wide;
  const T narrow = step >= 1 ? 1 / step : T{1};
  return filtered<T>(axis, [&](int64_t o, PoolVector<T>& weights) -> int64_t {
    const T centre = step * (static_cast<T>(o) + T(0.5));
    const int64_t first = std::max<int64_t>(static_cast<int64_t>(centre - support + T(0.5)), 0);
    const int64_t end = std::min(static_cast<int64_t>(centre + support + T(0.5)), axis.in);
    T sum = 0;
    for (int64_t i = first; i < end; ++i) {
      const T x = std::abs((static_cast<T>(i) - centre + T(0.5)) * narrow);
      weights.push_back(is_cubic ? cubic_filter(x, T(-0.5)) : std::max(1 - x, T{0}));
      sum += weights.back();
    }
    if (sum != 0) {
      for (T& weight : weights) weight /= sum;
    }
    return std::min(first, axis.in);
  });
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

template <class T>
AxisMap axis_of(const InterpolateOptions& options, const Scaling& axis) {
  switch (options.mode) {
    case Interpolation::nearest: return nearest(axis);
    case Interpolation::nearest_exact: return nearest_exact(axis);
    case Interpolation::area: return area(axis, dtype_of<T>());
    case Interpolation::bicubic: return options.antialias ? antialiased<T>(axis, true) : cubic<T>(axis);
    default: return options.antialias ? antialiased<T>(axis, false) : linear<T>(axis);
  }
}

// The sizes of one axis, from `size` or `scale_factor`.
Scaling scaling(const InterpolateOptions& options, const Planes& planes, int axis) {
  const int64_t in = planes.size(axis);
  Scaling s{.in = in, .out = 0, .factor = 0, .align_corners = options.align_corners};
  if (options.size.given()) {
    s.out = options.size[axis];
    if (s.out < 1) fail(kInterpolate, "expected sizes of 1 or more, got {}", s.out);
    if (s.out > INT32_MAX) fail(kInterpolate, "expected sizes of {} or less, got {}", INT32_MAX, s.out);
    return s;
  }
  s.factor = options.scale_factor[axis];
  const double out = std::floor(static_cast<double>(in) * s.factor);
  require(out >= 1 && out <= INT32_MAX, kInterpolate,
          "expected scale factors that give sizes of 1 or more, got {} for {}", s.factor, in);
  s.out = static_cast<int64_t>(out);
  if (options.recompute_scale_factor) s.factor = 0;
  return s;
}

}  // namespace

Tensor interpolate(const Tensor& x, const InterpolateOptions& options) {
  require(options.size.given() != options.scale_factor.given(), kInterpolate,
          "expected either size or scale_factor, got {}", options.size.given() ? "both" : "none");
  const Mode mode = mode_of(options.mode);
  require(!options.align_corners || mode.aligns, kInterpolate,
          "expected align_corners with linear, bilinear, trilinear or bicubic, got {}", mode.name);
  require(!options.antialias || mode.antialiases, kInterpolate, "expected antialias with bilinear or bicubic, got {}",
          mode.name);
  require(!options.recompute_scale_factor || options.scale_factor.given(), kInterpolate,
          "expected scale_factor with recompute_scale_factor, got size");
  const int axes = mode.axes > 0 ? mode.axes : x.dim() == 3 ? 1 : x.dim() == 5 ? 3 : 2;
  const Planes planes(kInterpolate, x, axes, false);
  if (options.size.given()) options.size.require_axes(kInterpolate.name, "size", axes);
  if (options.scale_factor.given()) options.scale_factor.require_axes(kInterpolate.name, "scale_factor", axes);
  return resample(kInterpolate, x, planes, map_per_axis(planes, [&](int axis) {
                    const Scaling sizes = scaling(options, planes, axis);
                    return x.dtype() == kFloat32 ? axis_of<float>(options, sizes) : axis_of<double>(options, sizes);
                  }));
}

}  // namespace tapegrad
