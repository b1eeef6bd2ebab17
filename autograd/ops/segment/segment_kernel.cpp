// Reductions of rows by segment: the kernels. A piece is one segment and a strip of columns; every column is reduced in
// the order of the rows, so pieces and vectors do not change the bits.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/segment/segment_kernel.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/softmax-inl.h>
#include <tapegrad/autograd/ops/segment/detail/segments.h>

#ifndef TAPEGRAD_SEGMENT_ARGS
#define TAPEGRAD_SEGMENT_ARGS
#include <tapegrad/autograd/ops/detail/wrapping.h>

namespace tapegrad {

inline constexpr int64_t kSegmentStrip = 256;  // columns of a piece, at most

struct SegmentArgs {
  SegmentKind kind;
  DType dtype;
  int64_t inner;  // elements of a row
  int64_t strip;  // columns of a piece
  int64_t count;  // of segments
  const int64_t* starts;
  const int64_t* order;
  const void* x;
  const void* y;
  const void* dy;
  void* out;
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// The rows of one segment, in one strip of columns.
struct SegmentPiece {
  const int64_t* row;
  int64_t rows;
  int64_t inner;
  int64_t segment;
  int64_t first;  // column
  int64_t width;

  // Where row k, and the result of the segment, begin in a tensor.
  HWY_INLINE int64_t at(int64_t k) const { return row[k] * inner + first; }
  HWY_INLINE int64_t result() const { return segment * inner + first; }
};

// A column of a strip that is narrower than a vector: a span that loads and stores a number.
template <class T>
struct OneColumn {
  int64_t at;
  HWY_INLINE T load(const T* p) const { return p[at]; }
  HWY_INLINE void store(T v, T* p) const { p[at] = v; }
};

template <class T>
requires std::is_arithmetic_v<T> HWY_INLINE T where(bool condition, T a, T b) { return condition ? a : b; }

// f(span) for the columns of a row: formulas of f are the same for vectors and numbers.
template <class T, class F>
HWY_INLINE void each_column(int64_t width, F f) {
  if (width >= kLanes<T>) return each_span<T>(width, f);
  for (int64_t j = 0; j < width; ++j) f(OneColumn<T>{j});
}

// Brings row k + kLookAhead into the cache.
template <class T>
HWY_INLINE void look_ahead(const SegmentPiece& p, int64_t k, const T* x) {
  const T* const ahead = x + p.at(k + kLookAhead);
  for (int64_t j = 0; j < p.width; j += 64 / static_cast<int64_t>(sizeof(T))) __builtin_prefetch(ahead + j);
}

// y = start combined with the rows of x, in their order: `kVecs` vectors of columns in registers.
template <int kVecs, class T, class Combine>
HWY_INLINE void fold_vectors(const SegmentPiece& p, const T* x, T start, Combine combine, T* y) {
  Vec<T> all[kVecs];
  for (int v = 0; v < kVecs; ++v) all[v] = start;
  for (int64_t k = 0; k < p.rows; ++k) {
    const T* const from = x + p.at(k);
    const T* const ahead = x + p.at(k + kLookAhead);
    for (int v = 0; v < kVecs; ++v) {
      if (v * sizeof(T) * kLanes<T> % 64 == 0) __builtin_prefetch(ahead + v * kLanes<T>);
      all[v] = combine(all[v], load(from + v * kLanes<T>));
    }
  }
  for (int v = 0; v < kVecs; ++v) store(all[v], y + v * kLanes<T>);
}

// The same for all columns of the strip.
template <class T, class Combine>
HWY_INLINE void fold_rows(const SegmentPiece& p, const T* x, T start, Combine combine, T* y) {
  if (p.width < kLanes<T>) {
    T all[kLanes<T>];
    std::fill(all, all + kLanes<T>, start);
    for (int64_t k = 0; k < p.rows; ++k) {
      const T* const from = x + p.at(k);
      for (int64_t j = 0; j < p.width; ++j) all[j] = combine(all[j], from[j]);
    }
    std::copy(all, all + p.width, y);
    return;
  }
  int64_t j = 0;
  for (; j + 8 * kLanes<T> <= p.width; j += 8 * kLanes<T>) fold_vectors<8>(p, x + j, start, combine, y + j);
  for (; j + 2 * kLanes<T> <= p.width; j += 2 * kLanes<T>) fold_vectors<2>(p, x + j, start, combine, y + j);
  for (; j + kLanes<T> <= p.width; j += kLanes<T>) fold_vectors<1>(p, x + j, start, combine, y + j);
  if (const int64_t rest = p.width - j; rest > 0) {
    Vec<T> all = start;
    for (int64_t k = 0; k < p.rows; ++k) all = combine(all, load(x + p.at(k) + j, rest));
    store(all, y + j, rest);
  }
}

void fold_rows(const SegmentPiece& p, const int64_t* x, int64_t start, auto combine, int64_t* y) {
  std::fill(y, y + p.width, start);
  for (int64_t k = 0; k < p.rows; ++k) {
    for (int64_t j = 0; j < p.width; ++j) y[j] = combine(y[j], x[p.at(k) + j]);
  }
}

// On scalars and on vectors. The extremes of tensors with NaN are NaN.
struct SegmentSum {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    if constexpr (std::is_integral_v<V>)
      return wrapping_sum(a, b);
    else
      return a + b;
  }
};
template <bool kLargest>
struct SegmentExtreme {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    if constexpr (std::is_arithmetic_v<V>)
      return (kLargest ? a > b : a < b) || a != a ? a : b;
    else
      return kLargest ? maximum(a, b) : minimum(a, b);
  }
};

template <bool kLargest, class T>
constexpr T segment_start() {
  using Limits = std::numeric_limits<T>;
  constexpr T lowest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  constexpr T highest = Limits::has_infinity ? Limits::infinity() : Limits::max();
  return kLargest ? lowest : highest;
}

// What is subtracted before exp, in each column: the largest element, or 0 for -infinity and `other`.
template <class T>
HWY_INLINE void segment_origins(const SegmentPiece& p, const T* x, T other, T* origin) {
  fold_rows(p, x, kNothing<T>, SegmentExtreme<true>(), origin);
  each_column<T>(p.width, [&](auto s) {
    const auto top = s.load(origin);
    using V = std::decay_t<decltype(top)>;
    s.store(where((top == V(kNothing<T>)) | (top == V(other)), V(T{0}), top), origin);
  });
}

// f(v, k, j) for the exp of x minus the origin of the column: a span of columns, or in strips that are narrower than a
// vector, several rows of them at once.
template <class T, class F>
HWY_INLINE void each_exp(const SegmentPiece& p, const T* x, const T* origin, F f) {
  if (p.width >= kLanes<T>) {
    for (int64_t k = 0; k < p.rows; ++k) {
      const T* const from = x + p.at(k);
      T row[kSegmentStrip];
      each_span<T>(p.width, [&](auto s) { s.store(exp(s.load(from) - s.load(origin)), row); });
      f(k, row);
    }
    return;
  }
  T block[kSegmentStrip];
  const int64_t most = kSegmentStrip / p.width;
  for (int64_t first = 0; first < p.rows; first += most) {
    const int64_t count = std::min(most, p.rows - first);
    for (int64_t k = 0; k < count; ++k) {
      for (int64_t j = 0; j < p.width; ++j) block[k * p.width + j] = x[p.at(first + k) + j] - origin[j];
    }
    each_span<T>(count * p.width, [&](auto s) { s.store(exp(s.load(block)), block); });
    for (int64_t k = 0; k < count; ++k) f(first + k, block + k * p.width);
  }
}

// y = exp(x - origin) / sum; zeros where the sum is 0. NaN and infinity make the sum NaN.
template <class T>
void segment_softmax(const SegmentPiece& p, const T* x, T* y) {
  T origin[kSegmentStrip], sum[kSegmentStrip];
  segment_origins(p, x, kNothing<T>, origin);
  std::fill_n(sum, p.width, T{0});
  each_exp(p, x, origin, [&](int64_t k, const T* e) {
    T* const to = y + p.at(k);
    look_ahead(p, k, y);
    each_column<T>(p.width, [&](auto s) {
      const auto v = s.load(e);
      s.store(v, to);
      s.store(s.load(sum) + v, sum);
    });
  });
  each_column<T>(p.width, [&](auto s) {
    const auto total = s.load(sum);
    using V = std::decay_t<decltype(total)>;
    s.store(where(total == V(T{0}), V(T{0}), V(T{1}) / total), sum);
  });
  for (int64_t k = 0; k < p.rows; ++k) {
    T* const to = y + p.at(k);
    each_column<T>(p.width, [&](auto s) { s.store(s.load(to) * s.load(sum), to); });
  }
}

template <class T>
void segment_log_sum_exp(const SegmentPiece& p, const T* x, T* y) {
  T origin[kSegmentStrip], sum[kSegmentStrip];
  segment_origins(p, x, -kNothing<T>, origin);
  std::fill_n(sum, p.width, T{0});
  each_exp(p, x, origin,
           [&](int64_t, const T* e) { each_span<T>(p.width, [&](auto s) { s.store(s.load(sum) + s.load(e), sum); }); });
  each_span<T>(p.width, [&](auto s) { s.store(log(s.load(sum)) + s.load(origin), y); });
}

// dx = dy / n where x is one of the n extremes y, 0 elsewhere
template <class T>
void segment_extreme_gradient(const SegmentPiece& p, const T* x, const T* y, const T* dy, T* dx) {
  T share[kSegmentStrip];
  const auto chosen = [](auto a, auto b) HWY_ATTR { return where(a == b, decltype(a)(T{1}), decltype(a)(T{0})); };
  std::fill_n(share, p.width, T{0});
  for (int64_t k = 0; k < p.rows; ++k) {
    const T* const from = x + p.at(k);
    look_ahead(p, k, x);
    each_column<T>(p.width, [&](auto s) { s.store(s.load(share) + chosen(s.load(from), s.load(y)), share); });
  }
  each_column<T>(p.width, [&](auto s) { s.store(s.load(dy) / s.load(share), share); });
  for (int64_t k = 0; k < p.rows; ++k) {
    const T* const from = x + p.at(k);
    T* const to = dx + p.at(k);
    look_ahead(p, k, dx);
    each_column<T>(p.width, [&](auto s) { s.store(s.load(share) * chosen(s.load(from), s.load(y)), to); });
  }
}

// dx = y * (dy - <dy, y>)
template <class T>
void segment_softmax_gradient(const SegmentPiece& p, const T* y, const T* dy, T* dx) {
  T dot[kSegmentStrip];
  std::fill(dot, dot + p.width, T{0});
  for (int64_t k = 0; k < p.rows; ++k) {
    const int64_t at = p.at(k);
    look_ahead(p, k, y);
    look_ahead(p, k, dy);
    each_column<T>(p.width, [&](auto s) { s.store(s.load(dot) + s.load(y + at) * s.load(dy + at), dot); });
  }
  for (int64_t k = 0; k < p.rows; ++k) {
    const int64_t at = p.at(k);
    look_ahead(p, k, dx);
    each_column<T>(p.width, [&](auto s) { s.store(s.load(y + at) * (s.load(dy + at) - s.load(dot)), dx + at); });
  }
}

// dx = dy * exp(x - y), where a y of -infinity counts as 0
template <class T>
void segment_log_sum_exp_gradient(const SegmentPiece& p, const T* x, const T* y, const T* dy, T* dx) {
  T origin[kSegmentStrip];
  each_column<T>(p.width, [&](auto s) {
    const auto v = s.load(y);
    using V = std::decay_t<decltype(v)>;
    s.store(where(v == V(kNothing<T>), V(T{0}), v), origin);
  });
  each_exp(p, x, origin, [&](int64_t k, const T* e) {
    T* const to = dx + p.at(k);
    look_ahead(p, k, x);
    look_ahead(p, k, dx);
    each_column<T>(p.width, [&](auto s) { s.store(s.load(dy) * s.load(e), to); });
  });
}

template <class T>
void segment_mean(const SegmentPiece& p, const T* x, T* y) {
  fold_rows(p, x, T{0}, SegmentSum(), y);
  const T size = static_cast<T>(std::max<int64_t>(p.rows, 1));
  each_column<T>(p.width, [&](auto s) { s.store(s.load(y) / decltype(s.load(y))(size), y); });
}

template <class T>
void segment_piece(const SegmentArgs& args, const SegmentPiece& p) {
  const T* const x = static_cast<const T*>(args.x);
  T* const out = static_cast<T*>(args.out);
  T* const result = out + p.result();
  switch (args.kind) {
    case SegmentKind::sum: return fold_rows(p, x, T{0}, SegmentSum(), result);
    case SegmentKind::maximum: return fold_rows(p, x, segment_start<true, T>(), SegmentExtreme<true>(), result);
    case SegmentKind::minimum: return fold_rows(p, x, segment_start<false, T>(), SegmentExtreme<false>(), result);
    default: break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    const T* const y = static_cast<const T*>(args.y);
    const T* const dy = static_cast<const T*>(args.dy);
    switch (args.kind) {
      case SegmentKind::mean: return segment_mean(p, x, result);
      case SegmentKind::log_sum_exp: return segment_log_sum_exp(p, x, result);
      case SegmentKind::softmax: return segment_softmax(p, x, out);
      case SegmentKind::extreme_gradient: return segment_extreme_gradient(p, x, y + p.result(), dy + p.result(), out);
      case SegmentKind::softmax_gradient: return segment_softmax_gradient(p, y, dy, out);
      case SegmentKind::log_sum_exp_gradient:
        return segment_log_sum_exp_gradient(p, x, y + p.result(), dy + p.result(), out);
      default: return;
    }
  }
}

void segment_pieces(const SegmentArgs& args, int64_t begin, int64_t end) {
  with_type(args.dtype, [&](auto t) {
    using T = std::conditional_t<std::is_same_v<decltype(t), bool>, int64_t, decltype(t)>;  // never called with bool
    for (int64_t i = begin; i < end; ++i) {
      const int64_t segment = i % args.count, first = i / args.count * args.strip;
      const int64_t* const start = args.starts + segment;
      segment_piece<T>(args, {.row = args.order + start[0],
                              .rows = start[1] - start[0],
                              .inner = args.inner,
                              .segment = segment,
                              .first = first,
                              .width = std::min(args.strip, args.inner - first)});
    }
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {

HWY_EXPORT(segment_pieces);

void run_segments(SegmentKind kind, const Segments& segments, const SegmentOperands& operands, const Tensor& out) {
  if (out.numel() == 0 || segments.count == 0) return;
  const int64_t inner = out.numel() / out.shape()[0];
  // With few segments, narrow strips give every thread something to do.
  const int64_t strip = std::min(inner, segments.count < 16 ? int64_t{16} : kSegmentStrip);
  const int64_t rows_of_one = segments.rows / segments.count + 1;
  run_rows(kernel_of(HWY_DISPATCH_TABLE(segment_pieces)),
           {.kind = kind,
            .dtype = out.dtype(),
            .inner = inner,
            .strip = strip,
            .count = segments.count,
            .starts = segments.starts.data<int64_t>(),
            .order = segments.order.data<int64_t>(),
            .x = data_or_null(operands.x),
            .y = data_or_null(operands.y),
            .dy = data_or_null(operands.dy),
            .out = out.mutable_raw_data()},
           segments.count * pieces_of(inner, strip), rows_of_one * strip, 32768);
}

}  // namespace tapegrad
#endif  // HWY_ONCE
