// Padding at the edges: pad, and its gradient.
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/shapes.h>

#include <algorithm>

namespace tapegrad {
namespace {

const Op kPad{"pad"};
const Op kUnpad{"unpad"};

// A slice of the last padded axis with at least this number of elements is copied as a row.
constexpr int64_t kPaddedBlock = 1024;

// The widths on both sides of each axis.
struct Widths {
  int64_t before[kMaxRank] = {};
  int64_t after[kMaxRank] = {};
  bool pads(int axis) const { return before[axis] != 0 || after[axis] != 0; }
};

// The element of an axis of `size` that is copied to element i of the padded axis (counted from the first element of
// x); -1 for the padding value.
int64_t source(int64_t i, int64_t size, PadMode mode) {
  if (i >= 0 && i < size) return i;
  switch (mode) {
    case PadMode::reflect: return i < 0 ? -i : 2 * (size - 1) - i;
    case PadMode::replicate: return i < 0 ? 0 : size - 1;
    case PadMode::circular: return i < 0 ? i + size : i - size;
    default: return -1;
  }
}

// The part [begin, end) of the padded axis that is x itself.
struct Middle {
  int64_t begin, end;
  Middle(int64_t before, int64_t size, int64_t padded)
      : begin(std::clamp<int64_t>(before, 0, padded)), end(std::clamp(before + size, begin, padded)) {}
};

// Rows of the last axis of `from` and `to`, in contiguous blocks.
template <class T>
struct PadRows {
  const T* x;
  T* y;
  Shape from, to;
  int64_t block;
  Widths widths;
  PadMode mode;
  T value;

  void operator()(int64_t begin, int64_t end) const {
    const int last = from.rank() - 1;
    const int64_t size = from.back(), padded = to.back(), before = widths.before[last];
    const Middle middle(before, size, padded);
    for (int64_t row = begin; row < end; ++row) {
      T* const out = y + row * padded * block;
      const T* const in = row_of_x(row);
      if (!in) {
        std::fill_n(out, padded * block, value);
        continue;
      }
      const auto border = [&](int64_t first, int64_t stop) {
        for (int64_t i = first; i < stop; ++i) {
          const int64_t k = source(i - before, size, mode);
          if (block == 1) {
            out[i] = k < 0 ? value : in[k];
          } else if (k < 0) {
            std::fill_n(out + i * block, block, value);
          } else {
            std::copy_n(in + k * block, block, out + i * block);
          }
        }
      };
      border(0, middle.begin);
      if (middle.begin < middle.end) {
        std::copy_n(in + (middle.begin - before) * block, (middle.end - middle.begin) * block,
                    out + middle.begin * block);
      }
      border(middle.end, padded);
    }
  }

  // nullptr for a row that has only the padding value.
  const T* row_of_x(int64_t row) const {
    int64_t offset = 0, step = from.back() * block;
    for (int i = from.rank() - 2; i >= 0; --i) {
      const int64_t k = source(row % to[i] - widths.before[i], from[i], mode);
      if (k < 0) return nullptr;
      offset += k * step;
      step *= from[i];
      row /= to[i];
    }
    return x + offset;
  }
};

// Fills y; x is contiguous.
template <class T>
void pad_as(const Tensor& y, const Tensor& x, const Widths& widths, PadMode mode, const Tensor& value) {
  Shape from = x.shape(), to = y.shape();
  int64_t block = 1;
  while (from.rank() > 1 && !widths.pads(from.rank() - 1)) {
    block *= from.back();
    from.erase(from.rank() - 1);
    to.erase(to.rank() - 1);
  }
  if (block >= kPaddedBlock) {  // large enough to be copied as rows, which are divided among threads
    from.push_back(block);
    to.push_back(block);
    block = 1;
  }
  const PadRows<T> rows{.x = static_cast<const T*>(x.raw_data()),
                        .y = static_cast<T*>(y.mutable_raw_data()),
                        .from = from,
                        .to = to,
                        .block = block,
                        .widths = widths,
                        .mode = mode,
                        .value = *static_cast<const T*>(value.raw_data())};
  const int64_t row = to.back() * block;
  parallel_for(y.numel() / row, rows_grain(row), rows);
}

Tensor padded(const Tensor& x, const Shape& shape, const Widths& widths, PadMode mode, Scalar value);

// dx [outer, size, inner] from dy [outer, padded, inner]: each element of dy is added to the element that was copied
// there.
template <class T>
void unpad_axis(const T* dy, const Shape& from, int axis, int64_t before, PadMode mode, int64_t size, T* dx) {
  const OuterAxisInner whole(from, axis);
  const int64_t padded = whole.size, inner = whole.inner;
  const Middle middle(before, size, padded);
  const int64_t width = std::min(inner, kPaddedBlock), tiles = pieces_of(inner, width);
  parallel_for(whole.outer * tiles, rows_grain(padded * width), [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t o = piece / tiles, first = piece % tiles * width, n = std::min(width, inner - first);
      const T* const in = dy + o * padded * inner + first;
      T* const out = dx + o * size * inner + first;
      if (n == inner && middle.begin < middle.end) {
        std::copy_n(in + middle.begin * inner, (middle.end - middle.begin) * inner,
                    out + (middle.begin - before) * inner);
      } else {
        for (int64_t i = middle.begin; i < middle.end; ++i) std::copy_n(in + i * inner, n, out + (i - before) * inner);
      }
      const auto border = [&](int64_t i) {
        T* const to = out + source(i - before, size, mode) * inner;
        for (int64_t j = 0; j < n; ++j) to[j] += in[i * inner + j];
      };
      for (int64_t i = 0; i < middle.begin; ++i) border(i);
      for (int64_t i = middle.end; i < padded; ++i) border(i);
    }
  });
}

// The gradient of reflect, replicate and circular padding; dx has `shape`.
Tensor unpad(const Tensor& dy, const Shape& shape, const Widths& widths, PadMode mode) {
  Tensor dx = packed(dy.detach());
  for (int i = 0; i < shape.rank(); ++i) {
    if (!widths.pads(i)) continue;
    const Shape cut = with_size(dx.shape(), i, shape[i]);
    const bool partly = widths.before[i] < 0 || widths.after[i] < 0;  // what was cut has no gradient
    const Tensor next = partly || dx.numel() == 0 ? zeros(cut, dy.dtype()) : Tensor::empty(cut, dy.dtype());
    if (dx.numel() > 0) {
      with_floating_type(dy.dtype(), [&]<class T>(T) {
        unpad_axis(dx.data<T>(), dx.shape(), i, widths.before[i], mode, shape[i], next.mutable_data<T>());
      });
    }
    dx = next;
  }
  return record(kUnpad, dx, {dy}, [shape = dy.shape(), widths, mode](const Tensor& g) -> Grads {
    return padded(g, shape, widths, mode, 0);
  });
}

// A view if nothing is added.
Tensor padded(const Tensor& x, const Shape& shape, const Widths& widths, PadMode mode, Scalar value) {
  const auto adds = [](int64_t width) { return width > 0; };
  if (std::none_of(widths.before, std::end(widths.before), adds) &&
      std::none_of(widths.after, std::end(widths.after), adds)) {
    Tensor y = x;
    for (int i = 0; i < x.dim(); ++i) {
      const int64_t start = -widths.before[i];
      if (widths.pads(i)) y = y.slice(i, start, start + shape[i]);
    }
    return y;
  }
  const Tensor y = Tensor::empty(shape, x.dtype());
  if (y.numel() > 0) {
    const Tensor from = packed(x), fill = full({}, value, x.dtype());
    with_type_of_size(x.dtype(), [&](auto t) { pad_as<decltype(t)>(y, from, widths, mode, fill); });
  }
  return record(kPad, y, {x}, [from = x.shape(), widths, mode](const Tensor& dy) -> Grads {
    if (mode != PadMode::constant) return unpad(dy, from, widths, mode);
    Widths back;
    for (int i = 0; i < from.rank(); ++i) {
      back.before[i] = -widths.before[i];
      back.after[i] = -widths.after[i];
    }
    return padded(dy, from, back, mode, 0);
  });
}

std::string text_of(std::span<const int64_t> widths) { return fmt::format("[{}]", fmt::join(widths, ", ")); }

// Error for a width that is too large for the axis.
void require_room(std::span<const int64_t> all, const Shape& shape, int axis, int64_t width, PadMode mode) {
  const int64_t size = shape[axis];
  const int64_t most = mode == PadMode::reflect ? size - 1 : mode == PadMode::circular || size == 0 ? size : kMaxNumel;
  if (mode == PadMode::constant || width <= std::max<int64_t>(most, 0)) return;
  const std::string_view name = mode == PadMode::reflect     ? "PadMode::reflect"
                                : mode == PadMode::replicate ? "PadMode::replicate"
                                                             : "PadMode::circular";
  fail(kPad, "expected widths of at most {} for axis {} of {} with {}, got {}", std::max<int64_t>(most, 0), axis, shape,
       name, text_of(all));
}

}  // namespace

Tensor pad(const Tensor& x, std::span<const int64_t> given, PadMode mode, Scalar value) {
  if (given.size() % 2 != 0 || given.size() > 2 * static_cast<std::size_t>(x.dim())) {
    fail(kPad, "expected two widths for each of at most {} axes of {}, got {}", x.dim(), x.shape(), text_of(given));
  }
  require_number(kPad.name, x.dtype(), value);
  const auto cuts = [](int64_t width) { return width < 0; };
  if (mode == PadMode::circular && std::ranges::any_of(given, cuts)) {  // wraps what is left
    int64_t cut[2 * kMaxRank], added[2 * kMaxRank];
    for (std::size_t k = 0; k < given.size(); ++k) {
      cut[k] = std::min<int64_t>(given[k], 0);
      added[k] = std::max<int64_t>(given[k], 0);
    }
    return pad(pad(x, std::span<const int64_t>(cut, given.size())), std::span<const int64_t>(added, given.size()),
               mode);
  }
  Widths widths;
  Shape shape = x.shape();
  for (std::size_t k = 0; k < given.size() / 2; ++k) {
    const int i = x.dim() - 1 - static_cast<int>(k);
    const int64_t before = std::clamp(given[2 * k], -kMaxNumel, kMaxNumel);
    const int64_t after = std::clamp(given[2 * k + 1], -kMaxNumel, kMaxNumel);
    if (shape[i] + before + after < 0) {
      fail(kPad, "expected widths that leave 0 or more elements of axis {} of {}, got {}", i, x.shape(),
           text_of(given));
    }
    require_room(given, x.shape(), i, std::max(before, after), mode);
    widths.before[i] = before;
    widths.after[i] = after;
    shape[i] += before + after;
  }
  checked_numel(kPad.name, shape);
  return padded(x, shape, widths, mode, value);
}

Tensor pad(const Tensor& x, std::initializer_list<int64_t> widths, PadMode mode, Scalar value) {
  return pad(x, std::span<const int64_t>(widths.begin(), widths.size()), mode, value);
}

}  // namespace tapegrad
