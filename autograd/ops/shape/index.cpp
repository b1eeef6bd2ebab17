// Reading by index: index_select, embedding, gather, take_along_axis, index, masked_select, nonzero, one_hot.
#include <tapegrad/autograd/internal/tape_watch.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/lines.h>
#include <tapegrad/autograd/ops/detail/shapes.h>
#include <tapegrad/autograd/ops/detail/wrapping.h>
#include <tapegrad/autograd/ops/shape/detail/index.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace tapegrad {
namespace {

const Op kIndexSelect{"index_select"};
const Op kEmbedding{"embedding", {.rows = RowRule::weights}};
const Op kAddRows{"add_rows"};
const Op kGather{"gather"};
constexpr std::string_view kTakeAlongAxis = "take_along_axis";
constexpr std::string_view kMaskedSelect = "masked_select";
constexpr std::string_view kOneHot = "one_hot";

constexpr int64_t kColumns = 64;   // columns for one thread to add up at a time
constexpr int64_t kFlags = 65536;  // elements of a mask for one thread to scan

// The rows `ids` of the axis, in their order: [outer, size, inner] -> [outer, ids, inner].
void copy_rows(const Tensor& x, const OuterAxisInner& around, const Tensor& ids, const Tensor& y) {
  if (y.numel() == 0) return;
  const Tensor rows = packed(x);
  const int64_t count = ids.numel();
  const int64_t* id = ids.data<int64_t>();
  const auto copy = [&](const auto* from, auto* to, int64_t width) {
    parallel_for(around.outer * count, rows_grain(around.inner), [&](int64_t begin, int64_t end) {
      int64_t k = begin % count, start = begin / count * around.size;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = start + id[k];
        if (++k == count) k = 0, start += around.size;
        if (width == 1) {
          to[i] = from[row];
        } else {
          std::memcpy(to + i * width, from + row * width, static_cast<std::size_t>(width) * sizeof(*to));
        }
      }
    });
  };
  const int64_t item = item_size(x.dtype());
  if (around.inner == 1 && item == 4) {
    copy(static_cast<const uint32_t*>(rows.raw_data()), static_cast<uint32_t*>(y.mutable_raw_data()), 1);
  } else if (around.inner == 1 && item == 8) {
    copy(static_cast<const uint64_t*>(rows.raw_data()), static_cast<uint64_t*>(y.mutable_raw_data()), 1);
  } else {
    copy(static_cast<const std::byte*>(rows.raw_data()), static_cast<std::byte*>(y.mutable_raw_data()),
         around.inner * item);
  }
}

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

// The gradient of take_rows: dy, which has the axis of `ids` in place of `axis`, -> `shape`. Linear, and recorded.
Tensor rows_added(const Tensor& dy, const Shape& shape, int axis, const Tensor& ids, int64_t skipped) {
  const Tensor y = zeros(shape, dy.dtype());
  add_rows(y, axis, ids, dy, skipped);
  return record(kAddRows, y, {dy}, [ids, axis, skipped, taken = dy.shape()](const Tensor& g) -> Grads {
    const Tensor back = take_rows(g, axis, ids);
    if (skipped < 0) return back;
    Shape flags = Shape::filled(taken.rank() - axis, 1);  // one flag per id, over the axes after it
    flags[0] = ids.numel();
    return masked_fill(back, (ids == skipped).reshape(flags), 0);
  });
}

// rows_added to the table [rows, columns] of each of `examples` examples, which have equally many of the ids, in order.
Tensor rows_added_by_example(const Tensor& dy, const Shape& table, const Tensor& ids, int64_t skipped,
                             int64_t examples) {
  const Tensor first_rows = arange(examples).reshape({examples, 1}) * table[0];
  const Tensor places = ids.reshape({examples, ids.numel() / examples}) + first_rows.to(kInt64);
  const Tensor rows = skipped < 0 ? dy : masked_fill(dy, (ids == skipped).unsqueeze(1), 0);
  const Tensor y = zeros({examples * table[0], table[1]}, dy.dtype());
  add_rows(y, 0, places.reshape({ids.numel()}), rows, -1);
  return y.reshape({examples, table[0], table[1]});
}

// int64 [n]: the positions of the true elements in row-major order.
Tensor true_positions(const Tensor& mask) {
  const Tensor flags = packed(mask);
  const bool* const flag = flags.data<bool>();
  const int64_t n = flags.numel();
  const Tensor starts = zeros({n / kFlags + 2}, kInt64);  // of each piece in the result
  int64_t* const start = starts.mutable_data<int64_t>();
  parallel_for(n, kFlags, [&](int64_t begin, int64_t end) {
    start[begin / kFlags + 1] = std::count(flag + begin, flag + end, true);
  });
  for (int64_t i = 1; i < starts.numel(); ++i) start[i] += start[i - 1];
  const Tensor places = Tensor::empty({start[starts.numel() - 1]}, kInt64);
  int64_t* const place = places.mutable_data<int64_t>();
  parallel_for(n, kFlags, [&](int64_t begin, int64_t) {
    int64_t* to = place + start[begin / kFlags];
    const int64_t* const last = place + start[begin / kFlags + 1];
    for (int64_t i = begin; to < last; ++i) {  // without a branch that a processor would have to guess
      *to = i;
      to += flag[i];
    }
  });
  return places;
}

// The index of each of the ascending positions along each axis of `shape`: y[i * step + axis * axis_step].
void unravel(const Tensor& places, const Shape& shape, const Tensor& y, int64_t step, int64_t axis_step) {
  const int last = shape.rank() - 1;
  if (last < 0) return;
  const int64_t* const place = places.data<int64_t>();
  int64_t* const out = y.mutable_data<int64_t>();
  const int64_t row = shape.back();
  parallel_for(places.numel(), kFlags, [&](int64_t begin, int64_t end) {
    int64_t index[kMaxRank] = {};
    int64_t row_start = -row;  // of the line along the last axis that the position is in
    for (int64_t i = begin; i < end; ++i) {
      if (place[i] >= row_start + row) {
        int64_t left = place[i] / row;
        row_start = left * row;
        for (int axis = last - 1; axis >= 0; --axis) {
          index[axis] = left % shape[axis];
          left /= shape[axis];
        }
      }
      index[last] = place[i] - row_start;
      for (int axis = 0; axis <= last; ++axis) out[i * step + axis * axis_step] = index[axis];
    }
  });
}

}  // namespace

// --- rows of an axis ---

Tensor require_index_vector(std::string_view where, const Tensor& index, const Tensor& x, int axis) {
  if (index.dim() != 1) fail(where, "expected indices with one axis, got shape {}", index.shape());
  return require_indices(where, index, x, axis);
}

void require_inside(const Op& op, const Shape& shape, std::string_view called, const Shape& index, int free) {
  bool fits = shape.rank() == index.rank();
  for (int i = 0; fits && i < shape.rank(); ++i) fits = i == free || index[i] <= shape[i];
  require(fits, op, "expected indices with as many axes as {} {}, none of them longer, got shape {}", called, shape,
          index);
}

Tensor take_rows(const Tensor& x, int axis, const Tensor& ids) {
  const Tensor y = Tensor::empty(with_size(x.shape(), axis, ids.numel()), x.dtype());
  copy_rows(x, OuterAxisInner(x.shape(), axis), ids, y);
  auto backward = [shape = x.shape(), axis, ids](const Tensor& dy) -> Grads {
    return rows_added(dy, shape, axis, ids, -1);
  };
  return with_settings(record(kIndexSelect, y, {x}, std::move(backward)), "axis", axis, "ids", ids);
}

void add_rows(const Tensor& y, int axis, const Tensor& ids, const Tensor& source, int64_t skipped) {
  with_type(y.dtype(), [&]<class T>(T) {
    const auto add = [](T& sum, T value) { sum = wrapping_sum(sum, value); };
    write_rows<T>(y, axis, ids, packed(source), skipped, add);
  });
}

void put_rows(const Tensor& y, int axis, const Tensor& ids, const Tensor& source) {
  with_type_of_size(y.dtype(), [&]<class T>(T) {
    write_rows<T>(y, axis, ids, packed(source), -1, [](T& place, T value) { place = value; });
  });
}

Tensor index_select(const Tensor& x, int64_t axis, const Tensor& index) {
  const int i = normal_axis(kIndexSelect.name, axis, x.shape());
  return take_rows(x, i, require_index_vector(kIndexSelect.name, index, x, i));
}

Tensor embedding(const Tensor& weight, const Tensor& ids, std::optional<int64_t> padding, Flag sparse) {
  require(weight.dim() == 2, kEmbedding, "expected a weight [rows, columns], got {}", weight.shape());
  const int64_t rows = weight.shape()[0];
  if (padding && (*padding < -rows || *padding >= rows)) {
    fail(kEmbedding, "padding row {} is out of range for a table of {} rows", *padding, rows);
  }
  const int64_t skipped = !padding ? -1 : *padding < 0 ? *padding + rows : *padding;
  const Tensor flat = require_indices(kEmbedding.name, "ids", ids, rows, [&] {
                        return fmt::format("a table of {} rows", rows);
                      }).reshape({-1});
  const Tensor y = Tensor::empty(with_axes(ids.shape(), {weight.shape()[1]}), weight.dtype());
  copy_rows(weight, OuterAxisInner(weight.shape(), 0), flat, y);
  if (is_half(weight.dtype())) return y.to(kFloat32);
  auto backward = [shape = weight.shape(), flat, skipped, sparse](const Tensor& dy, const BackwardPass& pass) -> Grads {
    const Tensor rows = dy.reshape({flat.numel(), shape[1]});
    if (pass.examples > 0 && dy.dim() > 1 && dy.size(0) % pass.examples == 0) {
      return rows_added_by_example(rows, shape, flat, skipped, pass.examples);
    }
    Tensor* const sum = pass.gradient_so_far(0);
    if (!sum && !(sparse && pass.rows)) return rows_added(rows, shape, 0, flat, skipped);
    // Rows of one id are added first, which gives the same bits.
    RowGradient found = row_gradient(rows, shape[0], flat, skipped);
    if (sum) {
      found.add_to(*sum);  // the table of a tied model, whose output layer has made the sum
    } else {
      *pass.rows = std::move(found);
    }
    return Tensor();
  };
  return with_settings(record(kEmbedding, y, {weight}, std::move(backward)), "ids", ids, "padding", skipped);
}

// --- elements along an axis ---

Tensor gather(const Tensor& x, int64_t axis, const Tensor& index) {
  const int i = normal_axis(kGather.name, axis, x.shape());
  require_inside(kGather, x.shape(), "x", index.shape(), i);
  const Tensor ids = require_indices(kGather.name, index, x, i);
  const Tensor y = Tensor::empty(index.shape(), x.dtype());
  with_type_of_size(x.dtype(), [&]<class T>(T) {
    const T* from = static_cast<const T*>(x.raw_data());
    T* to = static_cast<T*>(y.mutable_raw_data());
    const int64_t* id = ids.data<int64_t>();
    const AxisLines lines(index.shape(), i);
    const int64_t step = x.strides()[i], next = x.strides()[-1], id_step = ids.strides()[i];
    if (i == x.dim() - 1 && x.is_contiguous() &&
        x.numel() == lines.count * x.size(i)) {  // rows of rows, without divisions
      parallel_for_each(lines.count, rows_grain(lines.size), [&, n = x.size(i)](int64_t line) {
        const int64_t at = line * lines.size;
        for (int64_t k = at; k < at + lines.size; ++k) to[k] = from[line * n + id[k]];
      });
      return;
    }
    each_group(lines, [&](int64_t line, int64_t count) {
      const T* row = from + lines.start(line, x.strides());
      int64_t at = lines.start(line, ids.strides());
      for (int64_t k = 0; k < lines.size; ++k) {
        for (int64_t j = 0; j < count; ++j) to[at + j] = row[j * next + id[at + j] * step];
        at += id_step;
      }
    });
  });
  auto backward = [shape = x.shape(), i, ids](const Tensor& dy) -> Grads { return elements_added(dy, shape, i, ids); };
  return with_settings(record(kGather, y, {x}, std::move(backward)), "axis", i, "ids", index);
}

Tensor take_along_axis(const Tensor& x, const Tensor& index, std::optional<int64_t> axis) {
  if (!axis) return take_along_axis(x.reshape({-1}), index.reshape({-1}), 0);
  require(x.dim() == index.dim(), kTakeAlongAxis, "expected indices with the {} axes of x {}, got shape {}", x.dim(),
          x.shape(), index.shape());
  const int i = normal_axis(kTakeAlongAxis, *axis, x.shape());
  const int64_t size = x.shape()[i];
  const auto what = [&] { return fmt::format("axis {} of {}", i, str(x.shape())); };
  Tensor ids = require_indices(kTakeAlongAxis, "indices", index, size, what, -size);
  if (const Tensor negative = ids < 0; any(negative)) ids = where(negative, ids + size, ids);
  Shape from = x.shape(), to = index.shape();
  from[i] = to[i] = 1;
  const Shape both = broadcast(kTakeAlongAxis, from, to);
  from = to = both;
  from[i] = x.shape()[i];
  to[i] = index.shape()[i];
  return gather(x.expand(from), i, ids.expand(to));
}

// --- x[i, j, ...] ---

namespace {

// The index tensors by axis, checked: a mask gives one per axis, a whole axis an empty handle.
std::vector<Tensor, pool::Allocator<Tensor>> by_axis(std::string_view where, const Tensor& x,
                                                     std::span<const Tensor> indices) {
  std::vector<Tensor, pool::Allocator<Tensor>> all;
  for (const Tensor& given : indices) {
    const int axis = static_cast<int>(all.size());
    const bool is_mask = given.defined() && given.dtype() == kBool;
    if (is_mask && given.dim() == 0) fail(where, "expected a mask with one axis or more, got a scalar");
    if (axis + (is_mask ? given.dim() : 1) > x.dim()) {
      fail(where, "expected indices of at most the {} axes of {}, got more", x.dim(), x.shape());
    }
    if (!given.defined()) {
      all.emplace_back();
    } else if (given.dtype() == kUInt8) {  // PyTorch has taken it for a mask, NumPy takes it for positions
      fail(where, "expected int64 or int32 indices, or a bool mask, got uint8 (convert with to(kInt64) or to(kBool))");
    } else if (!is_mask) {
      const int64_t size = x.shape()[axis];
      const auto what = [&] { return fmt::format("axis {} of {}", axis, str(x.shape())); };
      all.push_back(require_indices(where, "indices", given.detach(), size, what, -size));
    } else {
      for (int k = 0; k < given.dim(); ++k) {
        if (given.shape()[k] == x.shape()[axis + k]) continue;
        fail(where, "expected a mask with the sizes of {} from axis {} on, got shape {}", x.shape(), axis,
             given.shape());
      }
      const Tensor places = true_positions(given), found = Tensor::empty({given.dim(), places.numel()}, kInt64);
      unravel(places, given.shape(), found, 1, places.numel());
      for (int k = 0; k < given.dim(); ++k) all.push_back(found[k]);
    }
  }
  all.resize(static_cast<std::size_t>(x.dim()));
  return all;
}

}  // namespace

Places places_of(std::string_view where, const Tensor& x, std::span<const Tensor> indices) {
  const auto ids = by_axis(where, x, indices);
  const auto indexed = [&](int i) { return ids[static_cast<std::size_t>(i)].defined(); };
  int first = -1, last = -1;
  bool side_by_side = true;
  Shape shape;  // of the index
  for (int i = 0; i < x.dim(); ++i) {
    if (!indexed(i)) continue;
    side_by_side = side_by_side && (first < 0 || last == i - 1);
    shape = broadcast(where, shape, ids[static_cast<std::size_t>(i)].shape());
    first = first < 0 ? i : first;
    last = i;
  }
  if (first < 0) fail(where, "expected at least one index tensor, got none");

  Places places;
  places.axis = side_by_side ? first : 0;
  places.ids = zeros({shape.numel()}, kInt64);
  int64_t* const id = places.ids.mutable_data<int64_t>();
  int64_t merged = 1;
  for (int i = 0; i < places.axis; ++i) places.order.push_back(i);
  for (int i = 0; i < x.dim(); ++i) {
    if (!indexed(i)) continue;
    places.order.push_back(i);
    const int64_t size = x.shape()[i];
    merged *= size;
    const Tensor along = packed(ids[static_cast<std::size_t>(i)].expand(shape));
    const int64_t* const at = along.data<int64_t>();
    for (int64_t k = 0; k < along.numel(); ++k) id[k] = id[k] * size + (at[k] < 0 ? at[k] + size : at[k]);
  }
  for (int i = places.axis; i < x.dim(); ++i) {
    if (!indexed(i)) places.order.push_back(i);
  }
  for (int i = 0; i < places.axis; ++i) places.merged.push_back(x.shape()[i]);
  places.result = places.merged;
  places.merged.push_back(merged);
  for (int64_t size : shape) places.result.push_back(size);
  for (int i = places.axis; i < x.dim(); ++i) {
    if (indexed(i)) continue;
    places.merged.push_back(x.shape()[i]);
    places.result.push_back(x.shape()[i]);
  }
  return places;
}

Tensor index(const Tensor& x, std::span<const Tensor> indices) {
  const Places places = places_of("index", x, indices);
  return take_rows(places.merge(x), places.axis, places.ids).reshape(places.result);
}

Tensor index(const Tensor& x, std::initializer_list<Tensor> indices) {
  return index(x, std::span<const Tensor>(indices.begin(), indices.size()));
}

// --- masks ---

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  require_bool(kMaskedSelect, mask, "mask");
  const Shape shape = broadcast(kMaskedSelect, x.shape(), mask.shape());
  return take_rows(x.expand(shape).reshape({-1}), 0, true_positions(mask.expand(shape)));
}

Tensor nonzero(const Tensor& x) {
  const Tensor flags = x.dtype() == kBool ? x.detach() : ne(x, 0);
  const Tensor places = true_positions(flags), y = Tensor::empty({places.numel(), x.dim()}, kInt64);
  unravel(places, x.shape(), y, x.dim(), 1);
  return y;
}

Tensor one_hot(const Tensor& index, int64_t classes) {
  if (classes < 0) fail(kOneHot, "expected 0 classes or more, got {}", classes);
  const Tensor ids =
      require_indices(kOneHot, "indices", index, classes, [&] { return fmt::format("{} classes", classes); });
  const Tensor y = zeros(with_axes(index.shape(), {classes}), kInt64);
  const int64_t* id = ids.data<int64_t>();
  int64_t* to = y.mutable_data<int64_t>();
  for (int64_t i = 0; i < ids.numel(); ++i) to[i * classes + id[i]] = 1;
  return y;
}

}  // namespace tapegrad
