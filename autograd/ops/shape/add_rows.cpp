// Adds and writes slices at indices of one axis: what index_add, gradients of embeddings and the like share.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/lines.h>
#include <tapegrad/autograd/ops/detail/wrapping.h>
#include <tapegrad/autograd/ops/shape/detail/index.h>

#include <algorithm>
#include <vector>

namespace tapegrad {
namespace {

constexpr int64_t kColumns = 64;  // columns for one thread to add up at a time

// f(element of y, value) for the slices of `source` (contiguous), in the order of ids, except for the slice `skipped`.
template <class T, class F>
void write_rows(const Tensor& y, int axis, const Tensor& ids, const Tensor& source, int64_t skipped, F f) {
  if (source.numel() == 0) return;
  const OuterAxisInner around(y.shape(), axis);
  const int64_t count = ids.numel();
  const int64_t* const id = ids.data<int64_t>();
  const int64_t width = std::min(around.inner, kColumns);
  const int64_t tiles = pieces_of(around.inner, width);
  const T* const in = static_cast<const T*>(source.raw_data());
  T* const out = static_cast<T*>(y.mutable_raw_data());
  parallel_for(around.outer * tiles, rows_grain(count * width), [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t o = piece / tiles;
      const int64_t first = piece % tiles * width;
      const int64_t last = std::min(first + width, around.inner);
      for (int64_t i = 0; i < count; ++i) {
        if (id[i] == skipped) continue;
        const T* from = in + (o * count + i) * around.inner;
        T* to = out + (o * around.size + id[i]) * around.inner;
        for (int64_t j = first; j < last; ++j) f(to[j], from[j]);
      }
    }
  });
}

void add_rows_in_order(const Tensor& y, int axis, const Tensor& ids, const Tensor& source, int64_t skipped) {
  with_type(y.dtype(), [&](auto t) {
    using T = decltype(t);
    const auto add = [](T& sum, T value) { sum = wrapping_sum(sum, value); };
    write_rows<T>(y, axis, ids, packed(source), skipped, add);
  });
}

// The sums of more than kAddedInOrder slices of one index: those of further blocks are made separately.
struct FurtherBlocks {
  FurtherBlocks(const Tensor& ids, int64_t size, int64_t skipped)
      : first(ids.clone()), others(full(ids.shape(), -1, kInt64)) {
    std::vector<int64_t> seen(static_cast<std::size_t>(size)), block(seen);
    int64_t *const id = first.mutable_data<int64_t>(), *const place = others.mutable_data<int64_t>();
    for (int64_t i = 0; i < ids.numel(); ++i) {
      if (id[i] == skipped) id[i] = -1;
      if (id[i] < 0) continue;
      const auto at = static_cast<std::size_t>(id[i]);
      const int64_t before = seen[at]++;
      if (before < kAddedInOrder) continue;
      if (before % kAddedInOrder == 0) {
        block[at] = std::ssize(indices);
        indices.push_back(id[i]);
      }
      place[i] = block[at];
      id[i] = -1;
    }
  }

  std::vector<int64_t> indices;  // of each block
  Tensor first, others;          // the index of each slice, or its block; -1: neither
};

}  // namespace

void add_rows(const Tensor& y, int axis, const Tensor& ids, const Tensor& source, int64_t skipped) {
  if (is_floating(y.dtype()) && ids.numel() > kAddedInOrder) {
    const FurtherBlocks blocks(ids, y.size(axis), skipped);
    if (const auto count = std::ssize(blocks.indices); count > 0) {
      Shape shape = y.shape();
      shape[axis] = count;
      const Tensor sums = zeros(shape, y.dtype());
      add_rows_in_order(sums, axis, blocks.others, source, -1);
      add_rows_in_order(y, axis, blocks.first, source, -1);
      return add_rows_in_order(y, axis, tensor(blocks.indices, {count}), sums, -1);
    }
  }
  add_rows_in_order(y, axis, ids, source, skipped);
}

void put_rows(const Tensor& y, int axis, const Tensor& ids, const Tensor& source) {
  with_type_of_size(y.dtype(), [&](auto t) {
    using T = decltype(t);
    write_rows<T>(y, axis, ids, packed(source), -1, [](T& place, T value) { place = value; });
  });
}

}  // namespace tapegrad
