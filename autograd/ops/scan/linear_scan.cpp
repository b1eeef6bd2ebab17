// linear_scan: h[t] = a[t] h[t - 1] + b[t] along an axis, and its gradient, which is a scan in the other direction.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/scan/linear_scan.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/rows-inl.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/scan.h>

#ifndef TAPEGRAD_LINEAR_SCAN_ARGS
#define TAPEGRAD_LINEAR_SCAN_ARGS
#include <cmath>

namespace tapegrad {

inline constexpr int64_t kTileColumns = 512;  // columns for one thread to scan at a time
inline constexpr int64_t kLinesAtOnce = 8;    // lines that are too few for a vector; their steps overlap in time

// Tensors [outer, n, inner], scanned along the middle axis. From the `last` row of the scan's direction on, the
// gradient goes back.
struct LinearScanArgs {
  DType dtype;
  bool gradient = false;
  bool reverse = false;
  bool shifted = false;  // h[t] = a[t - 1] h[t - 1] + b[t]: a factor belongs to the state it is multiplied by
  const void* a;
  const void* b;            // dh of the gradient
  const void* initial;      // [outer, inner], or nullptr
  const void* h = nullptr;  // of the gradient of a, whose result is da
  void* y;                  // h, or db
  void* da = nullptr;
  int64_t outer = 1, n = 1, inner = 1;
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

template <class T>
struct LinearScan {
  const T* a;
  const T* b;
  const T* initial;
  const T* h;
  T* y;
  T* da;
  int64_t n, step;  // from one row to the next in the direction of the scan
  int64_t link;     // from a row to the one that has its factor

  HWY_INLINE explicit LinearScan(const LinearScanArgs& args)
      : a(static_cast<const T*>(args.a)),
        b(static_cast<const T*>(args.b)),
        initial(static_cast<const T*>(args.initial)),
        h(static_cast<const T*>(args.h)),
        y(static_cast<T*>(args.y)),
        da(static_cast<T*>(args.da)),
        n(args.n),
        step(args.reverse ? -args.inner : args.inner),
        link(args.shifted ? -step : 0) {}
};

// `width` columns, whose first row begins at `first` and whose initial state begins at `state`.
template <class T>
void scan_columns(const LinearScan<T>& s, int64_t first, int64_t state, int64_t width) {
  const int64_t start = s.step < 0 ? first - (s.n - 1) * s.step : first;
  each_span<T>(width, [&](auto c) {
    const Vec<T> b = c.load(s.b + start);
    c.store(s.initial ? fma(c.load(s.a + start), c.load(s.initial + state), b) : b, s.y + start);
  });
  for (int64_t i = 1; i < s.n; ++i) {
    const int64_t at = start + i * s.step;
    const T* const a = s.a + at + s.link;
    const T* const b = s.b + at;
    T* const y = s.y + at;
    each_span<T>(width, [&](auto c) { c.store(fma(c.load(a), c.load(y - s.step), c.load(b)), y); });
  }
}

// db[t] = dh[t] + a[t + 1] db[t + 1] and da[t] = db[t] h[t - 1].
template <class T>
void scan_gradient_columns(const LinearScan<T>& s, int64_t first, int64_t state, int64_t width) {
  const int64_t start = s.step < 0 ? first - (s.n - 1) * s.step : first;
  for (int64_t i = s.n - 1; i >= 0; --i) {
    const int64_t at = start + i * s.step;
    const T* const before = i > 0 ? s.h + at - s.step : s.initial ? s.initial + state : nullptr;
    each_span<T>(width, [&](auto c) {
      const Vec<T> dh = c.load(s.b + at);
      const Vec<T> g = i + 1 < s.n ? fma(c.load(s.a + at + s.step), c.load(s.y + at + s.step), dh) : dh;
      c.store(g, s.y + at);
      if (s.da) c.store(g * (before ? c.load(before) : Vec<T>(T{0})), s.da + at);
    });
  }
}

// The same for single elements, of `kCount` lines in turn: each waits for the one before it in its line.
template <int64_t kCount, class T>
HWY_INLINE void scan_lines(const LinearScan<T>& s, const int64_t* first, int64_t state) {
  T h[kCount];
  for (int64_t r = 0; r < kCount; ++r) {
    const int64_t at = first[r];
    h[r] = s.initial ? std::fma(s.a[at], s.initial[state + r], s.b[at]) : s.b[at];
    s.y[at] = h[r];
  }
  for (int64_t i = 1; i < s.n; ++i) {
    for (int64_t r = 0; r < kCount; ++r) {
      const int64_t at = first[r] + i * s.step;
      h[r] = std::fma(s.a[at + s.link], h[r], s.b[at]);
      s.y[at] = h[r];
    }
  }
}

template <int64_t kCount, class T>
HWY_INLINE void scan_gradient_lines(const LinearScan<T>& s, const int64_t* first, int64_t state) {
  T g[kCount];
  const auto put = [&](int64_t i, int64_t r, T value) {
    const int64_t at = first[r] + i * s.step;
    g[r] = s.y[at] = value;
    if (s.da) s.da[at] = value * (i > 0 ? s.h[at - s.step] : s.initial ? s.initial[state + r] : T{0});
  };
  for (int64_t r = 0; r < kCount; ++r) put(s.n - 1, r, s.b[first[r] + (s.n - 1) * s.step]);
  for (int64_t i = s.n - 2; i >= 0; --i) {
    for (int64_t r = 0; r < kCount; ++r) {
      const int64_t at = first[r] + i * s.step;
      put(i, r, std::fma(s.a[at + s.step], g[r], s.b[at]));
    }
  }
}

// Lines [begin, end) of tensors whose rows are shorter than a vector.
template <class T>
void scan_short_rows(const LinearScanArgs& args, const LinearScan<T>& s, int64_t begin, int64_t end) {
  const auto first_of = [&](int64_t line) {
    const int64_t first = line / args.inner * args.n * args.inner + line % args.inner;
    return args.reverse ? first + (args.n - 1) * args.inner : first;
  };
  int64_t first[kLinesAtOnce];
  int64_t line = begin;
  for (; line + kLinesAtOnce <= end; line += kLinesAtOnce) {
    for (int64_t r = 0; r < kLinesAtOnce; ++r) first[r] = first_of(line + r);
    args.gradient ? scan_gradient_lines<kLinesAtOnce>(s, first, line) : scan_lines<kLinesAtOnce>(s, first, line);
  }
  for (; line < end; ++line) {
    first[0] = first_of(line);
    args.gradient ? scan_gradient_lines<1>(s, first, line) : scan_lines<1>(s, first, line);
  }
}

void linear_scan_tiles(const LinearScanArgs& args, int64_t begin, int64_t end) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    const LinearScan<T> s(args);
    const int64_t tiles = pieces_of(args.inner, kTileColumns);
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t column = piece % tiles * kTileColumns, outer = piece / tiles;
      const int64_t width = std::min(kTileColumns, args.inner - column);
      const int64_t first = outer * args.n * args.inner + column, state = outer * args.inner + column;
      args.gradient ? scan_gradient_columns(s, first, state, width) : scan_columns(s, first, state, width);
    }
  });
}

void linear_scan_lines(const LinearScanArgs& args, int64_t begin, int64_t end) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    const LinearScan<T> s(args);
    scan_short_rows(args, s, begin * kLinesAtOnce, std::min(end * kLinesAtOnce, args.outer * args.inner));
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops/detail/shapes.h>

#include <tuple>
#include <utility>

namespace tapegrad {

HWY_EXPORT(linear_scan_tiles);
HWY_EXPORT(linear_scan_lines);

namespace {

const Op kLinearScan{"linear_scan"};

constexpr int64_t kShortRow = 8;  // elements of a row that is scanned element by element

void run(LinearScanArgs args, const OuterAxisInner& around) {
  args.outer = around.outer;
  args.n = around.size;
  args.inner = around.inner;
  if (around.outer * around.size * around.inner == 0) return;
  if (around.inner < kShortRow) {
    run_rows(kernel_of(HWY_DISPATCH_TABLE(linear_scan_lines)), args,
             pieces_of(around.outer * around.inner, kLinesAtOnce), around.size * kLinesAtOnce);
  } else {
    run_rows(kernel_of(HWY_DISPATCH_TABLE(linear_scan_tiles)), args,
             around.outer * pieces_of(around.inner, kTileColumns), around.size * std::min(around.inner, kTileColumns));
  }
}

struct Way {
  int axis;
  bool reverse;
  bool shifted = false;
};

// x moved by one row in the direction of the scan; the first row becomes `first`, or zeros. Recorded.
Tensor moved_on(const Tensor& x, const Way& way, const Tensor& first) {
  const Shape shape = with_size(x.shape(), way.axis, 1);
  const Tensor start = first.defined() ? first.reshape(shape) : zeros(shape, x.dtype());
  if (way.reverse) return cat({x.slice(way.axis, 1), start}, way.axis);
  return cat({start, x.slice(way.axis, 0, -1)}, way.axis);
}

// The gradients of a and b in one pass; a's only with h.
std::pair<Tensor, Tensor> gradients(const Tensor& a, const Tensor& initial, const Tensor& h, const Tensor& dh,
                                    const Way& way) {
  const Tensor db = Tensor::empty(a.shape(), a.dtype());
  const Tensor da = h.defined() ? Tensor::empty(a.shape(), a.dtype()) : Tensor();
  const Tensor factors = packed(a), start = packed(initial), given = packed(dh);
  run({.dtype = a.dtype(),
       .gradient = true,
       .reverse = way.reverse,
       .a = factors.raw_data(),
       .b = given.raw_data(),
       .initial = data_or_null(start),
       .h = data_or_null(h),
       .y = db.mutable_raw_data(),
       .da = mutable_data_or_null(da)},
      OuterAxisInner(a.shape(), way.axis));
  return {da, db};
}

// a, b and h of one shape; initial has it without the axis, or is empty.
Tensor scan(const Tensor& a, const Tensor& b, const Tensor& initial, const Way& way) {
  const Tensor h = Tensor::empty(b.shape(), b.dtype());
  const Tensor factors = packed(a), terms = packed(b), start = packed(initial);
  run({.dtype = b.dtype(),
       .reverse = way.reverse,
       .shifted = way.shifted,
       .a = factors.raw_data(),
       .b = terms.raw_data(),
       .initial = data_or_null(start),
       .y = h.mutable_raw_data()},
      OuterAxisInner(b.shape(), way.axis));
  const bool wants_initial = initial.defined() && needs_grad(initial);
  return record(kLinearScan, h, {a, b, initial},
                [a, initial = kept_if(needs_grad(a), initial), h = kept_if(needs_grad(a), h), wants_initial,
                 way](const Tensor& dh) -> Grads {
                  if (dh.shape()[way.axis] == 0) {  // sums of no steps
                    return {dh, dh, wants_initial ? sum(dh, way.axis) : Tensor()};
                  }
                  Tensor da, db, dinitial;
                  if (Tape::current() || way.shifted) {
                    const Way back{way.axis, !way.reverse, !way.shifted};
                    db = scan(a, dh, {}, back);
                    if (h.defined()) da = way.shifted ? moved_on(db, back, {}) * h : db * moved_on(h, way, initial);
                  } else {
                    std::tie(da, db) = gradients(a, initial, h, dh, way);
                  }
                  if (wants_initial) {
                    const int64_t from = way.reverse ? dh.shape()[way.axis] - 1 : 0;
                    dinitial =
                        (a.slice(way.axis, from, from + 1) * db.slice(way.axis, from, from + 1)).squeeze(way.axis);
                  }
                  return {da, db, dinitial};
                });
}

}  // namespace

Tensor linear_scan(const Tensor& a, const Tensor& b, int64_t axis, const Tensor& initial, Flag reverse) {
  require_floating(kLinearScan.name, {&a, &b, &initial});
  const Shape shape = broadcast(kLinearScan.name, a.shape(), b.shape());
  const int i = normal_axis(kLinearScan.name, axis, shape);
  if (!initial.defined()) return scan(a.expand(shape), b.expand(shape), {}, {i, reverse});
  Shape states;
  for (int k = 0; k < shape.rank(); ++k) {
    if (k != i) states.push_back(shape[k]);
  }
  require(broadcasts_to(initial.shape(), states), kLinearScan,
          "expected an initial state that broadcasts to {}, got {}", states, initial.shape());
  return scan(a.expand(shape), b.expand(shape), initial.expand(states), {i, reverse});
}

}  // namespace tapegrad
#endif  // HWY_ONCE
