// Indexing: index_select, embedding, gather, scatter_add, one_hot.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/index_text.h>
#include <tapegrad/autograd/ops/kernel.h>

#include <algorithm>
#include <cstring>

namespace tapegrad {
namespace {

const Op kIndexSelect{"index_select"};
const Op kEmbedding{"embedding"};
const Op kAddRows{"add_rows"};
const Op kGather{"gather"};
const Op kScatterAdd{"scatter_add"};
constexpr std::string_view kOneHot = "one_hot";  // not recorded, so no Op

constexpr int64_t kColumns = 64;  // columns for one thread to add up at a time

// An int64 tensor, contiguous, whose values are all in [0, size), or an Error that ends in `what()`.
template <class What>
Tensor require_indices(std::string_view op, std::string_view called, const Tensor& index, int64_t size, What what) {
  if (index.dtype() != kInt64) fail(op, fmt::format("expected int64 {}, got {}", called, name(index.dtype())));
  const Tensor ids = packed(index);
  const int64_t* values = ids.data<int64_t>();
  for (int64_t i = 0; i < ids.numel(); ++i) {
    if (values[i] >= 0 && values[i] < size) continue;
    fail(op, fmt::format("{} at {} of the {} {} is out of range for {}", values[i], index_text(i, index.shape()),
                         called, str(index.shape()), what()));
  }
  return ids;
}

// The rows `ids` of the axis, in their order: [outer, size, inner] -> [outer, ids, inner].
void take_rows(const Tensor& x, const OuterAxisInner& around, const Tensor& ids, const Tensor& y) {
  if (y.numel() == 0) return;
  const Tensor rows = packed(x);
  const int64_t count = ids.numel();
  const int64_t bytes = around.inner * item_size(x.dtype());
  const auto* from = static_cast<const std::byte*>(rows.raw_data());
  auto* to = static_cast<std::byte*>(y.mutable_raw_data());
  const int64_t* id = ids.data<int64_t>();
  parallel_for(around.outer * count, rows_grain(around.inner), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / count * around.size + id[i % count];
      std::memcpy(to + i * bytes, from + row * bytes, static_cast<std::size_t>(bytes));
    }
  });
}

// The inverse: adds the rows of dy [outer, ids, inner] to y [outer, size, inner], in the order of ids, except to the
// row `skipped`.
template <class T>
void add_rows(const T* dy, const OuterAxisInner& around, const Tensor& ids, int64_t skipped, T* y) {
  const int64_t count = ids.numel();
  const int64_t* id = ids.data<int64_t>();
  const int64_t width = std::min(around.inner, kColumns);
  const int64_t tiles = (around.inner - 1) / width + 1;
  parallel_for(around.outer * tiles, rows_grain(count * width), [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t o = piece / tiles;
      const int64_t first = piece % tiles * width;
      const int64_t last = std::min(first + width, around.inner);
      for (int64_t i = 0; i < count; ++i) {
        if (id[i] == skipped) continue;
        const T* from = dy + (o * count + i) * around.inner;
        T* to = y + (o * around.size + id[i]) * around.inner;
        for (int64_t j = first; j < last; ++j) to[j] += from[j];
      }
    }
  });
}

// The gradient of take_rows: dy, which has the axis of `ids` in place of `axis`, -> `shape`. Linear, and recorded.
Tensor rows_added(const Tensor& dy, const Shape& shape, int axis, const Tensor& ids, int64_t skipped) {
  const Tensor y = zeros(shape, dy.dtype());
  if (dy.numel() > 0) {
    const Tensor rows = packed(dy);
    with_floating_type(dy.dtype(), [&](auto t) {
      using T = decltype(t);
      add_rows(rows.data<T>(), OuterAxisInner(shape, axis), ids, skipped, y.mutable_data<T>());
    });
  }
  return record(kAddRows, y, {dy}, [ids, axis, skipped, taken = dy.shape()](const Tensor& g) -> Grads {
    const Tensor back = index_select(g, axis, ids);
    if (skipped < 0) return back;
    Shape flags = Shape::filled(taken.rank() - axis, 1);  // one flag per id, over the axes after it
    flags[0] = ids.numel();
    return masked_fill(back, (ids == static_cast<double>(skipped)).reshape(flags), 0);
  });
}

// The lines of `shape` along one axis, numbered over the other axes.
struct AxisLines {
  Shape shape;  // 1 in the axis
  int64_t size;
  int64_t count;
  AxisLines(const Shape& whole, int axis) : shape(whole), size(whole[axis]) {
    shape[axis] = 1;
    count = shape.numel();
  }
  // Where a line starts in a tensor with these strides.
  int64_t start(int64_t line, const Strides& strides) const {
    int64_t offset = 0;
    for (int i = shape.rank() - 1; i >= 0; --i) {
      offset += line % shape[i] * strides[i];
      line /= shape[i];
    }
    return offset;
  }
};

template <class F>
void each_line(const AxisLines& lines, F f) {
  parallel_for(lines.count, rows_grain(lines.size), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) f(line);
  });
}

// The index must have the axes of `shape` and must not be longer, except along `free`.
void require_inside(const Op& op, const Shape& shape, std::string_view called, const Shape& index, int free) {
  bool fits = shape.rank() == index.rank();
  for (int i = 0; fits && i < shape.rank(); ++i) fits = i == free || index[i] <= shape[i];
  if (fits) return;
  op.fail(fmt::format("indices must have as many axes as {} {}, none of them longer, got shape {}", called, str(shape),
                      str(index)));
}

}  // namespace

Tensor index_select(const Tensor& x, int64_t axis, const Tensor& index) {
  const int i = normal_axis(kIndexSelect.name, axis, x.shape());
  if (index.dim() != 1) {
    kIndexSelect.fail(fmt::format("expected indices with one axis, got shape {}", str(index.shape())));
  }
  const int64_t size = x.shape()[i];
  const Tensor ids = require_indices(kIndexSelect.name, "indices", index, size,
                                     [&] { return fmt::format("axis {} of {}", i, str(x.shape())); });
  Shape shape = x.shape();
  shape[i] = ids.numel();
  const Tensor y = Tensor::empty(shape, x.dtype());
  take_rows(x, OuterAxisInner(x.shape(), i), ids, y);
  return record(kIndexSelect, y, {x},
                [shape = x.shape(), i, ids](const Tensor& dy) -> Grads { return rows_added(dy, shape, i, ids, -1); });
}

Tensor embedding(const Tensor& weight, const Tensor& ids, std::optional<int64_t> padding) {
  if (weight.dim() != 2) {
    kEmbedding.fail(fmt::format("expected a weight [rows, columns], got {}", str(weight.shape())));
  }
  const int64_t rows = weight.shape()[0];
  if (padding && (*padding < -rows || *padding >= rows)) {
    kEmbedding.fail(fmt::format("padding row {} is out of range for a table of {} rows", *padding, rows));
  }
  const int64_t skipped = !padding ? -1 : *padding < 0 ? *padding + rows : *padding;
  const Tensor flat = require_indices(kEmbedding.name, "ids", ids, rows, [&] {
                        return fmt::format("a table of {} rows", rows);
                      }).reshape({-1});
  Shape shape = ids.shape();
  shape.push_back(weight.shape()[1]);
  const Tensor y = Tensor::empty(shape, weight.dtype());
  take_rows(weight, OuterAxisInner(weight.shape(), 0), flat, y);
  if (weight.dtype() == kBFloat16) return y.to(kFloat32);
  return record(kEmbedding, y, {weight}, [shape = weight.shape(), flat, skipped](const Tensor& dy) -> Grads {
    return rows_added(dy.reshape({flat.numel(), shape[1]}), shape, 0, flat, skipped);
  });
}

Tensor gather(const Tensor& x, int64_t axis, const Tensor& index) {
  const int i = normal_axis(kGather.name, axis, x.shape());
  require_inside(kGather, x.shape(), "x", index.shape(), i);
  const Tensor ids = require_indices(kGather.name, "indices", index, x.shape()[i],
                                     [&] { return fmt::format("axis {} of {}", i, str(x.shape())); });
  const Tensor y = Tensor::empty(index.shape(), x.dtype());
  with_type(x.dtype(), [&](auto t) {
    using T = decltype(t);
    const T* from = x.data<T>();
    T* to = y.mutable_data<T>();
    const int64_t* id = ids.data<int64_t>();
    const AxisLines lines(index.shape(), i);
    const int64_t step = x.strides()[i];
    each_line(lines, [&](int64_t line) {
      const T* row = from + lines.start(line, x.strides());
      const int64_t at = lines.start(line, ids.strides());
      for (int64_t k = 0; k < lines.size; ++k) {
        const int64_t place = at + k * ids.strides()[i];
        to[place] = row[id[place] * step];
      }
    });
  });
  return record(kGather, y, {x}, [shape = x.shape(), i, ids](const Tensor& dy) -> Grads {
    return scatter_add(zeros(shape, dy.dtype()), i, ids, dy);
  });
}

Tensor scatter_add(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source) {
  const int i = normal_axis(kScatterAdd.name, axis, x.shape());
  require_inside(kScatterAdd, x.shape(), "x", index.shape(), i);
  require_inside(kScatterAdd, source.shape(), "source", index.shape(), -1);
  if (source.dtype() != x.dtype()) {
    kScatterAdd.fail(
        fmt::format("expected x and source of one type, got {} and {}", name(x.dtype()), name(source.dtype())));
  }
  const Tensor ids = require_indices(kScatterAdd.name, "indices", index, x.shape()[i],
                                     [&] { return fmt::format("axis {} of {}", i, str(x.shape())); });
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  copy_into(y, x);
  with_type(x.dtype(), [&](auto t) {
    using T = decltype(t);
    const T* from = source.data<T>();
    T* to = y.mutable_data<T>();
    const int64_t* id = ids.data<int64_t>();
    const AxisLines lines(index.shape(), i);
    each_line(lines, [&](int64_t line) {
      T* row = to + lines.start(line, y.strides());
      const T* values = from + lines.start(line, source.strides());
      const int64_t at = lines.start(line, ids.strides());
      for (int64_t k = 0; k < lines.size; ++k) {  // indices may repeat within a line; different lines never overlap
        T& sum = row[id[at + k * ids.strides()[i]] * y.strides()[i]];
        sum = static_cast<T>(sum + values[k * source.strides()[i]]);
      }
    });
  });
  return record(kScatterAdd, y, {x, source}, [i, ids, from = source.shape()](const Tensor& dy) -> Grads {
    Tensor dsource = gather(dy, i, ids);
    for (int k = 0; k < from.rank(); ++k) {  // elements outside the indices have no gradient
      if (dsource.shape()[k] == from[k]) continue;
      Shape rest = dsource.shape();
      rest[k] = from[k] - rest[k];
      dsource = cat({dsource, zeros(rest, dy.dtype())}, k);
    }
    return {dy, dsource};
  });
}

Tensor one_hot(const Tensor& index, int64_t classes) {
  if (classes < 0) fail(kOneHot, fmt::format("expected 0 classes or more, got {}", classes));
  const Tensor ids =
      require_indices(kOneHot, "indices", index, classes, [&] { return fmt::format("{} classes", classes); });
  Shape shape = index.shape();
  shape.push_back(classes);
  const Tensor y = zeros(shape, kInt64);
  const int64_t* id = ids.data<int64_t>();
  int64_t* to = y.mutable_data<int64_t>();
  for (int64_t i = 0; i < ids.numel(); ++i) to[i * classes + id[i]] = 1;
  return y;
}

}  // namespace tapegrad
