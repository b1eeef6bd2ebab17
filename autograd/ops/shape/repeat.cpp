// Repetition and rotation: repeat, tile, repeat_interleave, roll, meshgrid.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/lines.h>
#include <tapegrad/autograd/ops/shape/detail/index.h>

#include <algorithm>

namespace tapegrad {
namespace {

const Op kRoll{"roll"};
constexpr std::string_view kRepeat = "repeat";
constexpr std::string_view kRepeatInterleave = "repeat_interleave";
constexpr std::string_view kMeshgrid = "meshgrid";

Tensor repeated(std::string_view where, const Tensor& x, const Dims& counts) {
  Shape shape = x.shape();
  while (shape.rank() < counts.rank()) shape.insert(0, 1);
  for (int64_t count : counts) {
    if (count < 0) fail(where, "expected counts of 0 or more, got {}", counts);
  }
  Tensor y = x.reshape(shape);
  for (int i = shape.rank() - 1; i >= 0; --i) {  // from the last axis, while the tensor is small
    if (counts[i] == 1) continue;
    const OuterAxisInner whole(shape, i);
    const int64_t row = whole.size * whole.inner;
    const Tensor copies = y.reshape({whole.outer, 1, row}).expand({whole.outer, counts[i], row});
    shape[i] = whole.size * counts[i];
    y = copies.reshape(shape);
  }
  return y;
}

// Splits `to` and `from` where the elements of each axis, from `axis` on, wrap around.
void copy_rolled(const Tensor& to, const Tensor& from, const Dims& shifts, int axis) {
  while (axis < shifts.rank() && shifts[axis] == 0) ++axis;
  if (axis == shifts.rank()) return copy_into_view(to, from);
  const int64_t size = to.shape()[axis], shift = shifts[axis];
  copy_rolled(to.slice(axis, shift, size), from.slice(axis, 0, size - shift), shifts, axis + 1);
  copy_rolled(to.slice(axis, 0, shift), from.slice(axis, size - shift, size), shifts, axis + 1);
}

// One shift for each axis, in [0, size).
Tensor rolled(const Tensor& x, const Dims& shifts) {
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  copy_rolled(y, x.detach(), shifts, 0);
  return record(kRoll, y, {x}, [shifts](const Tensor& dy) -> Grads {
    Dims back = shifts;
    for (int i = 0; i < back.rank(); ++i) back[i] = shifts[i] == 0 ? 0 : dy.shape()[i] - shifts[i];
    return rolled(dy, back);
  });
}

}  // namespace

Tensor repeat(const Tensor& x, const Dims& counts) {
  require(counts.rank() >= x.dim(), kRepeat, "expected a count for each axis of {}, got {}", x.shape(), counts);
  return repeated(kRepeat, x, counts);
}

Tensor tile(const Tensor& x, const Dims& counts) {
  Dims all = counts;
  while (all.rank() < x.dim()) all.insert(0, 1);
  return repeated("tile", x, all);
}

Tensor repeat_interleave(const Tensor& x, int64_t count, std::optional<int64_t> axis) {
  if (count < 0) fail(kRepeatInterleave, "expected a count of 0 or more, got {}", count);
  if (!axis) return repeat_interleave(x.reshape({-1}), count, 0);
  Shape shape = x.shape();
  const int i = normal_axis(kRepeatInterleave, *axis, shape);
  const OuterAxisInner whole(shape, i);
  require(whole.size <= 0 || count <= kMaxNumel / whole.size, kRepeatInterleave,
          "expected at most 2^53 elements along axis {}, got {} copies of {}", i, count, whole.size);
  const int64_t rows = whole.outer * whole.size;
  const Tensor copies = x.reshape({rows, 1, whole.inner}).expand({rows, count, whole.inner});
  shape[i] *= count;
  return copies.reshape(shape);
}

Tensor repeat_interleave(const Tensor& x, const Tensor& counts, std::optional<int64_t> axis) {
  if (!axis) return repeat_interleave(x.reshape({-1}), counts, 0);
  const int i = normal_axis(kRepeatInterleave, *axis, x.shape());
  const int64_t size = x.shape()[i];
  if (counts.dim() > 1 || (counts.numel() != size && counts.numel() != 1)) {
    fail(kRepeatInterleave, "expected a count for each element of axis {} of {}, or a single one, got shape {}", i,
         x.shape(), counts.shape());
  }
  const Tensor times =
      require_indices(kRepeatInterleave, "counts", counts, kMaxNumel, [] { return std::string("a number of copies"); });
  const int64_t* const time = times.data<int64_t>();
  if (times.numel() == 1) return repeat_interleave(x, time[0], i);
  int64_t total = 0;
  for (int64_t k = 0; k < size; ++k) total = std::min(total + time[k], kMaxNumel);
  const Tensor ids = Tensor::empty({total}, kInt64);
  int64_t* id = ids.mutable_data<int64_t>();
  for (int64_t k = 0; k < size; ++k) id = std::fill_n(id, time[k], k);
  return take_rows(x, i, ids);
}

Tensor roll(const Tensor& x, int64_t shift, std::optional<int64_t> axis) {
  if (!axis) return roll(x.reshape({-1}), Dims{shift}, Axes(0)).reshape(x.shape());
  return roll(x, Dims{shift}, Axes{*axis});
}

Tensor roll(const Tensor& x, const Dims& shifts, const Axes& axes) {
  require(shifts.rank() == axes.rank(), kRoll, "expected one shift for each axis, got {} and {}", shifts, axes);
  Dims all = Dims::filled(x.dim(), 0);
  for (int k = 0; k < axes.rank(); ++k) {
    const int i = normal_axis(kRoll.name, axes[k], x.shape());
    const int64_t size = x.shape()[i];
    if (size > 0) all[i] = ((all[i] + shifts[k] % size) % size + size) % size;
  }
  return rolled(x, all);
}

std::vector<Tensor> meshgrid(std::span<const Tensor> vectors, MeshIndexing indexing) {
  if (vectors.empty()) fail(kMeshgrid, "expected at least one vector, got none");
  const int rank = static_cast<int>(vectors.size());
  const auto axis_of = [&](int i) { return indexing == MeshIndexing::xy && rank > 1 && i < 2 ? 1 - i : i; };
  Shape grid = Shape::filled(rank, 1);
  for (int i = 0; i < rank; ++i) {
    const Tensor& x = vectors[static_cast<std::size_t>(i)];
    if (x.dim() > 1) fail(kMeshgrid, "expected vectors, got shape {}", x.shape());
    grid[axis_of(i)] = x.numel();
  }
  std::vector<Tensor> grids;
  for (int i = 0; i < rank; ++i) {
    Shape along = Shape::filled(rank, 1);
    const Tensor& x = vectors[static_cast<std::size_t>(i)];
    along[axis_of(i)] = x.numel();
    grids.push_back(x.reshape(along).expand(grid));
  }
  return grids;
}

std::vector<Tensor> meshgrid(std::initializer_list<Tensor> vectors, MeshIndexing indexing) {
  return meshgrid(std::span<const Tensor>(vectors.begin(), vectors.size()), indexing);
}

}  // namespace tapegrad
