// Views (reshape, unflatten, transpose, permute, movedim, slice, select, expand, squeeze, unsqueeze), and the copies
// contiguous, clone and to.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/tape_watch.h>
#include <tapegrad/autograd/kernels/simd/bfloat16.h>
#include <tapegrad/autograd/kernels/simd/float16.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/lines.h>
#include <tapegrad/autograd/ops/detail/map.h>
#include <tapegrad/autograd/ops/detail/rounded.h>

#include <algorithm>
#include <limits>

namespace tapegrad {
namespace {

const RuledOp kReshape{"reshape", RowRule::same_order};
const RuledOp kTranspose{"transpose", RowRule::moved};
const RuledOp kPermute{"permute", RowRule::moved};
const RuledOp kSlice{"slice", RowRule::another_axis};
const Op kUnslice{"unslice"};
const RuledOp kSelect{"select", RowRule::another_axis};
const RuledOp kExpand{"expand", RowRule::broadcast};
const RuledOp kSqueeze{"squeeze", RowRule::same_order};
const RuledOp kUnsqueeze{"unsqueeze", RowRule::same_order};
const ElementwiseOp kContiguous{"contiguous"};
const RuledOp kTo{"to", RowRule::same_order};
constexpr std::string_view kUnflatten = "unflatten";
constexpr std::string_view kMovedim = "movedim";

// Fills in one size of -1, and checks the number of elements.
Shape resolve(const Tensor& x, Shape shape) {
  int open = -1;
  Shape sizes = shape;  // with 1 for the size to be inferred
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1 && open < 0) {
      open = i;
      sizes[i] = 1;
    } else if (shape[i] < 0) {
      fail(kReshape, "expected sizes of 0 or more, and at most one -1 (the rest), got {}", shape);
    }
  }
  const int64_t known = checked_numel(kReshape.name, sizes);
  const bool fits = open < 0 ? known == x.numel() : known > 0 && x.numel() % known == 0;
  require(fits, kReshape, "expected a shape with the {} elements of {}, got {}", x.numel(), x.shape(), shape);
  if (open >= 0) shape[open] = x.numel() / known;
  return shape;
}

// The strides that read x's memory as `shape`, if that is possible without a copy. Goes through both shapes from the
// end, in groups of axes with the same product.
bool strides_for(const Tensor& x, const Shape& shape, Strides& strides) {
  strides = contiguous_strides(shape);
  if (x.is_contiguous()) return true;
  Shape sizes;
  Strides steps;
  for (int i = 0; i < x.dim(); ++i) {
    if (x.shape()[i] == 1) continue;
    sizes.push_back(x.shape()[i]);
    steps.push_back(x.strides()[i]);
  }
  int from = sizes.rank() - 1;
  int to = shape.rank() - 1;
  while (from >= 0) {
    int64_t have = sizes[from];
    int64_t step = steps[from];
    int group = from;
    int64_t want = 1;
    while (to >= 0 && (want < have || shape[to] == 1)) {
      strides[to] = step * want;
      want *= shape[to--];
      while (want > have && group > 0) {  // the target's axis spans several axes of x: these must be contiguous
        if (steps[group - 1] != steps[group] * sizes[group]) return false;
        have *= sizes[--group];
      }
    }
    if (want != have) return false;
    from = group - 1;
  }
  return true;
}

// `count` elements from start on.
Tensor sliced(const Tensor& x, int axis, int64_t start, int64_t step, int64_t count) {
  if (count == 0) return x.slice(axis, 0, 0);
  const int64_t last = start + (count - 1) * step;
  const int64_t stop = step > 0 ? last + 1 : last - 1;
  return x.slice(axis, start, stop < 0 ? kAll : stop, step);
}

Dims inverse(const Dims& order) {
  Dims back = order;
  for (int i = 0; i < order.rank(); ++i) back[static_cast<int>(order[i])] = i;
  return back;
}

// The inverse of slice: zeros of `shape` with dy at start, start + step, ... of one axis.
Tensor unslice(const Tensor& dy, const Shape& shape, int axis, int64_t start, int64_t step) {
  const Tensor y = zeros(shape, dy.dtype());
  const int64_t taken = dy.shape()[axis];
  Strides steps = y.strides();
  if (taken > 1) steps[axis] *= step;
  if (taken > 0) copy_into_view(y.view(dy.shape(), steps, start * y.strides()[axis]), dy);
  return record(kUnslice, y, {dy},
                [axis, start, step, taken](const Tensor& g) -> Grads { return sliced(g, axis, start, step, taken); });
}

// A number in another type; the smallest int32 or int64 for NaN and for what these cannot hold. A uint8 is the last
// byte of the int64.
template <class To, class From>
To converted(From number) {
  if constexpr (std::is_floating_point_v<From>) {
    if constexpr (std::is_same_v<To, uint8_t>) {
      return static_cast<uint8_t>(converted<int64_t>(number));
    } else if constexpr (std::is_same_v<To, int32_t>) {
      if (!(number > From(-0x1p31 - 1) && number < From(0x1p31))) return std::numeric_limits<int32_t>::min();
    } else if constexpr (std::is_same_v<To, int64_t>) {
      if (!(number >= From(-0x1p63) && number < From(0x1p63))) return std::numeric_limits<int64_t>::min();
    }
  }
  return static_cast<To>(number);
}

// y = x: between float32 and a half, both contiguous.
void convert_half(const Tensor& x, const Tensor& y) {
  const int64_t n = x.numel();
  if (is_half(x.dtype())) {
    const auto* const from = static_cast<const uint16_t*>(x.raw_data());
    float* const to = y.mutable_data<float>();
    x.dtype() == kFloat16 ? widen_float16(from, n, to) : widen_bfloat16(from, n, to);
  } else {
    const float* const from = x.data<float>();
    auto* const to = static_cast<uint16_t*>(y.mutable_raw_data());
    y.dtype() == kFloat16 ? round_to_float16(from, n, to) : round_to_bfloat16(from, n, to);
  }
}

}  // namespace

Tensor Tensor::reshape(const Shape& wanted) const {
  const Shape shape = resolve(*this, wanted);
  if (shape == this->shape()) return *this;
  Strides strides;
  const Tensor y = strides_for(*this, shape, strides) ? view(shape, strides)
                                                      : detach().contiguous().view(shape, contiguous_strides(shape));
  return record(kReshape, y, {*this}, [from = this->shape()](const Tensor& dy, const BackwardPass& pass) -> Grads {
    return pass.is_forward() ? pass.tangents[0].reshape(dy.shape()) : dy.reshape(from);
  });
}

Tensor Tensor::flatten(int64_t start, int64_t end) const {
  if (dim() == 0) return reshape({1});
  const int from = normal_axis("flatten", start, shape());
  const int to = normal_axis("flatten", end, shape());
  if (from > to)
    fail("flatten", "expected a first axis before the last one, got {} and {} for {}", start, end, shape());
  Shape flat;
  for (int i = 0; i < dim(); ++i) {
    if (i > from && i <= to) {
      flat[flat.rank() - 1] *= shape()[i];
    } else {
      flat.push_back(shape()[i]);
    }
  }
  return reshape(flat);
}

Tensor unflatten(const Tensor& x, int64_t axis, const Shape& sizes) {
  const int i = normal_axis(kUnflatten, axis, x.shape());
  const int64_t size = x.shape()[i];
  int64_t known = 1;
  int open = -1;
  bool fits = !sizes.empty();
  for (int k = 0; k < sizes.rank() && fits; ++k) {
    if (sizes[k] == -1 && open < 0) {
      open = k;
    } else {
      fits = sizes[k] >= 0 && !__builtin_mul_overflow(known, sizes[k], &known);
    }
  }
  fits = fits && (open < 0 ? known == size : known > 0 && size % known == 0);
  require(fits, kUnflatten, "expected sizes whose product is axis {} of {}, at most one of them -1 (the rest), got {}",
          i, x.shape(), sizes);
  Shape shape = x.shape();
  shape.erase(i);
  for (int k = sizes.rank() - 1; k >= 0; --k) shape.insert(i, k == open ? size / known : sizes[k]);
  return x.reshape(shape);
}

Tensor Tensor::transpose(int64_t a, int64_t b) const {
  const int i = normal_axis(kTranspose.name, a, shape());
  const int j = normal_axis(kTranspose.name, b, shape());
  Shape swapped = shape();
  Strides steps = strides();
  std::swap(swapped[i], swapped[j]);
  std::swap(steps[i], steps[j]);
  auto backward = [i, j](const Tensor& dy, const BackwardPass& pass) -> Grads {
    return (pass.is_forward() ? pass.tangents[0] : dy).transpose(i, j);
  };
  return with_settings(record(kTranspose, view(swapped, steps), {*this}, backward), "from", i, "to", j);
}

Tensor Tensor::permute(const Dims& axes) const {
  require(axes.rank() == dim(), kPermute, "expected the {} axes of {}, got {}", dim(), shape(), axes);
  Shape turned;
  Strides steps;
  Dims back = axes;
  bool seen[kMaxRank] = {};
  for (int i = 0; i < dim(); ++i) {
    const int from = normal_axis(kPermute.name, axes[i], shape());
    if (seen[from]) fail(kPermute, "expected each axis once, got {} (axis {} twice)", axes, from);
    seen[from] = true;
    turned.push_back(shape()[from]);
    steps.push_back(strides()[from]);
    back[from] = i;
  }
  auto backward = [back](const Tensor& dy, const BackwardPass& pass) -> Grads {
    return pass.is_forward() ? pass.tangents[0].permute(inverse(back)) : dy.permute(back);
  };
  return with_settings(record(kPermute, view(turned, steps), {*this}, backward), "inverse", back);
}

Tensor movedim(const Tensor& x, const Axes& from, const Axes& to) {
  require(from.rank() == to.rank(), kMovedim, "expected as many new positions as axes, got {} and {}", from, to);
  reduced_shape(kMovedim, x.shape(), from, true);  // checks the axes
  reduced_shape(kMovedim, x.shape(), to, true);
  Dims order = Dims::filled(x.dim(), -1);
  for (int k = 0; k < from.rank(); ++k) {
    order[normal_axis(kMovedim, to[k], x.shape())] = normal_axis(kMovedim, from[k], x.shape());
  }
  int64_t next = 0;  // of the axes that are not named
  for (int i = 0; i < x.dim(); ++i) {
    if (order[i] >= 0) continue;
    while (order.contains(next)) ++next;
    order[i] = next;
  }
  return x.permute(order);
}

Tensor Tensor::slice(int64_t axis, int64_t start, int64_t stop, int64_t step) const {
  const int i = normal_axis(kSlice.name, axis, shape());
  if (step == 0 || step == kAll) kSlice.fail("expected a step other than 0, got 0");
  const int64_t size = shape()[i];
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t high = step > 0 ? size : size - 1;
  const auto bound = [&](int64_t value, int64_t otherwise) {
    if (value == kAll) return otherwise;
    return std::clamp(value < 0 ? value + size : value, low, high);
  };
  const int64_t first = bound(start, step > 0 ? low : high);
  const int64_t end = bound(stop, step > 0 ? high : low);
  const int64_t span = step > 0 ? end - first : first - end;
  const int64_t stride = step > 0 ? step : -step;
  Shape cut = shape();
  Strides steps = strides();
  cut[i] = span > 0 ? (span - 1) / stride + 1 : 0;
  const int64_t offset = cut[i] == 0 ? 0 : first * steps[i];
  if (cut[i] > 1) steps[i] *= step;
  return with_settings(
      record(kSlice, view(cut, steps, offset), {*this},
             [shape = this->shape(), i, first, step](const Tensor& dy, const BackwardPass& pass) -> Grads {
               if (pass.is_forward()) return sliced(pass.tangents[0], i, first, step, dy.size(i));
               return unslice(dy, shape, i, first, step);
             }),
      "axis", i, "start", first, "step", step);
}

Tensor Tensor::select(int64_t axis, int64_t index) const {
  const int i = normal_axis(kSelect.name, axis, shape());
  const int64_t size = shape()[i];
  require(index >= -size && index < size, kSelect, "index {} is out of range for axis {} of {}", index, i, shape());
  const int64_t at = index < 0 ? index + size : index;
  Shape rest = shape();
  Strides steps = strides();
  rest.erase(i);
  steps.erase(i);
  return with_settings(record(kSelect, view(rest, steps, at * strides()[i]), {*this},
                              [shape = this->shape(), i, at](const Tensor& dy, const BackwardPass& pass) -> Grads {
                                if (pass.is_forward()) return pass.tangents[0].select(i, at);
                                return unslice(dy.unsqueeze(i), shape, i, at, 1);
                              }),
                       "axis", i, "index", at);
}

Tensor Tensor::expand(const Shape& wanted) const {
  const int lead = wanted.rank() - dim();
  Shape shape = wanted;
  Strides steps = Strides::filled(wanted.rank(), 0);
  bool fits = lead >= 0;
  for (int i = 0; fits && i < wanted.rank(); ++i) {
    const int64_t have = i < lead ? 1 : this->shape()[i - lead];
    if (wanted[i] == -1 && i >= lead) shape[i] = have;
    fits = shape[i] >= 0 && (shape[i] == have || have == 1);
    if (i >= lead && shape[i] == have) steps[i] = strides()[i - lead];
  }
  if (!fits) {
    fail(kExpand, "{} cannot be expanded to {} (only axes of size 1 and new leading axes can grow)", this->shape(),
         wanted);
  }
  checked_numel(kExpand.name, shape);
  return record(kExpand, view(shape, steps), {*this}, [](const Tensor& dy, const BackwardPass& pass) -> Grads {
    return pass.is_forward() ? pass.tangents[0].expand(dy.shape()) : dy;
  });
}

Tensor Tensor::squeeze(int64_t axis) const {
  const int i = normal_axis(kSqueeze.name, axis, shape());
  require(shape()[i] == 1, kSqueeze, "expected axis {} to have size 1, got {} in {}", i, shape()[i], shape());
  Shape rest = shape();
  Strides steps = strides();
  rest.erase(i);
  steps.erase(i);
  return record(kSqueeze, view(rest, steps), {*this}, [i](const Tensor& dy, const BackwardPass& pass) -> Grads {
    return pass.is_forward() ? pass.tangents[0].squeeze(i) : dy.unsqueeze(i);
  });
}

Tensor Tensor::squeeze(const Axes& axes) const {
  reduced_shape(kSqueeze.name, shape(), axes, true);  // checks the axes
  Shape rest = shape();
  Dims gone;
  for (int64_t axis : axes) {
    const int i = normal_axis(kSqueeze.name, axis, shape());
    if (shape()[i] != 1) fail(kSqueeze, "expected axis {} to have size 1, got {} in {}", i, shape()[i], shape());
    gone.push_back(i);
  }
  for (int i = dim() - 1; i >= 0; --i) {
    if (gone.contains(i)) rest.erase(i);
  }
  return reshape(rest);
}

Tensor Tensor::squeeze() const {
  Shape rest;
  for (int64_t size : shape()) {
    if (size != 1) rest.push_back(size);
  }
  return reshape(rest);
}

Tensor Tensor::unsqueeze(int64_t axis) const {
  Shape grown = shape();
  Strides steps = strides();
  const int rank = dim() + 1;
  require(axis >= -rank && axis < rank, kUnsqueeze, "axis {} is out of range for {} with a new axis", axis, shape());
  const int i = static_cast<int>(axis < 0 ? axis + rank : axis);
  grown.insert(i, 1);
  steps.insert(i, 1);
  return record(kUnsqueeze, view(grown, steps), {*this}, [i](const Tensor& dy, const BackwardPass& pass) -> Grads {
    return pass.is_forward() ? pass.tangents[0].unsqueeze(i) : dy.squeeze(i);
  });
}

Tensor Tensor::contiguous() const {
  if (is_contiguous()) return *this;
  const Tensor y = empty(shape(), dtype());
  copy_into(y, *this);
  return record(kContiguous, y, {*this}, [](const Tensor& dy) -> Grads { return dy; });
}

Tensor Tensor::clone() const {
  const Tensor copy = empty(shape(), dtype());
  copy_into(copy, detach());
  return copy;
}

Tensor Tensor::to(DType wanted) const {
  if (wanted == dtype()) return *this;
  const bool rounds = is_half(wanted), widens = is_half(dtype());
  if ((rounds && dtype() != kFloat32) || (widens && wanted != kFloat32)) return to(kFloat32).to(wanted);
  const Tensor y = empty(shape(), wanted);
  if (rounds || widens) {
    convert_half(packed(*this), y);
    return widens ? record_as_to(*this, y) : y;
  }
  with_stored_type(dtype(), [&](auto from) {
    with_stored_type(wanted, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      map_any_type(y, {this}, [](const void* const* x, void* out, int64_t n, const void*) {
        const From* in = static_cast<const From*>(x[0]);
        for (int64_t i = 0; i < n; ++i) static_cast<To*>(out)[i] = converted<To>(in[i]);
      });
    });
  });
  if (!is_floating(wanted)) return y;
  return record_as_to(*this, y);
}

Tensor record_as_to(const Tensor& x, const Tensor& y) {
  const DType from = is_half(x.dtype()) ? kFloat32 : x.dtype();  // gradients of halves are float32
  return record(kTo, y, {x}, [from](const Tensor& dy, const BackwardPass& pass) -> Grads {
    if (pass.is_forward()) return pass.tangents[0].to(is_half(dy.dtype()) ? kFloat32 : dy.dtype());
    return dy.to(from);
  });
}

}  // namespace tapegrad
