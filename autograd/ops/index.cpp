// Indexing: index_select, embedding, gather, scatter_add, one_hot.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/index_text.h>
#include <tapegrad/autograd/ops/map.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/tape.h>

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

constexpr int64_t kGrain = 16384;  // elements a thread takes at least
constexpr int64_t kColumns = 64;   // columns that a thread adds up at a time

// Values of an int64 tensor, side by side, all in [0, size) or an Error that ends in `what()`.
template <class What>
Tensor checked(std::string_view op, std::string_view called, const Tensor& index, int64_t size, What what) {
  if (index.dtype() != kInt64) fail(op, fmt::format("the {} are {}, int64 is needed", called, name(index.dtype())));
  const Tensor packed = index.detach().contiguous();
  const int64_t* values = packed.data<int64_t>();
  for (int64_t i = 0; i < packed.numel(); ++i) {
    if (values[i] >= 0 && values[i] < size) continue;
    fail(op, fmt::format("{} at {} of the {} {} is out of range: {}", values[i], index_text(i, index.shape()), called,
                         str(index.shape()), what()));
  }
  return packed;
}

// x as [outer, size, inner] around one axis.
struct Around {
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner = 1;
  Around(const Shape& shape, int axis) : size(shape[axis]) {
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  }
};

// Rows ids of the axis, one after another: [outer, size, inner] -> [outer, ids, inner].
void take_rows(const Tensor& x, const Around& around, const Tensor& ids, const Tensor& y) {
  if (y.numel() == 0) return;
  const Tensor packed = x.detach().contiguous();
  const int64_t count = ids.numel();
  const int64_t bytes = around.inner * item_size(x.dtype());
  const auto* from = static_cast<const std::byte*>(packed.raw_data());
  auto* to = static_cast<std::byte*>(y.mutable_raw_data());
  const int64_t* id = ids.data<int64_t>();
  parallel_for(around.outer * count, std::max<int64_t>(1, kGrain / around.inner), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / count * around.size + id[i % count];
      std::memcpy(to + i * bytes, from + row * bytes, static_cast<std::size_t>(bytes));
    }
  });
}

// The inverse: adds rows of dy [outer, ids, inner] to y [outer, size, inner], in the order of ids; `skipped` gets
// nothing.
template <class T>
void add_rows(const T* dy, const Around& around, const Tensor& ids, int64_t skipped, T* y) {
  const int64_t count = ids.numel();
  const int64_t* id = ids.data<int64_t>();
  const int64_t width = std::min(around.inner, kColumns);
  const int64_t tiles = (around.inner - 1) / width + 1;
  const int64_t work = std::max<int64_t>(1, count * width);
  parallel_for(around.outer * tiles, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
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

// Gradient of take_rows: dy with the axis of `ids` in place of `axis` -> `shape`. Linear, and recorded.
Tensor rows_added(const Tensor& dy, const Shape& shape, int axis, const Tensor& ids, int64_t skipped) {
  const Tensor y = zeros(shape, dy.dtype());
  if (dy.numel() > 0) {
    const Tensor packed = dy.detach().contiguous();
    with_floating_type(dy.dtype(), [&](auto t) {
      using T = decltype(t);
      add_rows(packed.data<T>(), Around(shape, axis), ids, skipped, y.mutable_data<T>());
    });
  }
  return record(kAddRows, y, {dy}, [ids, axis, skipped, taken = dy.shape()](const Tensor& g) -> Grads {
    const Tensor back = index_select(g, axis, ids);
    if (skipped < 0) return back;
    Shape beside = Shape::filled(taken.rank() - axis, 1);  // one flag an id, over the axes behind it
    beside[0] = ids.numel();
    return masked_fill(back, (ids == static_cast<double>(skipped)).reshape(beside), 0);
  });
}

// The lines of `shape` along one axis, numbered over the other axes.
struct Lanes {
  Shape shape;  // 1 in the axis
  int64_t size;
  int64_t count;
  Lanes(const Shape& whole, int axis) : shape(whole), size(whole[axis]) {
    shape[axis] = 1;
    count = shape.numel();
  }
  // Where a lane starts in a tensor of these strides.
  int64_t start(int64_t lane, const Strides& strides) const {
    int64_t offset = 0;
    for (int i = shape.rank() - 1; i >= 0; --i) {
      offset += lane % shape[i] * strides[i];
      lane /= shape[i];
    }
    return offset;
  }
};

template <class F>
void each_lane(const Lanes& lanes, F f) {
  parallel_for(lanes.count, std::max<int64_t>(1, kGrain / std::max<int64_t>(lanes.size, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t lane = begin; lane < end; ++lane) f(lane);
               });
}

// The index has the axes of `shape` and is nowhere longer, but along `free`.
void check_lanes(const Op& op, const Shape& shape, std::string_view called, const Shape& index, int free) {
  bool fits = shape.rank() == index.rank();
  for (int i = 0; fits && i < shape.rank(); ++i) fits = i == free || index[i] <= shape[i];
  if (fits) return;
  op.fail(
      fmt::format("indices of shape {} do not lie inside of {} {} ({})", str(index), called, str(shape),
                  shape.rank() != index.rank() ? "as many axes are needed" : "each axis must be as long or shorter"));
}

}  // namespace

Tensor index_select(const Tensor& x, int64_t axis, const Tensor& index) {
  const int i = normal_axis(kIndexSelect.name, axis, x.shape());
  if (index.dim() != 1) {
    kIndexSelect.fail(fmt::format("the indices have shape {}, one axis is needed", str(index.shape())));
  }
  const int64_t size = x.shape()[i];
  const Tensor ids = checked(kIndexSelect.name, "indices", index, size,
                             [&] { return fmt::format("axis {} of {}", i, str(x.shape())); });
  Shape shape = x.shape();
  shape[i] = ids.numel();
  const Tensor y = Tensor::empty(shape, x.dtype());
  take_rows(x, Around(x.shape(), i), ids, y);
  return record(kIndexSelect, y, {x},
                [shape = x.shape(), i, ids](const Tensor& dy) -> Grads { return rows_added(dy, shape, i, ids, -1); });
}

Tensor embedding(const Tensor& weight, const Tensor& ids, std::optional<int64_t> padding) {
  if (weight.dim() != 2) {
    kEmbedding.fail(fmt::format("weight has shape {}, [rows, columns] is needed", str(weight.shape())));
  }
  const int64_t rows = weight.shape()[0];
  if (padding && (*padding < -rows || *padding >= rows)) {
    kEmbedding.fail(fmt::format("padding row {} is out of range for a table of {} rows", *padding, rows));
  }
  const int64_t skipped = !padding ? -1 : *padding < 0 ? *padding + rows : *padding;
  const Tensor flat = checked(kEmbedding.name, "ids", ids, rows, [&] {
                        return fmt::format("the table has {} rows", rows);
                      }).reshape({-1});
  Shape shape = ids.shape();
  shape.push_back(weight.shape()[1]);
  const Tensor y = Tensor::empty(shape, weight.dtype());
  take_rows(weight, Around(weight.shape(), 0), flat, y);
  if (weight.dtype() == kBFloat16) return y.to(kFloat32);
  return record(kEmbedding, y, {weight}, [shape = weight.shape(), flat, skipped](const Tensor& dy) -> Grads {
    return rows_added(dy.reshape({flat.numel(), shape[1]}), shape, 0, flat, skipped);
  });
}

Tensor gather(const Tensor& x, int64_t axis, const Tensor& index) {
  const int i = normal_axis(kGather.name, axis, x.shape());
  check_lanes(kGather, x.shape(), "x", index.shape(), i);
  const Tensor ids = checked(kGather.name, "indices", index, x.shape()[i],
                             [&] { return fmt::format("axis {} of {}", i, str(x.shape())); });
  const Tensor y = Tensor::empty(index.shape(), x.dtype());
  with_type(x.dtype(), [&](auto t) {
    using T = decltype(t);
    const T* from = x.data<T>();
    T* to = y.mutable_data<T>();
    const int64_t* id = ids.data<int64_t>();
    const Lanes lanes(index.shape(), i);
    const int64_t step = x.strides()[i];
    each_lane(lanes, [&](int64_t lane) {
      const T* row = from + lanes.start(lane, x.strides());
      const int64_t at = lanes.start(lane, ids.strides());
      for (int64_t k = 0; k < lanes.size; ++k) {
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
  check_lanes(kScatterAdd, x.shape(), "x", index.shape(), i);
  check_lanes(kScatterAdd, source.shape(), "source", index.shape(), -1);
  if (source.dtype() != x.dtype()) {
    kScatterAdd.fail(fmt::format("x is {}, source {} (one type is needed)", name(x.dtype()), name(source.dtype())));
  }
  const Tensor ids = checked(kScatterAdd.name, "indices", index, x.shape()[i],
                             [&] { return fmt::format("axis {} of {}", i, str(x.shape())); });
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  copy_into(y, x.detach());
  with_type(x.dtype(), [&](auto t) {
    using T = decltype(t);
    const T* from = source.data<T>();
    T* to = y.mutable_data<T>();
    const int64_t* id = ids.data<int64_t>();
    const Lanes lanes(index.shape(), i);
    each_lane(lanes, [&](int64_t lane) {
      T* row = to + lanes.start(lane, y.strides());
      const T* values = from + lanes.start(lane, source.strides());
      const int64_t at = lanes.start(lane, ids.strides());
      for (int64_t k = 0; k < lanes.size; ++k) {  // two elements of one lane may meet, those of two lanes never
        T& sum = row[id[at + k * ids.strides()[i]] * y.strides()[i]];
        sum = static_cast<T>(sum + values[k * source.strides()[i]]);
      }
    });
  });
  return record(kScatterAdd, y, {x, source}, [i, ids, from = source.shape()](const Tensor& dy) -> Grads {
    Tensor dsource = gather(dy, i, ids);
    for (int k = 0; k < from.rank(); ++k) {  // what lies outside of the indices took no part
      if (dsource.shape()[k] == from[k]) continue;
      Shape rest = dsource.shape();
      rest[k] = from[k] - rest[k];
      dsource = cat({dsource, zeros(rest, dy.dtype())}, k);
    }
    return {dy, dsource};
  });
}

Tensor one_hot(const Tensor& index, int64_t classes) {
  if (classes < 0) fail(kOneHot, fmt::format("{} classes were asked for", classes));
  const Tensor ids =
      checked(kOneHot, "indices", index, classes, [&] { return fmt::format("there are {} classes", classes); });
  Shape shape = index.shape();
  shape.push_back(classes);
  const Tensor y = zeros(shape, kInt64);
  const int64_t* id = ids.data<int64_t>();
  int64_t* to = y.mutable_data<int64_t>();
  for (int64_t i = 0; i < ids.numel(); ++i) to[i * classes + id[i]] = 1;
  return y;
}

}  // namespace tapegrad
