// Shared by operations that read and write by index.
#pragma once

#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/detail/index_text.h>
#include <tapegrad/autograd/gradients.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/parallel.h>

#include <atomic>
#include <span>

namespace tapegrad {

/// The indices, of any integer type, as a contiguous int64 tensor. Error, ending in `what()`, unless all are in
/// [low, size).
Tensor require_indices(std::string_view op, std::string_view called, const Tensor& index, int64_t size, auto what,
                       int64_t low = 0) {
  const Tensor ids = packed(require_integers(op, index, called));
  const int64_t* values = ids.data<int64_t>();
  std::atomic<bool> are_inside = true;
  parallel_for(ids.numel(), 1 << 16, [&](int64_t begin, int64_t end) {
    bool all = true;
    for (int64_t i = begin; i < end; ++i) all &= values[i] >= low && values[i] < size;
    if (!all) are_inside = false;
  });
  for (int64_t i = 0; !are_inside; ++i) {
    if (values[i] >= low && values[i] < size) continue;
    fail(op, "{} at {} of the {} {} is out of range for {}", values[i], index_text(i, index.shape()), called,
         index.shape(), what());
  }
  return ids;
}

/// Indices of one axis of x.
inline Tensor require_indices(std::string_view op, const Tensor& index, const Tensor& x, int axis) {
  return require_indices(op, "indices", index, x.shape()[axis],
                         [&] { return fmt::format("axis {} of {}", axis, str(x.shape())); });
}

/// Indices of one axis of x, as a vector.
Tensor require_index_vector(std::string_view where, const Tensor& index, const Tensor& x, int axis);

/// The index must have the axes of `shape` and must not be longer, except along `free`.
void require_inside(const Op& op, const Shape& shape, std::string_view called, const Shape& index, int free);

/// The slices of x at `ids` (int64 [n], contiguous, in range) along an axis. Recorded as index_select.
Tensor take_rows(const Tensor& x, int axis, const Tensor& ids);

/// Adds the slices of `source` along an axis to those of y (fresh, contiguous) at `ids`, in the order of ids, except to
/// the slice `skipped`. One type. Not recorded.
void add_rows(const Tensor& y, int axis, const Tensor& ids, const Tensor& source, int64_t skipped = -1);
/// The same, but replaces them; the last of several slices for one place remains.
void put_rows(const Tensor& y, int axis, const Tensor& ids, const Tensor& source);

/// The gradient of gather() from the gradient dy of its result: zeros of this shape, to which dy is added at ids, which
/// are in range. Recorded if dy is.
Tensor elements_added(const Tensor& dy, const Shape& shape, int axis, const Tensor& ids);

/// The places x[i, j, ...]: slices of one axis, after the axes of x were permuted and the indexed ones merged.
struct Places {
  Dims order;    // of the axes of x, with the indexed ones adjacent
  int axis = 0;  // the first of them in this order
  Shape merged;  // x in this order, with the indexed axes merged
  Shape result;  // the preceding axes, those of the index, the following axes
  Tensor ids;    // int64 [n]: positions along the merged axis

  /// x in the shape `merged`.
  Tensor merge(const Tensor& x) const { return x.permute(order).reshape(merged); }
};
Places places_of(std::string_view where, const Tensor& x, std::span<const Tensor> indices);

/// The gradient of embedding() from the gradient of its result, dy [n, columns]; ids int64 [n], contiguous and in
/// range. Rows of dy with equal ids are added in their order; the id `skipped` gets no gradient.
RowGradient row_gradient(const Tensor& dy, int64_t rows, const Tensor& ids, int64_t skipped = -1);

}  // namespace tapegrad
