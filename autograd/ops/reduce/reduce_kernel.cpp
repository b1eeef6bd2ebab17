// Reductions of the middle axis of [outer, n, inner]: the layout, the cut into blocks, and the kernels.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/reduce/reduce_kernel.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/rows-inl.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/reduce.h>
#include <tapegrad/autograd/ops/detail/wrapping.h>

#ifndef TAPEGRAD_REDUCE_TYPES
#define TAPEGRAD_REDUCE_TYPES
namespace tapegrad {

// n rows of `width` columns, `stride` apart, to one row y; a stride of 1 means a single column, contiguous in memory,
// and then `count` of them follow each other, each to a number of y.
struct ReduceBlock {
  ReduceKind kind;
  ReduceOf of;
  DType dtype;
  const void* x;
  int64_t n, stride, width, count;
  void* y;
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

template <ReduceKind f, class T>
T identity() {
  using Limits = std::numeric_limits<T>;
  if constexpr (f == ReduceKind::sum) return T{0};
  if constexpr (f == ReduceKind::product) return T{1};
  if constexpr (f == ReduceKind::maximum) return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  return Limits::has_infinity ? Limits::infinity() : Limits::max();
}

// On scalars and on vectors.
template <ReduceKind f, class V>
HWY_INLINE V combine(V a, V b) {
  if constexpr (std::is_integral_v<V> && f == ReduceKind::sum) {
    return wrapping_sum(a, b);
  } else if constexpr (std::is_integral_v<V> && f == ReduceKind::product) {
    return wrapping_product(a, b);
  } else if constexpr (f == ReduceKind::sum) {
    return a + b;
  } else if constexpr (f == ReduceKind::product) {
    return a * b;
  } else if constexpr (std::is_arithmetic_v<V>) {
    return (f == ReduceKind::maximum ? a > b : a < b) || a != a ? a : b;
  } else {
    return f == ReduceKind::maximum ? maximum(a, b) : minimum(a, b);
  }
}

// x, |x| or x^2, of scalars and of vectors.
template <ReduceOf of, class V>
HWY_INLINE V element(V x) {
  if constexpr (of == ReduceOf::square) {
    return x * x;
  } else if constexpr (of == ReduceOf::size) {
    return abs(x);
  } else {
    return x;
  }
}

// One row of n elements.
template <ReduceKind f, ReduceOf of, class T>
HWY_INLINE T reduce_row(const T* x, int64_t n) {
  using V = Vec<T>;
  if constexpr (f == ReduceKind::sum && of == ReduceOf::value) {
    if (n <= 4) {  // the same, without the lanes that add nothing
      T lanes[4] = {};
      for (int64_t i = 0; i < n; ++i) lanes[i] += x[i];
      return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
    }
  }
  const auto both = [](V a, V b) HWY_ATTR { return combine<f>(a, b); };
  const V start = identity<f, T>();
  const V all = merged(fold_spans<T>(n, start, both, [x](auto s) HWY_ATTR { return element<of>(s.load(x)); }), both);
  T lanes[kLanes<T>];
  store(all, lanes);
  for (int64_t half = kLanes<T> / 2; half > 0; half /= 2) {
    for (int64_t k = 0; k < half; ++k) lanes[k] = combine<f>(lanes[k], lanes[k + half]);
  }
  return lanes[0];
}

template <ReduceKind f, ReduceOf>
int64_t reduce_row(const int64_t* x, int64_t n) {
  int64_t y = identity<f, int64_t>();
  for (int64_t i = 0; i < n; ++i) y = combine<f>(y, x[i]);
  return y;
}

// y[j] = reduction over i of x[i * stride + j], `width` columns of n rows, four rows at a time.
template <ReduceKind f, ReduceOf of, class T>
HWY_INLINE void reduce_columns(const T* x, int64_t n, int64_t stride, int64_t width, T* y) {
  std::fill(y, y + width, identity<f, T>());
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const T* a = x + i * stride;
    const T* b = a + stride;
    const T* c = b + stride;
    const T* d = c + stride;
    each_span<T>(width, [&](auto s) {
      const Vec<T> two = combine<f>(element<of>(s.load(a)), element<of>(s.load(b)));
      const Vec<T> more = combine<f>(element<of>(s.load(c)), element<of>(s.load(d)));
      s.store(combine<f>(s.load(y), combine<f>(two, more)), y);
    });
  }
  for (; i < n; ++i) {
    const T* a = x + i * stride;
    each_span<T>(width, [&](auto s) { s.store(combine<f>(s.load(y), element<of>(s.load(a))), y); });
  }
}

template <ReduceKind f, ReduceOf>
void reduce_columns(const int64_t* x, int64_t n, int64_t stride, int64_t width, int64_t* y) {
  std::fill(y, y + width, identity<f, int64_t>());
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < width; ++j) y[j] = combine<f>(y[j], x[i * stride + j]);
  }
}

template <ReduceKind f, ReduceOf of, class T>
void reduce_block_of(const ReduceBlock& b) {
  const T* const x = static_cast<const T*>(b.x);
  T* const y = static_cast<T*>(b.y);
  if (b.stride == 1) {
    for (int64_t row = 0; row < b.count; ++row) y[row] = reduce_row<f, of>(x + row * b.n, b.n);
  } else {
    reduce_columns<f, of>(x, b.n, b.stride, b.width, y);
  }
}

template <ReduceOf of, class T>
void reduce_block_of(const ReduceBlock& block) {
  switch (block.kind) {
    case ReduceKind::sum: return reduce_block_of<ReduceKind::sum, of, T>(block);
    case ReduceKind::product: return reduce_block_of<ReduceKind::product, of, T>(block);
    case ReduceKind::maximum: return reduce_block_of<ReduceKind::maximum, of, T>(block);
    case ReduceKind::minimum: return reduce_block_of<ReduceKind::minimum, of, T>(block);
  }
}

void reduce_block(const ReduceBlock& block) {
  with_type(block.dtype, [&](auto t) {
    using T = std::conditional_t<std::is_same_v<decltype(t), bool>, int64_t, decltype(t)>;  // never called with bool
    if constexpr (std::is_floating_point_v<T>) {
      if (block.of == ReduceOf::size) return reduce_block_of<ReduceOf::size, T>(block);
      if (block.of == ReduceOf::square) return reduce_block_of<ReduceOf::square, T>(block);
    }
    reduce_block_of<ReduceOf::value, T>(block);
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {

HWY_EXPORT(reduce_block);

namespace {

// The error of a sum grows with its longest chain of additions: blocks are short, and their results are reduced in the
// same way.
constexpr int64_t kRowBlock = 8192;     // elements of a row in one block
constexpr int64_t kColumnBlock = 128;   // rows in one block of columns
constexpr int64_t kColumnWidth = 1024;  // columns in one block: the running result stays in the L1 cache

}  // namespace

namespace {

// Which axes are reduced: all of them where none is named.
struct Reduced {
  bool at[kMaxRank] = {};
  Reduced(std::string_view where, const Shape& shape, const Axes& axes) {
    for (int i = 0; i < shape.rank(); ++i) at[i] = axes.empty();
    for (int64_t axis : axes) at[normal_axis(where, axis, shape)] = true;
  }
};

}  // namespace

Dims reduced_axes_last(std::string_view where, const Shape& shape, const Axes& axes) {
  const Reduced reduced(where, shape, axes);
  Dims order;
  for (bool last : {false, true}) {
    for (int i = 0; i < shape.rank(); ++i) {
      if (reduced.at[i] == last) order.push_back(i);
    }
  }
  return order;
}

ReduceView view_for_reduction(std::string_view where, const Tensor& x, const Axes& axes, bool rows) {
  const Reduced reduced(where, x.shape(), axes);
  ReduceView y;
  int runs = 0;  // groups of neighbouring reduced axes
  bool inside = false;
  for (int i = 0; i < x.dim(); ++i) {
    if (x.shape()[i] == 1) continue;
    if (reduced.at[i] && !inside) ++runs;
    inside = reduced.at[i];
    (inside ? y.n : runs == 0 ? y.outer : y.inner) *= x.shape()[i];
  }
  y.x = x.detach();
  if (runs > 1 || (rows && y.inner != 1)) {
    y.x = y.x.permute(reduced_axes_last(where, x.shape(), axes));
    y.outer *= y.inner;
    y.inner = 1;
  }
  y.x = y.x.contiguous();
  return y;
}

void reduce(ReduceKind kind, const ReduceView& x, const Tensor& y, ReduceOf of) {
  if (y.numel() == 0) return;
  if (y.dtype() == kBool) fail("reduce", "expected int64, float32 or float64, got bool");
  if (x.n == 1 && x.inner == 1 && x.outer > 1) return reduce(kind, {x.x, 1, 1, x.outer}, y, of);
  const int64_t n = x.n, inner = x.inner;
  const int64_t rows = inner == 1 ? kRowBlock : kColumnBlock;
  const int64_t blocks = std::max<int64_t>(1, pieces_of(n, rows));
  const int64_t widths = pieces_of(inner, kColumnWidth);
  const ReduceView partial{blocks > 1 ? Tensor::empty({x.outer, blocks, inner}, y.dtype()) : y, x.outer, blocks, inner};
  const auto* from = static_cast<const std::byte*>(x.x.raw_data());
  auto* to = static_cast<std::byte*>(partial.x.mutable_raw_data());
  const int64_t item = item_size(y.dtype());
  if (inner == 1 && blocks == 1) {
    parallel_for(x.outer, rows_grain(n), [&](int64_t begin, int64_t end) {
      kernel_of(HWY_DISPATCH_TABLE(reduce_block))({.kind = kind,
                                                   .of = of,
                                                   .dtype = y.dtype(),
                                                   .x = from + begin * n * item,
                                                   .n = n,
                                                   .stride = 1,
                                                   .width = 1,
                                                   .count = end - begin,
                                                   .y = to + begin * item});
    });
    return;
  }
  const int64_t size = std::min(n, rows) * std::min(inner, kColumnWidth);
  parallel_for_each(x.outer * blocks * widths, rows_grain(size), [&](int64_t piece) {
    const int64_t first = piece % widths * kColumnWidth;
    const int64_t row = piece / widths;  // of [outer, blocks]
    const int64_t top = row % blocks * rows;
    kernel_of(HWY_DISPATCH_TABLE(reduce_block))({.kind = kind,
                                                 .of = of,
                                                 .dtype = y.dtype(),
                                                 .x = from + ((row / blocks * n + top) * inner + first) * item,
                                                 .n = std::min(rows, n - top),
                                                 .stride = inner,
                                                 .width = std::min(kColumnWidth, inner - first),
                                                 .count = 1,
                                                 .y = to + (row * inner + first) * item});
  });
  if (blocks > 1) reduce(kind, partial, y);
}

Tensor expand_to_input(const Tensor& dy, const Shape& shape, const Axes& axes) {
  return dy.reshape(reduced_shape("reduction", shape, axes, true)).expand(shape);
}

}  // namespace tapegrad
#endif  // HWY_ONCE
