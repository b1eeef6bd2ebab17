// Joining and cutting: cat, stack, split, unbind, chunk, narrow, flip.
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/tape_watch.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops.h>

#include <algorithm>
#include <cstring>

namespace tapegrad {
namespace {

const RuledOp kCat{"cat", RowRule::another_axis};
const SymmetricOp kFlip{"flip"};
constexpr std::string_view kStack = "stack";
constexpr int64_t kMostParts = int64_t{1} << 24;
constexpr std::string_view kSplit = "split";
constexpr std::string_view kUnbind = "unbind";
constexpr std::string_view kChunk = "chunk";
constexpr std::string_view kNarrow = "narrow";

constexpr int64_t kGrainBytes = 1 << 16;  // bytes for one thread to copy at a time

// A part of shape [0] can be joined with any shape, as in PyTorch.
bool is_nothing(const Tensor& part) { return part.dim() == 1 && part.numel() == 0; }

// Error for a number of handles that would only fill the memory.
void require_few(std::string_view where, int64_t pieces) {
  if (pieces > kMostParts) fail(where, "expected at most {} pieces, got {}", kMostParts, pieces);
}

}  // namespace

Tensor cat(std::span<const Tensor> given, int64_t axis) {
  if (given.empty()) kCat.fail("expected at least one tensor, got none");
  const Tensor* model = &given[0];
  DType dtype = kBool;
  for (const Tensor& part : given) {
    if (is_nothing(*model)) model = &part;
    dtype = promoted_type(dtype, part.dtype());
  }
  const int i = normal_axis(kCat.name, axis, model->shape());
  PoolVector<Tensor> parts;
  PoolVector<int64_t> sizes;
  Shape shape = model->shape();
  shape[i] = 0;
  for (const Tensor& part : given) {
    if (is_nothing(part) && model->dim() != 1) continue;
    bool fits = part.dim() == shape.rank();
    for (int k = 0; fits && k < shape.rank(); ++k) fits = k == i || part.shape()[k] == shape[k];
    if (!fits) {
      fail(kCat, "expected shapes that are equal except along axis {}, got {} and {}", i, model->shape(), part.shape());
    }
    shape[i] += part.shape()[i];
    sizes.push_back(part.shape()[i]);
    parts.push_back(part.to(dtype));
  }
  const Tensor y = Tensor::empty(shape, dtype);
  if (y.numel() > 0) {
    const OuterAxisInner whole(shape, i);
    const int64_t outer = whole.outer, inner = whole.inner * item_size(dtype);
    auto* to = static_cast<std::byte*>(y.mutable_raw_data());
    for (const Tensor& part : parts) {
      const int64_t bytes = part.shape()[i] * inner;
      if (bytes == 0) continue;
      const Tensor rows = packed(part);
      const auto* from = static_cast<const std::byte*>(rows.raw_data());
      parallel_for_each(outer, rows_grain(bytes, kGrainBytes), [&](int64_t o) {
        std::memcpy(to + o * shape[i] * inner, from + o * bytes, static_cast<std::size_t>(bytes));
      });
      to += bytes;
    }
  }
  auto backward = [i, sizes = std::move(sizes)](const Tensor& dy, const BackwardPass& pass) -> Grads {
    Grads grads;
    int64_t start = 0;
    for (int64_t size : sizes) {
      grads.push_back(dy.slice(i, start, start + size));
      start += size;
    }
    if (!pass.is_forward()) return grads;
    PoolVector<Tensor> tangents(pass.tangents.begin(), pass.tangents.end());
    for (std::size_t k = 0; k < sizes.size(); ++k)
      if (!tangents[k].defined()) tangents[k] = zeros_like(grads[k]);
    return cat(std::span<const Tensor>(tangents), i);
  };
  return with_settings(record(kCat, y, std::span<const Tensor>(parts), std::move(backward)), "axis", i);
}

Tensor cat(std::initializer_list<Tensor> parts, int64_t axis) {
  return cat(std::span<const Tensor>(parts.begin(), parts.size()), axis);
}

Tensor stack(std::span<const Tensor> parts, int64_t axis) {
  if (parts.empty()) fail(kStack, "expected at least one tensor, got none");
  const int rank = parts[0].dim() + 1;
  if (axis < -rank || axis >= rank) {
    fail(kStack, "axis {} is out of range for {} with a new axis", axis, parts[0].shape());
  }
  PoolVector<Tensor> grown;
  for (const Tensor& part : parts) {
    require(part.shape() == parts[0].shape(), kStack, "expected equal shapes, got {} and {}", parts[0].shape(),
            part.shape());
    grown.push_back(part.unsqueeze(axis));
  }
  return cat(std::span<const Tensor>(grown), axis);
}

Tensor stack(std::initializer_list<Tensor> parts, int64_t axis) {
  return stack(std::span<const Tensor>(parts.begin(), parts.size()), axis);
}

std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t axis) {
  const int i = normal_axis(kSplit, axis, x.shape());
  const int64_t total = x.shape()[i];
  if (size < 1 && total > 0) fail(kSplit, "expected pieces of size 1 or more, got {}", size);
  if (total > 0) require_few(kSplit, (total - 1) / size + 1);
  std::vector<Tensor> pieces;
  for (int64_t start = 0; start < total; start += size) {
    pieces.push_back(x.slice(i, start, std::min(start + size, total)));
  }
  if (total == 0) pieces.push_back(x);
  return pieces;
}

std::vector<Tensor> split(const Tensor& x, const std::vector<int64_t>& sizes, int64_t axis) {
  const int i = normal_axis(kSplit, axis, x.shape());
  int64_t total = 0;
  bool fits = true;
  for (int64_t size : sizes) {
    fits = fits && size >= 0 && size <= x.shape()[i] - total;
    if (fits) total += size;
  }
  if (!fits || total != x.shape()[i]) {
    fail(kSplit, "expected sizes that add up to axis {} of {}, got [{}]", i, x.shape(), fmt::join(sizes, ", "));
  }
  std::vector<Tensor> pieces;
  int64_t start = 0;
  for (int64_t size : sizes) {
    pieces.push_back(x.slice(i, start, start + size));
    start += size;
  }
  return pieces;
}

std::vector<Tensor> unbind(const Tensor& x, int64_t axis) {
  const int i = normal_axis(kUnbind, axis, x.shape());
  require_few(kUnbind, x.shape()[i]);
  std::vector<Tensor> pieces;
  for (int64_t j = 0; j < x.shape()[i]; ++j) pieces.push_back(x.select(i, j));
  return pieces;
}

std::vector<Tensor> chunk(const Tensor& x, int64_t count, int64_t axis) {
  const int i = normal_axis(kChunk, axis, x.shape());
  if (count < 1) fail(kChunk, "expected 1 chunk or more, got {}", count);
  const int64_t total = x.shape()[i], size = total == 0 ? 0 : (total - 1) / count + 1;
  require_few(kChunk, total == 0 ? count : (total - 1) / size + 1);
  return total == 0 ? std::vector<Tensor>(static_cast<std::size_t>(count), x) : split(x, size, i);
}

Tensor narrow(const Tensor& x, int64_t axis, int64_t start, int64_t length) {
  const int i = normal_axis(kNarrow, axis, x.shape());
  const int64_t size = x.shape()[i];
  const int64_t first = start < 0 ? start + size : start;
  require(first >= 0 && length >= 0 && first <= size && length <= size - first, kNarrow,
          "start {} and length {} are out of range for axis {} of {}", start, length, i, x.shape());
  return x.slice(i, first, first + length);
}

Tensor flip(const Tensor& x, const Axes& axes) {
  reduced_shape(kFlip.name, x.shape(), axes, true);  // checks the axes
  if (axes.empty()) return x;
  Tensor y = x.detach();
  for (int64_t axis : axes) y = y.slice(axis, kAll, kAll, -1);
  return record(kFlip, y, {x}, [axes](const Tensor& dy) -> Grads { return flip(dy, axes); });
}

}  // namespace tapegrad
