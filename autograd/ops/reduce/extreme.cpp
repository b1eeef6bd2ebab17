// Extremes over axes: amax, amin, and with positions max, min, argmax, argmin.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/reduce/extreme.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/simd.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/reduce.h>

#ifndef TAPEGRAD_EXTREME_ARGS
#define TAPEGRAD_EXTREME_ARGS
namespace tapegrad {

inline constexpr int64_t kPlaceColumns = 256;  // columns for one thread to search at a time

// x [outer, n, inner] and its extremes along the middle axis, values [outer, inner] -> their positions, places [outer,
// inner].
struct PlaceArgs {
  DType dtype;
  int64_t n, inner;
  const void* x;
  const void* values;
  int64_t* places;
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// The first element equal to the row's extreme. The extreme of a row with NaN is NaN, so NaN matches, too.
template <class T>
int64_t first_place(const T* x, int64_t n, T value) {
  int64_t i = 0;
  if constexpr (std::is_floating_point_v<T>) {
    const Vec<T> wanted = value;
    const auto matches = [&](int64_t at) {
      const Vec<T> v = load(x + at);
      return (v == wanted) | (v != v);
    };
    constexpr int64_t kStep = 4 * kLanes<T>;
    for (; i + kStep <= n; i += kStep) {
      const Mask<T> left = matches(i) | matches(i + kLanes<T>);
      const Mask<T> right = matches(i + 2 * kLanes<T>) | matches(i + 3 * kLanes<T>);
      if (any(left | right)) break;
    }
  }
  while (i < n && !(x[i] == value || x[i] != x[i])) ++i;
  return i;
}

// The same for `width` columns: from the last row up, so that the first match is written last.
template <class T>
void first_places(const T* x, int64_t n, int64_t inner, int64_t width, const T* values, int64_t* places) {
  T wanted[kPlaceColumns];
  int64_t found[kPlaceColumns];
  std::copy(values, values + width, wanted);
  for (int64_t i = n - 1; i >= 0; --i) {
    const T* const row = x + i * inner;
    for (int64_t j = 0; j < width; ++j) found[j] = row[j] == wanted[j] || row[j] != row[j] ? i : found[j];
  }
  std::copy(found, found + width, places);
}

void place_rows(const PlaceArgs& args, int64_t begin, int64_t end) {
  with_type(args.dtype, [&]<class T>(T) {
    const int64_t n = args.n, inner = args.inner, tiles = pieces_of(inner, kPlaceColumns);
    const T* const x = static_cast<const T*>(args.x);
    const T* const values = static_cast<const T*>(args.values);
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t o = piece / tiles, first = piece % tiles * kPlaceColumns;
      if (inner == 1) {
        args.places[o] = first_place(x + o * n, n, values[o]);
      } else {
        const int64_t at = o * inner + first;
        first_places(x + o * n * inner + first, n, inner, std::min(kPlaceColumns, inner - first), values + at,
                     args.places + at);
      }
    }
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops/detail/shapes.h>

namespace tapegrad {

HWY_EXPORT(place_rows);

namespace {

const Op kAmax{"amax"};
const Op kAmin{"amin"};
const Op kMax{"max"};
const Op kMin{"min"};
constexpr std::string_view kArgmax = "argmax";
constexpr std::string_view kArgmin = "argmin";

Tensor extreme(const Op& op, ReduceKind kind, const Tensor& x, const Axes& axes, bool keepdim) {
  if (widens_to_int64(x.dtype())) return extreme(op, kind, x.to(kInt64), axes, keepdim).to(x.dtype());
  require_elements(op.name, x, axes);
  const Tensor y = reduced(op.name, kind, x, axes, keepdim);
  return record(op, y, {x}, [x, y, axes](const Tensor& dy) -> Grads {
    return share_evenly(dy, x.detach() == expand_to_input(y.detach(), x.shape(), axes), axes);
  });
}

// The extremes along an axis and their first positions. Not recorded; the values of narrower integers are int64.
Sorted placed(std::string_view where, ReduceKind kind, const Tensor& given, int axis, bool keepdim) {
  const Tensor x = widens_to_int64(given.dtype()) ? given.detach().to(kInt64) : given;
  const ReduceView view = view_for_reduction(where, x, axis);
  const Shape shape = reduced_shape(where, x.shape(), axis, keepdim);
  const Sorted y{Tensor::empty(shape, x.dtype()), Tensor::empty(shape, kInt64)};
  if (shape.numel() == 0) return y;
  require(view.n != 0, where, "expected at least one element along axis {}, got shape {}", axis, x.shape());
  reduce(kind, view, y.values);
  const int64_t tiles = pieces_of(view.inner, kPlaceColumns);
  run_rows(kernel_of(HWY_DISPATCH_TABLE(place_rows)),
           {.dtype = x.dtype(),
            .n = view.n,
            .inner = view.inner,
            .x = view.x.raw_data(),
            .values = y.values.raw_data(),
            .places = y.indices.mutable_data<int64_t>()},
           view.outer * tiles, view.n * std::min(view.inner, kPlaceColumns));
  return y;
}

Sorted extreme_along(const Op& op, ReduceKind kind, const Tensor& x, int64_t axis, bool keepdim) {
  if (is_scalar_axis(x, axis)) return extreme_along(op, kind, x.reshape({1}), 0, false);
  const int i = normal_axis(op.name, axis, x.shape());
  const auto [values, indices] = placed(op.name, kind, x, i, keepdim);
  if (widens_to_int64(x.dtype())) return {values.to(x.dtype()), indices};
  const Tensor places = indices.reshape(with_size(x.shape(), i, 1));
  return {record(op, values, {x},
                 [places, i, shape = x.shape()](const Tensor& dy) -> Grads {
                   return scatter_add(zeros(shape, dy.dtype()), i, places, dy.reshape(places.shape()));
                 }),
          indices};
}

Tensor place(std::string_view where, ReduceKind kind, const Tensor& x, int64_t axis, bool keepdim) {
  if (is_scalar_axis(x, axis)) return place(where, kind, x.detach().reshape({1}), 0, false);
  return placed(where, kind, x, normal_axis(where, axis, x.shape()), keepdim).indices;
}

Tensor place(std::string_view where, ReduceKind kind, const Tensor& x) {
  return placed(where, kind, x.detach().reshape({x.numel()}), 0, false).indices;
}

}  // namespace

Tensor amax(const Tensor& x, const Axes& axes, Flag keepdim) {
  return extreme(kAmax, ReduceKind::maximum, x, axes, keepdim);
}

Tensor amin(const Tensor& x, const Axes& axes, Flag keepdim) {
  return extreme(kAmin, ReduceKind::minimum, x, axes, keepdim);
}

Tensor max(const Tensor& x) { return extreme(kMax, ReduceKind::maximum, x, {}, false); }

Tensor min(const Tensor& x) { return extreme(kMin, ReduceKind::minimum, x, {}, false); }

Sorted max(const Tensor& x, int64_t axis, Flag keepdim) {
  return extreme_along(kMax, ReduceKind::maximum, x, axis, keepdim);
}

Sorted min(const Tensor& x, int64_t axis, Flag keepdim) {
  return extreme_along(kMin, ReduceKind::minimum, x, axis, keepdim);
}

Tensor argmax(const Tensor& x, int64_t axis, Flag keepdim) {
  return place(kArgmax, ReduceKind::maximum, x, axis, keepdim);
}

Tensor argmax(const Tensor& x) { return place(kArgmax, ReduceKind::maximum, x); }

Tensor argmin(const Tensor& x, int64_t axis, Flag keepdim) {
  return place(kArgmin, ReduceKind::minimum, x, axis, keepdim);
}

Tensor argmin(const Tensor& x) { return place(kArgmin, ReduceKind::minimum, x); }

}  // namespace tapegrad
#endif  // HWY_ONCE
