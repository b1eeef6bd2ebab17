// Regions of a tensor by slices of its axes: slice, slice_update.
// build: -Os
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/lines.h>

#include <algorithm>
#include <vector>

namespace tapegrad {
namespace {

const Op kSliceUpdate{"slice_update"};

// The slices that backward keeps.
struct Kept {
  Slice slices[kMaxRank];
  std::size_t count;
  explicit Kept(std::span<const Slice> given) : count(given.size()) { std::copy(given.begin(), given.end(), slices); }
  operator std::span<const Slice>() const { return {slices, count}; }
};

void require_axes(std::string_view where, const Tensor& x, std::span<const Slice> slices) {
  require(slices.size() <= static_cast<std::size_t>(x.dim()), where,
          "expected at most {} slices, one per axis of {}, got {}", x.dim(), x.shape(), slices.size());
}

}  // namespace

Tensor slice(const Tensor& x, std::span<const Slice> slices) {
  require_axes("slice", x, slices);
  Tensor y = x;
  int axis = 0;
  for (const Slice& one : slices) {
    if (one.single) {
      y = y.select(axis, one.start);
      continue;
    }
    if (one.start != kAll || one.stop != kAll || one.step != 1) y = y.slice(axis, one.start, one.stop, one.step);
    ++axis;
  }
  return y;
}

Tensor slice(const Tensor& x, std::initializer_list<Number> indices) {
  std::vector<Slice> slices;
  for (const Number& number : indices) slices.emplace_back(number.index);
  return slice(x, std::span<const Slice>(slices));
}

Tensor slice_update(const Tensor& x, std::span<const Slice> slices, const Tensor& values) {
  require_axes(kSliceUpdate.name, x, slices);
  require(values.dtype() == x.dtype(), kSliceUpdate,
          "expected x and values of one type, got {} and {} (convert with values.to(x.dtype()))", x.dtype(),
          values.dtype());
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  const Tensor region = slice(y, slices);
  require(broadcasts_to(values.shape(), region.shape()), kSliceUpdate,
          "expected values that broadcast to the region {} of {}, got {}", region.shape(), x.shape(), values.shape());
  copy_into(y, x);
  copy_into_view(region, values);
  return record(kSliceUpdate, y, {x, values},
                [kept = Kept(slices), wants_values = needs_grad(values)](const Tensor& dy) -> Grads {
                  return {slice_update(dy, kept, 0), wants_values ? slice(dy, kept) : Tensor()};
                });
}

Tensor slice_update(const Tensor& x, std::initializer_list<Slice> slices, const Tensor& values) {
  return slice_update(x, std::span<const Slice>(slices.begin(), slices.size()), values);
}

Tensor slice_update(const Tensor& x, std::span<const Slice> slices, Scalar value) {
  require_number(kSliceUpdate.name, x.dtype(), value);
  return slice_update(x, slices, full({}, value, x.dtype()));
}

Tensor slice_update(const Tensor& x, std::initializer_list<Slice> slices, Scalar value) {
  return slice_update(x, std::span<const Slice>(slices.begin(), slices.size()), value);
}

}  // namespace tapegrad
