// Other shapes: joining, cutting, views, repetition, padding, regions.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

namespace tapegrad {

// --- joining and cutting (autograd/ops/shape/join.cpp) ---

/// The parts, one after the other along an axis; the sizes of the other axes must be equal. A part of shape [0] is
/// skipped. Error for no parts.
Tensor cat(std::span<const Tensor> parts, int64_t axis = 0);
Tensor cat(std::initializer_list<Tensor> parts, int64_t axis = 0);
/// The parts along a new axis; their shapes must be equal.
Tensor stack(std::span<const Tensor> parts, int64_t axis = 0);
Tensor stack(std::initializer_list<Tensor> parts, int64_t axis = 0);
/// Views of pieces of `size` elements along an axis, the last one possibly smaller; or of pieces of these sizes,
/// whose sum must be the size of the axis.
std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t axis = 0);
std::vector<Tensor> split(const Tensor& x, const std::vector<int64_t>& sizes, int64_t axis = 0);
/// Views of the slices along an axis, which is removed: x[0], x[1], ... for axis 0; none for an axis of size 0.
std::vector<Tensor> unbind(const Tensor& x, int64_t axis = 0);
/// Views of at most `count` equal pieces, the last one possibly smaller, as in PyTorch.
std::vector<Tensor> chunk(const Tensor& x, int64_t count, int64_t axis = 0);
/// A view of `length` elements along an axis, beginning at `start`, which counts from the end when negative.
Tensor narrow(const Tensor& x, int64_t axis, int64_t start, int64_t length);
/// x with the order of elements reversed along each of `axes` (none: x itself).
Tensor flip(const Tensor& x, const Axes& axes);

// --- shape (autograd/ops/shape/view.cpp, diagonal.cpp, unfold.cpp, repeat.cpp, pad.cpp) ---
// Tensor has further views: reshape, flatten, transpose, permute, slice, select, expand, squeeze, unsqueeze.

/// x expanded to a shape. A view.
inline Tensor broadcast_to(const Tensor& x, const Shape& shape) { return x.expand(shape); }
/// Splits an axis into several of these sizes, whose product is its size; one of them may be -1, to be inferred. A
/// view.
Tensor unflatten(const Tensor& x, int64_t axis, const Shape& sizes);
/// Moves the axes `from` to the positions `to`; the other axes keep their order. A view.
Tensor movedim(const Tensor& x, const Axes& from, const Axes& to);
/// A view of the diagonal of two axes, which are removed; the diagonal becomes the last axis. A positive (negative)
/// offset selects a diagonal above (below) the main one, which may be empty. Error if the axes are the same.
Tensor diagonal(const Tensor& x, int64_t offset = 0, int64_t axis1 = 0, int64_t axis2 = 1);
/// The inverse: zeros, with the last axis of x on a diagonal of two new axes of equal size, axis1 and axis2 of the
/// result.
Tensor diag_embed(const Tensor& x, int64_t offset = 0, int64_t axis1 = -2, int64_t axis2 = -1);
/// x [n] -> diag_embed(x, offset); x [m, n] -> diagonal(x, offset). Error for other shapes.
Tensor diag(const Tensor& x, int64_t offset = 0);
/// Windows of `size` elements along an axis, one every `step` elements, as in torch.Tensor.unfold: the axis has one
/// entry per window, and a new last axis has the elements of the window. A view; windows may overlap. Error if a window
/// is longer than the axis.
Tensor unfold(const Tensor& x, int64_t axis, int64_t size, int64_t step);
/// x repeated counts[i] times along axis i, as in torch.Tensor.repeat; additional leading counts add axes. Error for
/// fewer counts than axes.
Tensor repeat(const Tensor& x, const Dims& counts);
/// The same, but missing leading counts are 1, as in NumPy.
Tensor tile(const Tensor& x, const Dims& counts);
/// Repeats each element along an axis (by default of the flattened tensor) `count` times, or counts[i] times; counts is
/// int64, with one count per element or a single one. Error for negative counts.
Tensor repeat_interleave(const Tensor& x, int64_t count, std::optional<int64_t> axis = {});
Tensor repeat_interleave(const Tensor& x, const Tensor& counts, std::optional<int64_t> axis = {});
/// x shifted by `shift` places along an axis (by default of the flattened tensor); elements that leave at one end enter
/// at the other.
Tensor roll(const Tensor& x, int64_t shift, std::optional<int64_t> axis = {});
/// The same along several axes, with one shift per axis.
Tensor roll(const Tensor& x, const Dims& shifts, const Axes& axes);

/// What the added elements are: a value; the elements next to the edge, in reverse order; the edge; the elements at the
/// other end.
enum class PadMode { constant, reflect, replicate, circular };
/// Adds widths[0] elements before and widths[1] after those of the last axis, the next two widths to the axis before
/// it, and so on: {left, right, top, bottom}. Any number of axes. A negative width removes elements; circular wraps
/// around the remaining ones. Error for an odd number of widths, for a negative resulting size, for a width that is too
/// large for the axis (at most size - 1 for reflect, size for circular; replicate needs one element), and if x is int64
/// and the value is not an integer.
Tensor pad(const Tensor& x, std::span<const int64_t> widths, PadMode mode = PadMode::constant, Scalar value = 0);
Tensor pad(const Tensor& x, std::initializer_list<int64_t> widths, PadMode mode = PadMode::constant, Scalar value = 0);

/// ij: vector i varies along axis i of the grid. xy: the first two axes are exchanged, so that x varies along columns
/// and y along rows.
enum class MeshIndexing { ij, xy };
/// Views of n vectors (a scalar counts as [1]), each expanded to the grid of all of them, which has n axes. Error for
/// no vectors.
std::vector<Tensor> meshgrid(std::span<const Tensor> vectors, MeshIndexing indexing = MeshIndexing::ij);
std::vector<Tensor> meshgrid(std::initializer_list<Tensor> vectors, MeshIndexing indexing = MeshIndexing::ij);

// --- regions (autograd/ops/shape/region.cpp) ---

/// slice(x, {{}, {1, 3}, 2}) is Python's x[:, 1:3, 2]: a view. x(all, range(1, 3), 2) is the same (index.h).
Tensor slice(const Tensor& x, std::span<const Slice> slices);
template <int = 0>  // so that a list of numbers alone takes the next one
Tensor slice(const Tensor& x, std::initializer_list<Slice> slices) {
  return slice(x, std::span<const Slice>(slices.begin(), slices.size()));
}
/// Numbers alone are indices, where a range may be meant.
[[deprecated("x(0, 2) is x[0, 2]; x(range(0, 2)) and slice(x, {{0, 2}}) are x[0:2]")]]  //
Tensor
slice(const Tensor& x, std::initializer_list<Number> indices);
/// A copy of x with that region replaced by `values`, which have x's type and broadcast to the region: x[:, 1:3, 2] =
/// values.
Tensor slice_update(const Tensor& x, std::span<const Slice> slices, const Tensor& values);
Tensor slice_update(const Tensor& x, std::initializer_list<Slice> slices, const Tensor& values);
Tensor slice_update(const Tensor& x, std::span<const Slice> slices, Scalar value);
Tensor slice_update(const Tensor& x, std::initializer_list<Slice> slices, Scalar value);

// --- for the engine ---

/// Copies x to y (contiguous; fresh, or owned by the caller), in row-major order; x broadcasts to y. Both have the same
/// type. Not recorded.
void copy_into(const Tensor& y, const Tensor& x);

}  // namespace tapegrad
