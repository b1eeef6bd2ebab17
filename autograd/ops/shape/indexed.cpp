// x(...): reading and writing by the entries of index.h, made of slice, index, slice_update and index_put; and x += y.
// build: -Os
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/lines.h>

#include <vector>

namespace tapegrad {
namespace {

constexpr std::string_view kIndex = "index";

// What the entries mean for one tensor: a region by slices, new axes in it, and tensors that index its axes.
struct Plan {
  Slice slices[kMaxRank];  // one per axis of x
  std::size_t slice_count = 0;
  Dims new_axes;                // of the region, ascending
  std::vector<Tensor> tensors;  // as for index(): of the region; empty if no entry is a tensor
  bool whole = true;            // the region is x

  std::span<const Slice> all_slices() const { return {slices, slice_count}; }

  Tensor region_of(const Tensor& x) const {
    Tensor region = slice(x, all_slices());
    for (const int64_t axis : new_axes) region = region.unsqueeze(axis);
    return region;
  }
  // The inverse for values of the region's shape.
  Tensor without_new_axes(const Tensor& values) const {
    return new_axes.empty() ? values : values.squeeze(Axes(new_axes));
  }
};

int axes_of(const Index& entry) {
  switch (entry.kind()) {
    case Index::Kind::slice: return 1;
    case Index::Kind::tensor: return entry.tensor().dtype() == kBool ? entry.tensor().dim() : 1;
    default: return 0;
  }
}

Plan plan_of(const Tensor& x, const Indices& indices) {
  int axes = 0, ellipses = 0, last_tensor = -1;
  for (int i = 0; i < indices.size(); ++i) {
    axes += axes_of(indices[i]);
    ellipses += indices[i].kind() == Index::Kind::other_axes;
    if (indices[i].kind() == Index::Kind::tensor) last_tensor = i;
  }
  if (ellipses > 1) fail(kIndex, "expected at most one ellipsis, got {}", ellipses);
  require(axes <= x.dim(), kIndex, "expected indices for at most {} axes of {}, got {}", x.dim(), x.shape(), axes);
  Plan plan;
  int region_axis = 0;
  const auto add = [&](const Slice& slice) {
    plan.slices[plan.slice_count++] = slice;
    const bool all = !slice.single && slice.start == kAll && slice.stop == kAll && slice.step == 1;
    plan.whole = plan.whole && all;
    region_axis += !slice.single;
  };
  for (int i = 0; i < indices.size(); ++i) {
    const Index& entry = indices[i];
    const int before = region_axis;
    switch (entry.kind()) {
      case Index::Kind::slice: add(entry.slice()); break;
      case Index::Kind::other_axes:
        for (int left = x.dim() - axes; left > 0; --left) add(Slice());
        break;
      case Index::Kind::new_axis:
        plan.new_axes.push_back(region_axis++);
        plan.whole = false;
        break;
      case Index::Kind::tensor:
        for (int left = axes_of(entry); left > 0; --left) add(Slice());
        plan.tensors.push_back(entry.tensor());
        continue;
      case Index::Kind::absent: break;
    }
    if (i < last_tensor) plan.tensors.resize(plan.tensors.size() + static_cast<std::size_t>(region_axis - before));
  }
  return plan;
}

// The handle of a leaf would become another tensor, and the optimiser would go on with the leaf.
void require_no_leaf(std::string_view what, const Tensor& x) {
  require(
      !x.is_leaf(), what,
      "cannot write to a leaf, here of shape {}: an optimiser or nn::Parameter::set changes it, and x = x + y gives a "
      "new tensor",
      x.shape());
}

// Nothing else can see that the tensor changes: the same values as a new tensor would have, without the copy. In an
// expanded tensor, or one of windows, several elements have one place in memory; contiguous ones have their own.
bool writable_in_place(const Tensor& x, const Tensor& values) {
  return x.unique() && x.is_contiguous() && x.tape_index().tape == 0 && x.dtype() == values.dtype() &&
         !needs_grad(values);
}

// x = result, of x's shape and type.
Tensor& update(std::string_view what, Tensor& x, const Tensor& result) {
  require_no_leaf(what, x);
  if (result.shape() != x.shape() || result.dtype() != x.dtype()) {
    fail(what,
         "the result is {} of shape {}, and the tensor on the left {} of shape {} (x = x {} y gives x a new type or "
         "shape)",
         result.dtype(), result.shape(), x.dtype(), x.shape(), what[0]);
  }
  return x = result;
}

}  // namespace

void Index::refuse() { fail(kIndex, "of the functions, only `all` is an index: it stands for a whole axis"); }

Tensor Tensor::at(const Indices& indices) const {
  const Plan plan = plan_of(*this, indices);
  const Tensor region = plan.region_of(*this);
  if (plan.tensors.empty()) return region;
  const Tensor& first = plan.tensors[0];
  const bool is_one_mask = plan.tensors.size() == 1 && first.defined() && first.dtype() == kBool;
  if (is_one_mask && first.dim() > 0 && first.shape() == region.shape()) return masked_select(region, first);
  return index(region, plan.tensors);
}

void Indexed::put(Tensor values) {
  Tensor& x = *target_;
  require_no_leaf(kIndex, x);
  const Plan plan = plan_of(x, indices_);
  Tensor::operator=(Tensor());  // this view of x, so that x may be the only one
  if (!plan.tensors.empty()) {
    values = index_put(plan.region_of(x), plan.tensors, values);
    if (plan.whole) {
      x = values;
      return;
    }
  } else if (!plan.new_axes.empty()) {
    values = values.expand(plan.region_of(x).shape());
  }
  if (!plan.new_axes.empty()) values = plan.without_new_axes(values);
  if (writable_in_place(x, values)) {
    const Tensor region = tapegrad::slice(x, plan.all_slices());
    if (broadcasts_to(values.shape(), region.shape())) {
      copy_into_view(region, values);
      return;
    }
  }
  x = slice_update(x, plan.all_slices(), values);
}

void Indexed::operator=(Scalar value) && {
  require_number(kIndex, target_->dtype(), value);
  const Index* only = indices_.size() == 1 ? &indices_[0] : nullptr;
  if (only && only->kind() == Index::Kind::tensor && only->tensor().dtype() == kBool) {
    require_no_leaf(kIndex, *target_);
    const Tensor& mask = only->tensor();
    Shape shape = mask.shape();
    while (shape.rank() < target_->dim()) shape.push_back(1);
    *target_ = masked_fill(*target_, mask.reshape(shape), value);
    return;
  }
  put(full({}, value, target_->dtype()));
}

void Indexed::operator+=(const Tensor& y) && { put(*this + y); }
void Indexed::operator-=(const Tensor& y) && { put(*this - y); }
void Indexed::operator*=(const Tensor& y) && { put(*this * y); }
void Indexed::operator/=(const Tensor& y) && { put(*this / y); }
void Indexed::operator+=(Scalar y) && { put(*this + y); }
void Indexed::operator-=(Scalar y) && { put(*this - y); }
void Indexed::operator*=(Scalar y) && { put(*this * y); }
void Indexed::operator/=(Scalar y) && { put(*this / y); }

Tensor& operator+=(Tensor& x, const Tensor& y) { return update("+=", x, x + y); }
Tensor& operator-=(Tensor& x, const Tensor& y) { return update("-=", x, x - y); }
Tensor& operator*=(Tensor& x, const Tensor& y) { return update("*=", x, x * y); }
Tensor& operator/=(Tensor& x, const Tensor& y) { return update("/=", x, x / y); }
Tensor& operator+=(Tensor& x, Scalar y) { return update("+=", x, x + y); }
Tensor& operator-=(Tensor& x, Scalar y) { return update("-=", x, x - y); }
Tensor& operator*=(Tensor& x, Scalar y) { return update("*=", x, x * y); }
Tensor& operator/=(Tensor& x, Scalar y) { return update("/=", x, x / y); }

}  // namespace tapegrad
