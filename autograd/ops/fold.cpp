// Folding one axis of [outer, n, inner]: the kernels, the layout, and the cut into blocks.
#include <tapegrad/autograd/kernels/simd_targets.h>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/fold.cpp"
#include <hwy/foreach_target.h>
//
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/reduce.h>
#include <tapegrad/autograd/ops/rows-inl.h>
#include <tapegrad/autograd/parallel.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

template <Fold f, class T>
T identity() {
  using Limits = std::numeric_limits<T>;
  if constexpr (f == Fold::sum) return T{0};
  if constexpr (f == Fold::product) return T{1};
  if constexpr (f == Fold::maximum) return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  return Limits::has_infinity ? Limits::infinity() : Limits::max();
}

// On scalars and on vectors.
template <Fold f, class V>
HWY_INLINE V combine(V a, V b) {
  if constexpr (f == Fold::sum) {
    return a + b;
  } else if constexpr (f == Fold::product) {
    return a * b;
  } else if constexpr (std::is_arithmetic_v<V>) {
    return (f == Fold::maximum ? a > b : a < b) || a != a ? a : b;
  } else {
    return f == Fold::maximum ? maximum(a, b) : minimum(a, b);
  }
}

// One row of n elements: parts of 32 steps in four chains of vectors, so that no chain of roundings is long.
template <Fold f, class T>
HWY_INLINE T fold_row(const T* x, int64_t n) {
  const Vec<T> start = identity<f, T>();
  constexpr int64_t kStep = 4 * kLanes<T>;
  Vec<T> total = start;
  int64_t i = 0;
  while (i + kStep <= n) {
    Vec<T> a = start, b = start, c = start, d = start;
    const int64_t end = std::min(n, i + 32 * kStep);
    for (; i + kStep <= end; i += kStep) {
      a = combine<f>(a, load(x + i));
      b = combine<f>(b, load(x + i + kLanes<T>));
      c = combine<f>(c, load(x + i + 2 * kLanes<T>));
      d = combine<f>(d, load(x + i + 3 * kLanes<T>));
    }
    total = combine<f>(total, combine<f>(combine<f>(a, b), combine<f>(c, d)));
  }
  for (; i + kLanes<T> <= n; i += kLanes<T>) total = combine<f>(total, load(x + i));
  if (i < n) {
    const LastSpan<T> last{i, n - i};
    total = combine<f>(total, last.only(last.load(x), identity<f, T>()));
  }
  T lanes[kLanes<T>];
  store(total, lanes);
  for (int64_t half = kLanes<T> / 2; half > 0; half /= 2) {
    for (int64_t k = 0; k < half; ++k) lanes[k] = combine<f>(lanes[k], lanes[k + half]);
  }
  return lanes[0];
}

template <Fold f>
int64_t fold_row(const int64_t* x, int64_t n) {
  int64_t y = identity<f, int64_t>();
  for (int64_t i = 0; i < n; ++i) y = combine<f>(y, x[i]);
  return y;
}

// y[j] = fold over i of x[i * stride + j], `width` columns of n rows, four rows at a time.
template <Fold f, class T>
HWY_INLINE void fold_columns(const T* x, int64_t n, int64_t stride, int64_t width, T* y) {
  std::fill(y, y + width, identity<f, T>());
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const T* a = x + i * stride;
    const T* b = a + stride;
    const T* c = b + stride;
    const T* d = c + stride;
    each_span<T>(width, [&](auto s) {
      const Vec<T> four = combine<f>(combine<f>(s.load(a), s.load(b)), combine<f>(s.load(c), s.load(d)));
      s.store(combine<f>(s.load(y), four), y);
    });
  }
  for (; i < n; ++i) {
    const T* a = x + i * stride;
    each_span<T>(width, [&](auto s) { s.store(combine<f>(s.load(y), s.load(a)), y); });
  }
}

template <Fold f>
void fold_columns(const int64_t* x, int64_t n, int64_t stride, int64_t width, int64_t* y) {
  std::fill(y, y + width, identity<f, int64_t>());
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < width; ++j) y[j] = combine<f>(y[j], x[i * stride + j]);
  }
}

template <Fold f, class T>
void fold_block_of(const void* x, int64_t n, int64_t stride, int64_t width, void* y) {
  if (stride == 1) {
    *static_cast<T*>(y) = fold_row<f>(static_cast<const T*>(x), n);
  } else {
    fold_columns<f>(static_cast<const T*>(x), n, stride, width, static_cast<T*>(y));
  }
}

// n rows of `width` columns, `stride` apart, to one row; a stride of 1 means a single column that lies in memory as a
// row.
void fold_block(Fold f, DType dtype, const void* x, int64_t n, int64_t stride, int64_t width, void* y) {
  with_type(dtype, [=](auto t) {
    using T = std::conditional_t<std::is_same_v<decltype(t), bool>, int64_t, decltype(t)>;  // there are no bools here
    switch (f) {
      case Fold::sum: return fold_block_of<Fold::sum, T>(x, n, stride, width, y);
      case Fold::product: return fold_block_of<Fold::product, T>(x, n, stride, width, y);
      case Fold::maximum: return fold_block_of<Fold::maximum, T>(x, n, stride, width, y);
      case Fold::minimum: return fold_block_of<Fold::minimum, T>(x, n, stride, width, y);
    }
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {

HWY_EXPORT(fold_block);

namespace {

// Sums err in proportion to the longest chain of additions: blocks are short, and what they give is folded in the same
// way.
constexpr int64_t kRowBlock = 8192;     // elements of a row in one block
constexpr int64_t kColumnBlock = 128;   // rows in one block of columns
constexpr int64_t kColumnWidth = 1024;  // columns in one block: the running fold stays in the first-level cache
constexpr int64_t kGrain = 16384;       // elements a thread takes at least

}  // namespace

Folding fold_axes(std::string_view where, const Tensor& x, const Axes& axes, bool rows) {
  bool folded[kMaxRank] = {};
  for (int64_t axis : axes) folded[normal_axis(where, axis, x.shape())] = true;
  const auto gone = [&](int i) { return axes.empty() || folded[i]; };
  Folding y;
  Dims order;  // kept axes before folded ones: where the folded ones do not stand together
  int runs = 0;
  bool inside = false;
  for (int i = 0; i < x.dim(); ++i) {
    if (!gone(i)) order.push_back(i);
    if (x.shape()[i] == 1) continue;
    if (gone(i) && !inside) ++runs;
    inside = gone(i);
    (gone(i) ? y.n : runs == 0 ? y.outer : y.inner) *= x.shape()[i];
  }
  y.x = x.detach();
  if (runs > 1 || (rows && y.inner > 1)) {
    for (int i = 0; i < x.dim(); ++i) {
      if (gone(i)) order.push_back(i);
    }
    y.x = y.x.permute(order);
    y.outer *= y.inner;
    y.inner = 1;
  }
  y.x = y.x.contiguous();
  return y;
}

void fold(Fold f, const Folding& x, const Tensor& y) {
  if (y.numel() == 0) return;
  if (y.dtype() == kBool) fail("fold", "bool has no fold");
  const int64_t n = x.n;
  const int64_t inner = x.inner;
  const int64_t block = inner == 1 ? kRowBlock : kColumnBlock;
  const int64_t blocks = n <= block ? 1 : (n - 1) / block + 1;
  const int64_t widths = (inner - 1) / kColumnWidth + 1;
  const Folding partial{blocks > 1 ? Tensor::empty({x.outer, blocks, inner}, y.dtype()) : y, x.outer, blocks, inner};
  const auto* from = static_cast<const std::byte*>(x.x.raw_data());
  auto* to = static_cast<std::byte*>(partial.x.mutable_raw_data());
  const int64_t item = item_size(y.dtype());
  const int64_t size = std::max<int64_t>(1, std::min(n, block) * std::min(inner, kColumnWidth));
  const int64_t grain = std::max<int64_t>(1, kGrain / size);
  parallel_for(x.outer * blocks * widths, grain, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t first = piece % widths * kColumnWidth;
      const int64_t row = piece / widths;  // of [outer, blocks]
      const int64_t top = row % blocks * block;
      HWY_DYNAMIC_DISPATCH(fold_block)
      (f, y.dtype(), from + ((row / blocks * n + top) * inner + first) * item, std::min(block, n - top), inner,
       std::min(kColumnWidth, inner - first), to + (row * inner + first) * item);
    }
  });
  if (blocks > 1) fold(f, partial, y);
}

Tensor unfold(const Tensor& dy, const Shape& shape, const Axes& axes) {
  return dy.reshape(reduced_shape("reduction", shape, axes, true)).expand(shape);
}

}  // namespace tapegrad
#endif  // HWY_ONCE
