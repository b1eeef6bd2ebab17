// Diagonals: diagonal, diag_embed, diag.
// build: -Os
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/lines.h>

#include <algorithm>

namespace tapegrad {
namespace {

const Op kDiagonal{"diagonal"};
const Op kDiagEmbed{"diag_embed"};

// Two different axes, checked.
std::pair<int, int> two_axes(const Op& op, int64_t a, int64_t b, const Shape& shape) {
  const int i = normal_axis(op.name, a, shape), j = normal_axis(op.name, b, shape);
  if (i == j) fail(op, "expected two different axes of {}, got {} and {}", shape, a, b);
  return {i, j};
}

// The diagonal of axes i and j as the last axis; not recorded.
Tensor diagonal_view(const Tensor& x, int64_t offset, int i, int j) {
  const int64_t rows = x.shape()[i], columns = x.shape()[j];
  const int64_t first = std::clamp(offset, -rows, columns);
  const int64_t length = first >= 0 ? std::min(rows, columns - first) : std::min(rows + first, columns);
  const int64_t start = first >= 0 ? first * x.strides()[j] : -first * x.strides()[i];
  Shape shape = x.shape();
  Strides strides = x.strides();
  for (int axis : {std::max(i, j), std::min(i, j)}) {
    shape.erase(axis);
    strides.erase(axis);
  }
  shape.push_back(length);
  strides.push_back(x.strides()[i] + x.strides()[j]);
  return x.view(shape, strides, shape.numel() == 0 ? 0 : start);
}

// Zeros of `shape` with x on the diagonal of axes i and j.
Tensor on_diagonal(const Tensor& x, const Shape& shape, int64_t offset, int i, int j) {
  const Tensor y = zeros(shape, x.dtype());
  copy_into_view(diagonal_view(y, offset, i, j), x);
  return record(kDiagEmbed, y, {x}, [offset, i, j](const Tensor& dy) -> Grads { return diagonal(dy, offset, i, j); });
}

}  // namespace

Tensor diagonal(const Tensor& x, int64_t offset, int64_t axis1, int64_t axis2) {
  const auto axes = two_axes(kDiagonal, axis1, axis2, x.shape());
  const int i = axes.first, j = axes.second;
  return record(
      kDiagonal, diagonal_view(x, offset, i, j), {x},
      [shape = x.shape(), offset, i, j](const Tensor& dy) -> Grads { return on_diagonal(dy, shape, offset, i, j); });
}

Tensor diag_embed(const Tensor& x, int64_t offset, int64_t axis1, int64_t axis2) {
  if (x.dim() == 0) kDiagEmbed.fail("expected one axis or more, got a scalar");
  Shape shape = x.shape();
  shape.push_back(1);  // for its rank
  const auto axes = two_axes(kDiagEmbed, axis1, axis2, shape);
  const int i = axes.first, j = axes.second;
  const int64_t size = x.shape().back() + std::abs(std::clamp(offset, -kMaxNumel, kMaxNumel));
  shape = x.shape();
  shape.erase(x.dim() - 1);
  for (int axis : {std::min(i, j), std::max(i, j)}) shape.insert(axis, size);
  return on_diagonal(x, shape, offset, i, j);
}

Tensor diag(const Tensor& x, int64_t offset) {
  if (x.dim() == 1) return diag_embed(x, offset);
  if (x.dim() != 2) fail("diag", "expected one or two axes, got shape {}", x.shape());
  return diagonal(x, offset);
}

}  // namespace tapegrad
