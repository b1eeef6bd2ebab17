// The largest elements of windows of signals, images and volumes, and where they are.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/pooling/max_pool.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/detail/scratch.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/rows-inl.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/pooling/detail/pooling_windows.h>
#include <tapegrad/autograd/pooling.h>

#ifndef TAPEGRAD_MAX_POOL_ARGS
#define TAPEGRAD_MAX_POOL_ARGS
namespace tapegrad {
struct MaxPoolArgs {
  DType dtype;
  const WindowPair* windows;
  RegularRun run;  // of the columns
  const void* x;
  const void* end;  // of x
  void* y;
  int64_t* indices;  // or nullptr
};
}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// A row of the result: what its windows have in common.
template <class T>
struct MaxPoolRow {
  const T* plane;
  const Windows& w;
  int64_t first, count, step;  // rows of its windows
  T* y;
  int64_t* indices;

  // The window of output o, element by element.
  HWY_INLINE void one(int64_t o) const {
    const Windows::Window& columns = w.windows[static_cast<std::size_t>(o)];
    T best = -std::numeric_limits<T>::infinity();
    int64_t where = first * w.in + columns.first;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t begin = (first + i * step) * w.in + columns.first;
      for (int64_t j = 0; j < columns.count; ++j) {
        const T v = plane[begin + j * w.step];
        if (v > best || v != v) {
          best = v;
          where = begin + j * w.step;
        }
      }
    }
    y[o] = best;
    if (indices) indices[o] = where;
  }

  // `lanes` outputs from o on, at most kLanes, all of them within the run of the columns. `loaded(p)` is the vector of
  // the elements p[0], p[stride], ..
  template <bool kIndices, class Load>
  HWY_INLINE void several(int64_t o, int64_t lanes, const RegularRun& run, Load loaded) const {
    const int64_t begin = first * w.in + w.windows[static_cast<std::size_t>(o)].first;
    Vec<T> best = -std::numeric_limits<T>::infinity();
    Vec<T> number;  // of the element in its window
    T k = 0;
    for (int64_t i = 0; i < count; ++i) {
      const T* at = plane + begin + i * step * w.in;
      for (int64_t j = 0; j < run.count; ++j, at += w.step, k += 1) {
        const Vec<T> v = loaded(at);
        const Mask<T> better = (v > best) | (v != v);
        best = where(better, v, best);
        if constexpr (kIndices) number = where(better, Vec<T>(k), number);
      }
    }
    if (lanes == kLanes<T>) {
      store(best, y + o);
    } else {
      store(best, y + o, lanes);
    }
    if constexpr (kIndices) {
      T numbers[kLanes<T>];
      store(number, numbers);
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const auto n = static_cast<int64_t>(numbers[lane]);
        indices[o + lane] = begin + lane * run.stride + n / run.count * step * w.in + n % run.count * w.step;
      }
    }
  }
};

// A row of the result that vectors of windows do not fit: the maximum of each column, in vectors, and its row; then
// each window's maximum of these. Of equal elements it is the first in row-major order, of several NaN the last.
// `maxima` and `rows` have an element for each column.
template <class T>
HWY_INLINE void max_pool_by_columns(const MaxPoolRow<T>& row, T* maxima, T* rows) {
  const Windows& w = row.w;
  each_span<T>(w.in, [&](auto s) HWY_ATTR {
    Vec<T> best = -std::numeric_limits<T>::infinity(), number;
    for (int64_t i = 0; i < row.count; ++i) {
      const Vec<T> v = s.load(row.plane + (row.first + i * row.step) * w.in);
      const Mask<T> better = (v > best) | (v != v);
      best = where(better, v, best);
      number = where(better, Vec<T>(static_cast<T>(i)), number);
    }
    s.store(best, maxima);
    s.store(number, rows);
  });
  for (int64_t o = 0; o < w.out(); ++o) {
    const Windows::Window& columns = w.windows[static_cast<std::size_t>(o)];
    int64_t at = columns.first;
    T best = maxima[at], number = rows[at];
    for (int64_t j = 1, column = at + w.step; j < columns.count; ++j, column += w.step) {
      const T v = maxima[column], i = rows[column];
      const bool better = v == v ? (v > best) | ((v == best) & (i < number)) : (best == best) | (i >= number);
      best = better ? v : best;
      number = better ? i : number;
      at = better ? column : at;
    }
    row.y[o] = best;
    if (row.indices) row.indices[o] = (row.first + static_cast<int64_t>(number) * row.step) * w.in + at;
  }
}

template <class T, bool kIndices>
HWY_INLINE void max_pool_row(const MaxPoolRow<T>& row, const RegularRun& run, const T* end) {
  const int64_t out = row.w.out();
  int64_t o = 0;
  if (run.stride == 1 || run.stride == 2) {
    for (; o < run.begin; ++o) row.one(o);
    // one past the last element that a vector of the last row and column of a window reads
    const int64_t reach =
        (row.first + (row.count - 1) * row.step) * row.w.in + (run.count - 1) * row.w.step + run.stride * kLanes<T>;
    while (o < run.end && row.w.windows[static_cast<std::size_t>(o)].first + reach <= end - row.plane) {
      const int64_t lanes = std::min(run.end - o, kLanes<T>);
      if (run.stride == 1) {
        row.template several<kIndices>(o, lanes, run, [](const T* p) { return load(p); });
      } else {
        row.template several<kIndices>(o, lanes, run, [](const T* p) {
          Vec<T> even, odd;
          hn::LoadInterleaved2(hn::ScalableTag<T>(), p, even.raw, odd.raw);
          return even;
        });
      }
      o += lanes;
    }
  }
  for (; o < out; ++o) row.one(o);
}

// Fewer outputs are found by columns: each vector would have few of them, and reads every element of the windows again.
constexpr int64_t kLeastInVectors = 4;

// Consecutive rows of the results of all planes.
void max_pool_rows(const MaxPoolArgs& args, int64_t begin, int64_t end) {
  with_floating_type(args.dtype, [&]<class T>(T) {
    const auto& [h, w] = *args.windows;
    const bool in_vectors =
        args.run.stride <= 2 && args.run.end - args.run.begin >= std::min(kLanes<T>, kLeastInVectors);
    const Scratch<T> columns(in_vectors ? 0 : 2 * w.in);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t plane = i / h.out();
      const Windows::Window& rows = h.windows[static_cast<std::size_t>(i % h.out())];
      const MaxPoolRow<T> row{.plane = static_cast<const T*>(args.x) + plane * h.in * w.in,
                              .w = w,
                              .first = rows.first,
                              .count = rows.count,
                              .step = h.step,
                              .y = static_cast<T*>(args.y) + i * w.out(),
                              .indices = args.indices ? args.indices + i * w.out() : nullptr};
      if (!in_vectors && rows.count > 1) {
        max_pool_by_columns(row, columns.get(), columns.get() + w.in);
      } else if (args.indices) {
        max_pool_row<T, true>(row, args.run, static_cast<const T*>(args.end));
      } else {
        max_pool_row<T, false>(row, args.run, static_cast<const T*>(args.end));
      }
    }
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad {

HWY_EXPORT(max_pool_rows);

namespace {

const Op kMaxPool1d{"max_pool1d"};
const Op kMaxPool2d{"max_pool2d"};
const Op kMaxPool3d{"max_pool3d"};
const Op kAdaptiveMaxPool1d{"adaptive_max_pool1d"};
const Op kAdaptiveMaxPool2d{"adaptive_max_pool2d"};
const Op kAdaptiveMaxPool3d{"adaptive_max_pool3d"};

// dy [count, n] added to zeros [count, size] at the indices.
Tensor add_at(const Tensor& dy, const Tensor& indices, int64_t count, int64_t size) {
  const int64_t n = count == 0 ? 0 : dy.numel() / count;
  if (Tape::current()) {
    return scatter_add(zeros({count, size}, dy.dtype()), 1, indices.reshape({count, n}), dy.reshape({count, n}));
  }
  const Tensor dx = Tensor::empty({count, size}, dy.dtype());
  const Tensor from = packed(dy);
  const int64_t* const at = indices.data<int64_t>();
  with_floating_type(dy.dtype(), [&]<class T>(T) {
    const T* const values = from.data<T>();
    T* const sums = dx.mutable_data<T>();
    parallel_for_each(count, rows_grain(size + n), [&](int64_t plane) {
      T* const to = sums + plane * size;
      std::fill(to, to + size, T{0});
      for (int64_t i = plane * n; i < (plane + 1) * n; ++i) to[at[i]] += values[i];
    });
  });
  return dx;
}

// Of contiguous planes; not recorded.
MaxPooled max_of_planes(const Tensor& x, const Planes& planes, const WindowPair& windows, bool with_indices) {
  const Shape shape = planes.resized(x, windows.h.out(), windows.w.out());
  const Tensor y = Tensor::empty(shape, x.dtype());
  const Tensor indices = with_indices ? Tensor::empty(shape, kInt64) : Tensor();
  if (y.numel() == 0) return {y, indices};
  const auto at = [&](int64_t o) { return windows.w.windows[static_cast<std::size_t>(o)]; };
  const int64_t work = windows.w.out() * windows.h.windows[0].count * windows.w.windows[0].count;
  run_rows(kernel_of(HWY_DISPATCH_TABLE(max_pool_rows)),
           {.dtype = x.dtype(),
            .windows = &windows,
            .run = regular_run(
                windows.w.out(), [&](int64_t o) { return at(o).first; }, [&](int64_t o) { return at(o).count; }),
            .x = x.raw_data(),
            .end = static_cast<const std::byte*>(x.raw_data()) + x.numel() * item_size(x.dtype()),
            .y = y.mutable_raw_data(),
            .indices = indices.defined() ? indices.mutable_data<int64_t>() : nullptr},
           planes.count * windows.h.out(), work);
  return {y, indices};
}

// Of volumes: the maxima of each plane, and of these the maxima along the depths. The first of equal elements in
// row-major order is the first plane's first one, and the last NaN is the last plane's last one.
MaxPooled max_of_volumes(const Tensor& x, const Planes& planes, const PoolWindows& windows, bool with_indices) {
  const MaxPooled each = max_of_planes(x, planes.each_depth(), windows.plane, with_indices);
  const int64_t out_h = windows.plane.h.out(), out_w = windows.plane.w.out(), places = out_h * out_w;
  const Tensor flat = depth_by_plane(each.values);
  const MaxPooled all = max_of_planes(flat, Planes(flat), {windows.d, single_elements(places)}, with_indices);
  const Tensor values = plane_unflattened(all.values, out_h, out_w);
  if (!with_indices) return {values, {}};
  const int64_t* const inner = each.indices.data<int64_t>();
  int64_t* const outer = all.indices.mutable_data<int64_t>();
  const int64_t n = windows.d.out() * places;
  parallel_for(planes.count, rows_grain(n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * n; i < end * n; ++i) {
      outer[i] = outer[i] / places * planes.h * planes.w + inner[i / n * planes.d * places + outer[i]];
    }
  });
  return {values, plane_unflattened(all.indices, out_h, out_w)};
}

MaxPooled max_pool(const Op& op, const Tensor& given, const Planes& planes, const PoolWindows& windows,
                   bool with_indices) {
  for (const Windows* axis : {&windows.d, &windows.plane.h, &windows.plane.w}) {
    for (const Windows::Window& window : axis->windows) {
      if (window.count == 0) op.fail("expected windows with an element outside of the padding");
    }
  }
  const bool keep = needs_grad(given);
  const Tensor x = packed(given);
  const MaxPooled y = planes.axes == 3 ? max_of_volumes(x, planes, windows, keep || with_indices)
                                       : max_of_planes(x, planes, windows.plane, keep || with_indices);
  if (!keep) return y;
  const auto backward = [indices = y.indices, planes, from = x.shape()](const Tensor& dy) -> Grads {
    return add_at(dy, indices, planes.count, planes.d * planes.h * planes.w).reshape(from);
  };
  return {record(op, y.values, {given}, backward), y.indices};
}

MaxPooled sliding_max_pool(const Op& op, int axes, const Tensor& x, const PerAxis<int64_t>& kernel_size,
                           const MaxPoolOptions& options, bool with_indices) {
  const Planes planes(op, x, axes);
  const PoolWindows windows = sliding_windows(op, x, planes,
                                              {.kernel = kernel_size,
                                               .stride = options.stride,
                                               .padding = options.padding,
                                               .dilation = options.dilation,
                                               .ceil_mode = options.ceil_mode});
  return max_pool(op, x, planes, windows, with_indices);
}

MaxPooled adaptive_max_pool(const Op& op, int axes, const Tensor& x, const PerAxis<int64_t>& output_size,
                            bool with_indices) {
  const Planes planes(op, x, axes);
  return max_pool(op, x, planes, adaptive_windows(op, planes, output_size), with_indices);
}

}  // namespace

Tensor max_pool1d(const Tensor& x, const PerAxis<int64_t>& kernel_size, const MaxPoolOptions& options) {
  return sliding_max_pool(kMaxPool1d, 1, x, kernel_size, options, false).values;
}
Tensor max_pool2d(const Tensor& x, const PerAxis<int64_t>& kernel_size, const MaxPoolOptions& options) {
  return sliding_max_pool(kMaxPool2d, 2, x, kernel_size, options, false).values;
}
Tensor max_pool3d(const Tensor& x, const PerAxis<int64_t>& kernel_size, const MaxPoolOptions& options) {
  return sliding_max_pool(kMaxPool3d, 3, x, kernel_size, options, false).values;
}
MaxPooled max_pool1d_with_indices(const Tensor& x, const PerAxis<int64_t>& kernel_size, const MaxPoolOptions& options) {
  return sliding_max_pool(kMaxPool1d, 1, x, kernel_size, options, true);
}
MaxPooled max_pool2d_with_indices(const Tensor& x, const PerAxis<int64_t>& kernel_size, const MaxPoolOptions& options) {
  return sliding_max_pool(kMaxPool2d, 2, x, kernel_size, options, true);
}
MaxPooled max_pool3d_with_indices(const Tensor& x, const PerAxis<int64_t>& kernel_size, const MaxPoolOptions& options) {
  return sliding_max_pool(kMaxPool3d, 3, x, kernel_size, options, true);
}

Tensor adaptive_max_pool1d(const Tensor& x, const PerAxis<int64_t>& output_size) {
  return adaptive_max_pool(kAdaptiveMaxPool1d, 1, x, output_size, false).values;
}
Tensor adaptive_max_pool2d(const Tensor& x, const PerAxis<int64_t>& output_size) {
  return adaptive_max_pool(kAdaptiveMaxPool2d, 2, x, output_size, false).values;
}
Tensor adaptive_max_pool3d(const Tensor& x, const PerAxis<int64_t>& output_size) {
  return adaptive_max_pool(kAdaptiveMaxPool3d, 3, x, output_size, false).values;
}
MaxPooled adaptive_max_pool1d_with_indices(const Tensor& x, const PerAxis<int64_t>& output_size) {
  return adaptive_max_pool(kAdaptiveMaxPool1d, 1, x, output_size, true);
}
MaxPooled adaptive_max_pool2d_with_indices(const Tensor& x, const PerAxis<int64_t>& output_size) {
  return adaptive_max_pool(kAdaptiveMaxPool2d, 2, x, output_size, true);
}
MaxPooled adaptive_max_pool3d_with_indices(const Tensor& x, const PerAxis<int64_t>& output_size) {
  return adaptive_max_pool(kAdaptiveMaxPool3d, 3, x, output_size, true);
}

}  // namespace tapegrad
#endif  // HWY_ONCE
