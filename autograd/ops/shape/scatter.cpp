// Writing by index: scatter, scatter_add, index_add, index_copy, index_fill, masked_scatter, index_put.
// build: -O2
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/tape_watch.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/lines.h>
#include <tapegrad/autograd/ops/detail/shapes.h>
#include <tapegrad/autograd/ops/detail/wrapping.h>
#include <tapegrad/autograd/ops/shape/detail/index.h>

namespace tapegrad {
namespace {

const Op kScatter{"scatter"};
const Op kScatterAdd{"scatter_add"};
const Op kIndexAdd{"index_add"};
const Op kIndexCopy{"index_copy"};
constexpr std::string_view kIndexFill = "index_fill";
constexpr std::string_view kIndexPut = "index_put";
constexpr std::string_view kMaskedScatter = "masked_scatter";

void require_one_type(std::string_view where, const Tensor& x, std::string_view called, const Tensor& source) {
  require(source.dtype() == x.dtype(), where,
          "expected x and {0} of one type, got {1} and {2} (convert with {0}.to(x.dtype()))", called, x.dtype(),
          source.dtype());
}

// --- elements along an axis ---

// y, which has no other handle, after f(element, values[k]) of the element at each index along the axis, in the order
// of the index within a line. Different lines never overlap. with() calls a function with the type of elements.
Tensor with_elements(Tensor y, int axis, const Tensor& ids, const Tensor& source, auto with, auto f) {
  with([&]<class T>(T) {
    const T* from = static_cast<const T*>(source.raw_data());
    T* to = static_cast<T*>(y.mutable_raw_data());
    const int64_t* id = ids.data<int64_t>();
    const AxisLines lines(ids.shape(), axis);
    const int64_t step = y.strides()[axis], id_step = ids.strides()[axis], from_step = source.strides()[axis];
    const int64_t next = y.strides()[-1], next_id = ids.strides()[-1], next_from = source.strides()[-1];
    each_group(lines, [&](int64_t line, int64_t count) {
      T* row = to + lines.start(line, y.strides());
      const T* values = from + lines.start(line, source.strides());
      const int64_t* at = id + lines.start(line, ids.strides());
      for (int64_t k = 0; k < lines.size && count == 1; ++k) f(row[at[k * id_step] * step], values[k * from_step]);
      for (int64_t k = 0; k < lines.size && count > 1; ++k) {
        for (int64_t j = 0; j < count; ++j) {
          f(row[j * next + at[j * next_id] * step], values[j * next_from]);
        }
        at += id_step;
        values += from_step;
      }
    });
  });
  return y;
}

// The elements of the index that a later one of the same line overwrites; empty if there are none.
Tensor overwritten(const Shape& shape, int axis, const Tensor& ids) {
  const int64_t count = ids.shape()[axis];
  const Tensor order = arange(count).reshape(with_size(Shape::filled(ids.dim(), 1), axis, count)).expand(ids.shape());
  const Tensor last = scatter(zeros(shape, kInt64), axis, ids, order);
  const Tensor lost = gather(last, axis, ids) != order;
  return any(lost) ? lost : Tensor();
}

// The gradient of `source`: elements outside the index get none.
Tensor of_source(const Tensor& dvalues, const Shape& source) {
  int64_t widths[2 * kMaxRank] = {};
  const int rank = source.rank();
  for (int i = 0; i < rank; ++i) widths[2 * (rank - 1 - i) + 1] = source[i] - dvalues.shape()[i];
  return pad(dvalues, std::span<const int64_t>(widths, 2 * static_cast<std::size_t>(rank)));
}

Tensor scattered(const Tensor& x, int axis, const Tensor& ids, const Tensor& source) {
  const auto with = [&](const auto& f) { with_type_of_size(x.dtype(), f); };
  return with_elements(x.clone(), axis, ids, source, with, [](auto& to, auto value) { to = value; });
}

Tensor increased(Tensor y, int axis, const Tensor& ids, const Tensor& source) {
  const auto with = [&](const auto& f) { with_type(y.dtype(), f); };
  return with_elements(y, axis, ids, source, with, [](auto& to, auto value) { to = wrapping_sum(to, value); });
}

// The index of scatter and scatter_add, checked.
Tensor require_index(const Op& op, const Tensor& x, int axis, const Tensor& index, const Tensor& source) {
  require_inside(op, x.shape(), "x", index.shape(), axis);
  require_inside(op, source.shape(), "source", index.shape(), -1);
  require_one_type(op.name, x, "source", source);
  return require_indices(op.name, index, x, axis);
}

}  // namespace

Tensor scatter(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source) {
  const int i = normal_axis(kScatter.name, axis, x.shape());
  const Tensor ids = require_index(kScatter, x, i, index, source);
  const bool wants_source = needs_grad(source);
  return record(kScatter, scattered(x, i, ids, source), {x, source},
                [i, ids, wants_source, from = source.shape()](const Tensor& dy) -> Grads {
                  const Tensor dx = scatter(dy, i, ids, 0);
                  if (!wants_source) return {dx, Tensor()};
                  const Tensor lost = overwritten(dy.shape(), i, ids);
                  const Tensor dvalues = gather(dy, i, ids);
                  return {dx, of_source(lost.defined() ? masked_fill(dvalues, lost, 0) : dvalues, from)};
                });
}

Tensor scatter(const Tensor& x, int64_t axis, const Tensor& index, Scalar value) {
  const int i = normal_axis(kScatter.name, axis, x.shape());
  require_inside(kScatter, x.shape(), "x", index.shape(), i);
  require_number(kScatter.name, x.dtype(), value);
  const Tensor ids = require_indices(kScatter.name, index, x, i);
  const Tensor y = scattered(x, i, ids, full({}, value, x.dtype()).expand(ids.shape()));
  return record(kScatter, y, {x}, [i, ids](const Tensor& dy) -> Grads { return scatter(dy, i, ids, 0); });
}

Tensor scatter_add(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source) {
  const int i = normal_axis(kScatterAdd.name, axis, x.shape());
  const Tensor ids = require_index(kScatterAdd, x, i, index, source);
  if (is_narrow_integer(x.dtype())) return scatter_add(x.to(kInt64), i, ids, source.to(kInt64)).to(x.dtype());
  return record(kScatterAdd, increased(x.clone(), i, ids, source), {x, source},
                [i, ids, from = source.shape()](const Tensor& dy) -> Grads {
                  return {dy, of_source(gather(dy, i, ids), from)};
                });
}

Tensor elements_added(const Tensor& dy, const Shape& shape, int axis, const Tensor& ids) {
  const Tensor none = zeros(shape, dy.dtype());
  return needs_grad(dy) ? scatter_add(none, axis, ids, dy) : increased(none, axis, ids, dy);
}

// --- slices of an axis ---

namespace {

Tensor rows_increased(const Tensor& x, int axis, const Tensor& ids, const Tensor& source) {
  if (is_narrow_integer(x.dtype())) return rows_increased(x.to(kInt64), axis, ids, source.to(kInt64)).to(x.dtype());
  const Tensor y = x.clone();
  add_rows(y, axis, ids, source);
  auto backward = [axis, ids](const Tensor& dy) -> Grads { return {dy, take_rows(dy, axis, ids)}; };
  return with_settings(record(kIndexAdd, y, {x, source}, std::move(backward)), "axis", axis, "ids", ids);
}

// x with zeros, or a value, in the slices at `ids`.
Tensor rows_filled(const Tensor& x, int axis, const Tensor& ids, Scalar value) {
  const Tensor chosen = zeros(with_size(Shape::filled(x.dim() - axis, 1), 0, x.shape()[axis]), kBool);
  const int64_t* const id = ids.data<int64_t>();
  for (int64_t k = 0; k < ids.numel(); ++k) chosen.mutable_data<bool>()[id[k]] = true;
  return masked_fill(x, chosen, value);
}

Tensor rows_replaced(const Tensor& x, int axis, const Tensor& ids, const Tensor& source) {
  const Tensor y = x.clone();
  put_rows(y, axis, ids, source);
  return record(kIndexCopy, y, {x, source}, [axis, ids, wants_source = needs_grad(source)](const Tensor& dy) -> Grads {
    const Tensor dx = rows_filled(dy, axis, ids, 0);
    if (!wants_source) return {dx, Tensor()};
    const Tensor dsource = take_rows(dy, axis, ids), lost = overwritten({dy.shape()[axis]}, 0, ids);
    if (!lost.defined()) return {dx, dsource};
    const Shape along = with_size(Shape::filled(dy.dim() - axis, 1), 0, ids.numel());
    return {dx, masked_fill(dsource, lost.reshape(along), 0)};
  });
}

// The source of index_add and index_copy must have the shape of x, except along the axis.
void require_slices(const Op& op, const Tensor& x, int axis, const Tensor& ids, const Tensor& source) {
  require_one_type(op.name, x, "source", source);
  const Shape shape = with_size(x.shape(), axis, ids.numel());
  require(source.shape() == shape, op, "expected a source of shape {} for {} indices along axis {} of {}, got {}",
          shape, ids.numel(), axis, x.shape(), source.shape());
}

}  // namespace

Tensor index_add(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source, Scalar alpha) {
  const int i = normal_axis(kIndexAdd.name, axis, x.shape());
  const Tensor ids = require_index_vector(kIndexAdd.name, index, x, i);
  require_slices(kIndexAdd, x, i, ids, source);
  require_number(kIndexAdd.name, x.dtype(), alpha);
  return rows_increased(x, i, ids, alpha == 1 ? source : (source * alpha).to(x.dtype()));
}

Tensor index_copy(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source) {
  const int i = normal_axis(kIndexCopy.name, axis, x.shape());
  const Tensor ids = require_index_vector(kIndexCopy.name, index, x, i);
  require_slices(kIndexCopy, x, i, ids, source);
  return rows_replaced(x, i, ids, source);
}

Tensor index_fill(const Tensor& x, int64_t axis, const Tensor& index, Scalar value) {
  const int i = normal_axis(kIndexFill, axis, x.shape());
  require_number(kIndexFill, x.dtype(), value);
  return rows_filled(x, i, require_index_vector(kIndexFill, index, x, i), value);
}

Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source) {
  require_bool(kMaskedScatter, mask, "mask");
  require_one_type(kMaskedScatter, x, "source", source);
  const Shape shape = broadcast(kMaskedScatter, x.shape(), mask.shape());
  const Tensor places = mask.expand(shape).reshape({-1});
  const int64_t count = count_nonzero(places).item<int64_t>();
  require(source.numel() >= count, kMaskedScatter,
          "expected a source of at least {} elements, as many as the mask has trues, got {}", count, source.numel());
  const Tensor values = source.reshape({-1}).slice(0, 0, count);
  return index_put(x.expand(shape).reshape({-1}), {places}, values).reshape(shape);
}

Tensor index_put(const Tensor& x, std::span<const Tensor> indices, const Tensor& values, bool accumulate) {
  const Places places = places_of(kIndexPut, x, indices);
  require_one_type(kIndexPut, x, "values", values);
  require(broadcasts_to(values.shape(), places.result), kIndexPut, "expected values that broadcast to {}, got {}",
          places.result, values.shape());
  const Shape rows = with_size(places.merged, places.axis, places.ids.numel());
  const Tensor from = values.expand(places.result).reshape(rows), merged = places.merge(x);
  const Tensor y = accumulate ? rows_increased(merged, places.axis, places.ids, from)
                              : rows_replaced(merged, places.axis, places.ids, from);
  Shape permuted;
  Dims back = places.order;
  for (int i = 0; i < x.dim(); ++i) {
    permuted.push_back(x.shape()[static_cast<int>(places.order[i])]);
    back[static_cast<int>(places.order[i])] = i;
  }
  return y.reshape(permuted).permute(back);
}

Tensor index_put(const Tensor& x, std::initializer_list<Tensor> indices, const Tensor& values, bool accumulate) {
  return index_put(x, std::span<const Tensor>(indices.begin(), indices.size()), values, accumulate);
}

}  // namespace tapegrad
