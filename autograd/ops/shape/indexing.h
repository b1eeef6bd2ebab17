// Reading and writing by index.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <initializer_list>
#include <optional>
#include <span>

namespace tapegrad {

// --- reading by index (autograd/ops/shape/index.cpp): int64 indices; Error for an index out of range, with its value
// and position ---

/// The slices of x at index [n] along an axis, whose size becomes n.
Tensor index_select(const Tensor& x, int64_t axis, const Tensor& index);
/// y[i][j] = x[index[i][j]][j] for axis 0, in the shape of index, as in torch.gather. Error if another axis of index is
/// longer than that of x.
Tensor gather(const Tensor& x, int64_t axis, const Tensor& index);
/// gather, with x and index broadcast along all other axes, as in torch.take_along_dim. Negative indices count from the
/// end. Without an axis, x and index are flattened.
Tensor take_along_axis(const Tensor& x, const Tensor& index, std::optional<int64_t> axis = {});
/// x[i, j, ...], as in NumPy: y[b] = x[i[b]][j[b]]... for index tensors of the leading axes, which broadcast to each
/// other -> [their shape, remaining axes of x]. Negative indices count from the end. A bool tensor indexes as many axes
/// as it has, at its true positions. An empty handle takes the whole axis. The axes of the index replace the indexed
/// axes, but come first if whole axes lie between them.
Tensor index(const Tensor& x, std::span<const Tensor> indices);
Tensor index(const Tensor& x, std::initializer_list<Tensor> indices);
/// The elements of x where the bool mask is true, [n], in row-major order; x and mask broadcast.
Tensor masked_select(const Tensor& x, const Tensor& mask);
/// The indices of the elements that are not zero, int64 [n, axes], in row-major order; NaN is not zero. No gradient.
Tensor nonzero(const Tensor& x);
/// int64 [...] -> int64 [..., classes]: 1 at each index and 0 elsewhere. No gradient.
Tensor one_hot(const Tensor& index, int64_t classes);
/// weight [V, C], ids int64 [...] -> the rows of weight, [..., C]; the row `padding` gets no gradient. A bfloat16 or
/// float16 weight gives float32 rows. With `sparse`, the gradient of a leaf is a RowGradient, unless another operation
/// also uses the leaf, backward is recorded, or it computes gradients per example.
Tensor embedding(const Tensor& weight, const Tensor& ids, std::optional<int64_t> padding = {}, Flag sparse = false);

// --- writing by index (autograd/ops/shape/scatter.cpp): copies of x with some elements replaced or increased ---
// x and source have the same type. If several values are written to one place, the last in row-major order is kept, and
// only it gets a gradient; sums are added in that order. Indices as for reading.

/// x with source[i][j] at [index[i][j]][j] for axis 0, as in torch.scatter. Error if an axis of index is longer than
/// that of source, or than that of x, except `axis` in x.
Tensor scatter(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);
Tensor scatter(const Tensor& x, int64_t axis, const Tensor& index, Scalar value);
/// The same, but adds to the elements of x, as in torch.scatter_add.
Tensor scatter_add(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);
/// x with alpha times slice i of source added to slice index[i] along an axis. index is [n]; source has x's shape, with
/// size n along the axis.
Tensor index_add(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source, Scalar alpha = 1);
/// x with slice index[i] along an axis replaced by slice i of source.
Tensor index_copy(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);
/// x with the slices at index [n] along an axis filled with a value.
Tensor index_fill(const Tensor& x, int64_t axis, const Tensor& index, Scalar value);
/// x where the bool mask is false, and the first elements of source, in row-major order, where it is true; x and mask
/// broadcast. Error if source has fewer elements than the mask has trues.
Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source);
/// x[i, j, ...] = values, or += with `accumulate`: `indices` as in index(); values broadcast to the shape of its
/// result.
Tensor index_put(const Tensor& x, std::span<const Tensor> indices, const Tensor& values, bool accumulate = false);
Tensor index_put(const Tensor& x, std::initializer_list<Tensor> indices, const Tensor& values, bool accumulate = false);

}  // namespace tapegrad
