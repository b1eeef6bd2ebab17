// Folding one axis of [outer, n, inner]: the layout, the cut into blocks, and the kernels.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/reduce.h>
#include <tapegrad/autograd/parallel.h>

#include <algorithm>
#include <cmath>

namespace tapegrad {
namespace {

// Sums err in proportion to the longest chain of additions: blocks are short, and what they give is folded in the same
// way.
constexpr std::int64_t kRowBlock = 8192;     // elements of a row in one block
constexpr std::int64_t kColumnBlock = 128;   // rows in one block of columns
constexpr std::int64_t kColumnWidth = 1024;  // columns in one block: the running fold stays in the first-level cache
constexpr std::int64_t kGrain = 16384;       // elements a thread takes at least

template <Fold f, class T>
constexpr T identity() {
  if constexpr (f == Fold::sum) return T{0};
  if constexpr (f == Fold::product) return T{1};
  if constexpr (f == Fold::maximum) {
    if constexpr (std::is_floating_point_v<T>) return -INFINITY;
    return INT64_MIN;
  }
  if constexpr (std::is_floating_point_v<T>) return INFINITY;
  return INT64_MAX;
}

template <Fold f, class T>
T combine(T a, T b) {
  if constexpr (f == Fold::sum) return a + b;
  if constexpr (f == Fold::product) return a * b;
  if constexpr (f == Fold::maximum) return a > b || a != a ? a : b;  // NaN wins
  return a < b || a != a ? a : b;
}

// One row of n elements: parts of 32 steps in 16 chains, and the parts in 16 chains again.
template <Fold f, class T>
T fold_row(const T* x, std::int64_t n) {
  constexpr std::int64_t kChains = 16;
  constexpr std::int64_t kSteps = 32;
  T total[kChains];
  std::fill(total, total + kChains, identity<f, T>());
  for (std::int64_t top = 0; top < n; top += kSteps * kChains) {
    const std::int64_t end = std::min(n, top + kSteps * kChains);
    T chain[kChains];
    std::fill(chain, chain + kChains, identity<f, T>());
    std::int64_t i = top;
    for (; i + kChains <= end; i += kChains) {
      for (std::int64_t k = 0; k < kChains; ++k) chain[k] = combine<f>(chain[k], x[i + k]);
    }
    for (std::int64_t k = 0; i < end; ++i, ++k) chain[k] = combine<f>(chain[k], x[i]);
    for (std::int64_t k = 0; k < kChains; ++k) total[k] = combine<f>(total[k], chain[k]);
  }
  for (std::int64_t half = kChains / 2; half > 0; half /= 2) {
    for (std::int64_t k = 0; k < half; ++k) total[k] = combine<f>(total[k], total[k + half]);
  }
  return total[0];
}

// y[j] = fold over i of x[i * stride + j], `width` columns of n rows.
template <Fold f, class T>
void fold_columns(const T* x, std::int64_t n, std::int64_t stride, std::int64_t width, T* y) {
  std::fill(y, y + width, identity<f, T>());
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const T* a = x + i * stride;
    const T* b = a + stride;
    const T* c = b + stride;
    const T* d = c + stride;
    for (std::int64_t j = 0; j < width; ++j) {
      y[j] = combine<f>(y[j], combine<f>(combine<f>(a[j], b[j]), combine<f>(c[j], d[j])));
    }
  }
  for (; i < n; ++i) {
    for (std::int64_t j = 0; j < width; ++j) y[j] = combine<f>(y[j], x[i * stride + j]);
  }
}

template <Fold f, class T>
void fold_typed(const T* x, std::int64_t outer, std::int64_t n, std::int64_t inner, DType dtype, T* y) {
  const bool rows = inner == 1;
  const std::int64_t block = rows ? kRowBlock : kColumnBlock;
  const std::int64_t blocks = n <= block ? 1 : (n - 1) / block + 1;
  const std::int64_t widths = (inner - 1) / kColumnWidth + 1;
  Tensor partial;  // [outer, blocks, inner], folded again
  T* to = y;
  if (blocks > 1) {
    partial = Tensor::empty({outer, blocks, inner}, dtype);
    to = partial.mutable_data<T>();
  }
  const std::int64_t size = std::max<std::int64_t>(1, std::min(n, block) * std::min(inner, kColumnWidth));
  parallel_for(outer * blocks * widths, std::max<std::int64_t>(1, kGrain / size),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t piece = begin; piece < end; ++piece) {
                   const std::int64_t first = piece % widths * kColumnWidth;
                   const std::int64_t top = piece / widths % blocks * block;
                   const std::int64_t o = piece / widths / blocks;
                   const T* from = x + (o * n + top) * inner + first;
                   const std::int64_t count = std::min(block, n - top);
                   if (rows) {
                     to[piece] = fold_row<f>(from, count);
                   } else {
                     fold_columns<f>(from, count, inner, std::min(kColumnWidth, inner - first),
                                     to + piece / widths * inner + first);
                   }
                 }
               });
  if (blocks > 1) fold_typed<f>(static_cast<const T*>(to), outer, blocks, inner, dtype, y);
}

}  // namespace

Folding fold_axes(std::string_view where, const Tensor& x, const Axes& axes, bool rows) {
  bool folded[kMaxRank] = {};
  for (std::int64_t axis : axes) folded[normal_axis(where, axis, x.shape())] = true;
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
  with_type(x.x.dtype(), [&](auto t) {
    using T = decltype(t);
    if constexpr (std::is_same_v<T, bool>) {
      fail("fold", "bool has no fold");
    } else {
      const T* from = x.x.data<T>();
      T* to = y.mutable_data<T>();
      const DType dtype = y.dtype();
      switch (f) {
        case Fold::sum: return fold_typed<Fold::sum>(from, x.outer, x.n, x.inner, dtype, to);
        case Fold::product: return fold_typed<Fold::product>(from, x.outer, x.n, x.inner, dtype, to);
        case Fold::maximum: return fold_typed<Fold::maximum>(from, x.outer, x.n, x.inner, dtype, to);
        case Fold::minimum: return fold_typed<Fold::minimum>(from, x.outer, x.n, x.inner, dtype, to);
      }
    }
  });
}

Tensor unfold(const Tensor& dy, const Shape& shape, const Axes& axes) {
  return dy.reshape(reduced_shape("reduction", shape, axes, true)).expand(shape);
}

}  // namespace tapegrad
