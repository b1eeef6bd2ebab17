// Running results along one axis: cumsum, cumprod, logcumsumexp, cummax, cummin, and the recurrence of their gradients.
// build: -O2
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/reduce/scan.cpp"
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/kernels/simd/rows-inl.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/shapes.h>
#include <tapegrad/autograd/ops/detail/wrapping.h>

#ifndef TAPEGRAD_SCAN_ARGS
#define TAPEGRAD_SCAN_ARGS
namespace tapegrad {

enum class Scan { sum, product, log_sum_exp, recurrence, maximum, minimum, extreme_gradient };

inline constexpr int64_t kScanColumns = 256;  // columns for one thread to scan at a time
inline constexpr int64_t kScanRows = 4;       // rows of single columns whose sums are computed at the same time

// x [outer, n, inner] -> y of this shape, along the middle axis. Rows of the kernel are tiles of columns.
struct ScanArgs {
  Scan kind;
  DType dtype;
  bool backwards;  // from the end of the axis
  int64_t n, inner;
  const void* x;
  const void* links;  // of the recurrence
  void* y;
  int64_t* places;  // of maximum, minimum and their gradient
};

// float32 is summed and multiplied in float64.
template <class T>
using ScanSum = std::conditional_t<std::is_same_v<T, float>, double, T>;

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// One tile: `width` columns from `first` on. step(state, i, at) advances the state by row i, whose element has the
// offset `at` in the tensors; a single column keeps its state in a register.
template <class State, class Step>
HWY_INLINE void scan_tile(const ScanArgs& args, int64_t first, int64_t width, State start, Step step) {
  const int64_t n = args.n, inner = args.inner;
  const auto row = [&](int64_t i) { return args.backwards ? n - 1 - i : i; };
  if (width == 1) {
    State state = start;
    for (int64_t i = 0; i < n; ++i) step(state, i, first + row(i) * inner);
  } else {
    State states[kScanColumns];
    std::fill(states, states + width, start);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = first + row(i) * inner;
      for (int64_t j = 0; j < width; ++j) step(states[j], i, at + j);
    }
  }
}

// The largest or smallest element so far and its last position; NaN wins over all numbers.
template <bool kLargest, class T>
void scan_extremes(const ScanArgs& args, int64_t first, int64_t width) {
  using Limits = std::numeric_limits<T>;
  constexpr T kLowest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  constexpr T kHighest = Limits::has_infinity ? Limits::infinity() : Limits::max();
  const auto surpasses = [](T v, T best) { return v != v || (kLargest ? v >= best : v <= best); };
  const T* x = static_cast<const T*>(args.x) + first;
  T* y = static_cast<T*>(args.y) + first;
  int64_t* places = args.places + first;
  T best[kScanColumns];
  int64_t place[kScanColumns];
  std::fill(best, best + width, kLargest ? kLowest : kHighest);
  for (int64_t i = 0; i < args.n; ++i, x += args.inner, y += args.inner, places += args.inner) {
    for (int64_t j = 0; j < width; ++j) {
      const bool better = surpasses(x[j], best[j]);
      best[j] = better ? x[j] : best[j];
      place[j] = better ? i : place[j];
    }
    std::copy(best, best + width, y);
    std::copy(place, place + width, places);
  }
}

// The same for a single column: the next element that surpasses the best one is looked for in a loop of its own, whose
// steps do not wait for each other.
template <bool kLargest, class T>
void scan_extremes_of_row(const ScanArgs& args, int64_t first) {
  const T* const x = static_cast<const T*>(args.x) + first;
  T* const y = static_cast<T*>(args.y) + first;
  int64_t* const places = args.places + first;
  for (int64_t i = 0; i < args.n;) {
    const T best = x[i];
    const int64_t place = i;
    do {
      y[i] = best;
      places[i] = place;
      ++i;
    } while (i < args.n && x[i] == x[i] && !(kLargest ? x[i] >= best : x[i] <= best));
  }
}

// The gradient of both: positions do not decrease, so each position gets the sum of a run of dy, which begins at that
// position.
template <class T>
void scan_extreme_gradient(const ScanArgs& args, int64_t first, int64_t width) {
  const T* const dy = static_cast<const T*>(args.x);
  T* const dx = static_cast<T*>(args.y);
  const int64_t* const places = args.places;
  const int64_t n = args.n;
  scan_tile(args, first, width, 0., [=](double& run, int64_t i, int64_t at) {
    run += static_cast<double>(dy[at]);
    const bool own = places[at] == n - 1 - i;
    dx[at] = static_cast<T>(own ? run : 0);
    run = own ? 0 : run;
  });
}

// log(exp(a) + exp(b)); for two infinities of the same sign, that infinity.
HWY_INLINE Vec<double> log_add_exp(Vec<double> a, Vec<double> b) {
  const Vec<double> apart = where(a == b, Vec<double>(0.), -abs(a - b));
  return maximum(a, b) + log1p(exp_nonpositive(apart));
}

// Columns of logcumsumexp, one vector at a time. `apart` is the distance between columns, `down` the distance between
// rows.
template <class T>
void scan_log_sums(const ScanArgs& args, int64_t first, int64_t width, int64_t apart, int64_t down) {
  const T* const x = static_cast<const T*>(args.x);
  T* const y = static_cast<T*>(args.y);
  for (int64_t j = 0; j < width; j += kLanes<double>) {
    const int64_t lanes = std::min(kLanes<double>, width - j);
    Vec<double> total = -std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < args.n; ++i) {
      const int64_t at = first + j * apart + i * down;
      double numbers[kLanes<double>] = {};
      for (int64_t k = 0; k < lanes; ++k) numbers[k] = static_cast<double>(x[at + k * apart]);
      total = log_add_exp(total, load(numbers));
      store(total, numbers);
      for (int64_t k = 0; k < lanes; ++k) y[at + k * apart] = static_cast<T>(numbers[k]);
    }
  }
}

// Sums, or products, of kRows rows (1 or 4) of a single column, which do not wait for one another.
template <int64_t kRows, class T, class Combine>
HWY_INLINE void scan_sums_of_rows(const ScanArgs& args, int64_t first, ScanSum<T> start, Combine combine) {
  using Sum = ScanSum<T>;
  const int64_t n = args.n, step = args.backwards ? -1 : 1;
  const T* const x = static_cast<const T*>(args.x) + first * n;
  T* const y = static_cast<T*>(args.y) + first * n;
  Sum a = start, b = start, c = start, d = start;
  const auto add = [ x, y, combine ](Sum & total, int64_t at) HWY_ATTR __attribute__((always_inline)) {
    total = combine(total, static_cast<Sum>(x[at]));
    y[at] = static_cast<T>(total);
  };
  int64_t at = args.backwards ? n - 1 : 0;
  for (int64_t i = 0; i < n; ++i, at += step) {
    add(a, at);
    if constexpr (kRows == 4) add(b, at + n), add(c, at + 2 * n), add(d, at + 3 * n);
  }
}

// Rows [begin, end) of a single column.
template <class T, class Combine>
void scan_sums(const ScanArgs& args, int64_t begin, int64_t end, ScanSum<T> start, Combine combine) {
  static_assert(kScanRows == 4);
  for (; begin + kScanRows <= end; begin += kScanRows) {
    scan_sums_of_rows<kScanRows, T>(args, begin, start, combine);
  }
  for (; begin < end; ++begin) scan_sums_of_rows<1, T>(args, begin, start, combine);
}

template <class T>
void scan_tile_of(const ScanArgs& args, int64_t first, int64_t width) {
  using Sum = ScanSum<T>;
  const T* const x = static_cast<const T*>(args.x);
  T* const y = static_cast<T*>(args.y);
  switch (args.kind) {
    case Scan::sum:
      return scan_tile(args, first, width, Sum{0}, [x, y](Sum& total, int64_t, int64_t at) {
        total = wrapping_sum(total, static_cast<Sum>(x[at]));
        y[at] = static_cast<T>(total);
      });
    case Scan::product:
      return scan_tile(args, first, width, Sum{1}, [x, y](Sum& total, int64_t, int64_t at) {
        total = wrapping_product(total, static_cast<Sum>(x[at]));
        y[at] = static_cast<T>(total);
      });
    case Scan::maximum:
      return args.inner == 1 ? scan_extremes_of_row<true, T>(args, first) : scan_extremes<true, T>(args, first, width);
    case Scan::minimum:
      return args.inner == 1 ? scan_extremes_of_row<false, T>(args, first)
                             : scan_extremes<false, T>(args, first, width);
    default: break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (args.kind == Scan::extreme_gradient) return scan_extreme_gradient<T>(args, first, width);
    if (args.kind == Scan::log_sum_exp) return scan_log_sums<T>(args, first, width, 1, args.inner);
    // Forwards y[i] = x[i] + links[i] y[i - 1], backwards y[i] = x[i] + links[i + 1] y[i + 1]: the state is what the
    // next row adds, with the link of the later of both rows.
    const T* const links = static_cast<const T*>(args.links);
    if (args.backwards) {
      return scan_tile(args, first, width, 0., [=](double& carried, int64_t, int64_t at) {
        const double total = carried + static_cast<double>(x[at]);
        y[at] = static_cast<T>(total);
        carried = total * static_cast<double>(links[at]);
      });
    }
    return scan_tile(args, first, width, 0., [=](double& total, int64_t i, int64_t at) {
      const double carried = i == 0 ? 0 : total * static_cast<double>(links[at]);
      total = carried + static_cast<double>(x[at]);
      y[at] = static_cast<T>(total);
    });
  }
}

void scan_rows(const ScanArgs& args, int64_t begin, int64_t end) {
  with_type(args.dtype, [&]<class T>(T) {
    const int64_t tiles = pieces_of(args.inner, kScanColumns);
    if constexpr (std::is_floating_point_v<T>) {
      if (args.kind == Scan::log_sum_exp && args.inner == 1) {  // rows take the place of columns
        return scan_log_sums<T>(args, begin * args.n, end - begin, args.n, 1);
      }
    }
    using Sum = ScanSum<T>;
    if (args.inner == 1 && args.kind == Scan::sum) {
      return scan_sums<T>(args, begin, end, 0, [](Sum a, Sum b) { return wrapping_sum(a, b); });
    }
    if (args.inner == 1 && args.kind == Scan::product) {
      return scan_sums<T>(args, begin, end, 1, [](Sum a, Sum b) { return wrapping_product(a, b); });
    }
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t column = piece % tiles * kScanColumns;
      const int64_t first = piece / tiles * args.n * args.inner + column;
      scan_tile_of<T>(args, first, std::min(kScanColumns, args.inner - column));
    }
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <limits>

namespace tapegrad {

HWY_EXPORT(scan_rows);

namespace {

const Op kCumsum{"cumsum"};
const Op kCumprod{"cumprod"};
const Op kLogcumsumexp{"logcumsumexp"};
const Op kCummax{"cummax"};
const Op kCummin{"cummin"};
const Op kRecurrence{"recurrence"};

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct ScanOptions {
  bool backwards = false;
  Tensor links = {};
  Tensor places = {};
};

// The result of a scan, in the shape and type of x. Not recorded.
Tensor scanned(Scan kind, const Tensor& given, int axis, const ScanOptions& options = {}) {
  const Tensor y = Tensor::empty(given.shape(), given.dtype());
  if (y.numel() == 0) return y;
  const OuterAxisInner around(given.shape(), axis);
  const Tensor x = packed(given), links = packed(options.links);
  const int64_t tiles = pieces_of(around.inner, kScanColumns);
  run_rows(kernel_of(HWY_DISPATCH_TABLE(scan_rows)),
           {.kind = kind,
            .dtype = x.dtype(),
            .backwards = options.backwards,
            .n = around.size,
            .inner = around.inner,
            .x = x.raw_data(),
            .links = data_or_null(links),
            .y = y.mutable_raw_data(),
            .places = options.places.defined() ? options.places.mutable_data<int64_t>() : nullptr},
           around.outer * tiles, around.size * std::min(around.inner, kScanColumns),
           std::max<int64_t>(8192, kScanRows * around.size));
  return y;
}

// Forwards from the start of the axis, or backwards from its end; each is the gradient of the other.
Tensor running_sum(const Tensor& x, int axis, bool backwards) {
  return record(kCumsum, scanned(Scan::sum, x, axis, {.backwards = backwards}), {x},
                [axis, backwards](const Tensor& dy) -> Grads { return running_sum(dy, axis, !backwards); });
}

// x shifted by one along the axis, with `filling` as the first element.
Tensor moved_on(const Tensor& x, int axis, double filling) {
  if (x.shape()[axis] == 0) return x;
  return cat({full(with_size(x.shape(), axis, 1), filling, x.dtype()), x.slice(axis, 0, -1)}, axis);
}

// y[i] = x[i] + links[i] y[i - 1] along the axis; backwards y[i] = x[i] + links[i + 1] y[i + 1], which is the gradient
// of x. The first link is not used.
Tensor recurrence(const Tensor& links, const Tensor& x, int axis, bool backwards) {
  const Tensor y = scanned(Scan::recurrence, x, axis, {.backwards = backwards, .links = links});
  const bool wants_links = needs_grad(links);
  return record(kRecurrence, y, {links, x},
                [links, y = kept_if(wants_links, y), axis, backwards](const Tensor& dy) -> Grads {
                  const Tensor dx = recurrence(links, dy, axis, !backwards);
                  if (!y.defined()) return {Tensor(), dx};
                  // link i was multiplied by y[i - 1] and added to y[i], or the other way round
                  return {backwards ? moved_on(dx, axis, 0) * y : dx * moved_on(y, axis, 0), dx};
                });
}

Sorted running_extreme(const Op& op, Scan kind, const Tensor& x, int64_t axis) {
  if (is_scalar_axis(x, axis)) {
    const auto [values, indices] = running_extreme(op, kind, x.reshape({1}), 0);
    return {values.reshape({}), indices.reshape({})};
  }
  const int i = normal_axis(op.name, axis, x.shape());
  const Tensor places = Tensor::empty(x.shape(), kInt64);
  const Tensor values = scanned(kind, x, i, {.places = places});
  return {record(op, values, {x},
                 [places, i](const Tensor& dy) -> Grads {
                   if (Tape::current()) return scatter_add(zeros_like(dy), i, places, dy);
                   return scanned(Scan::extreme_gradient, dy, i, {.backwards = true, .places = places});
                 }),
          places};
}

}  // namespace

Tensor cumsum(const Tensor& x, int64_t axis) {
  if (widens_to_int64(x.dtype())) return cumsum(x.to(kInt64), axis);
  if (is_scalar_axis(x, axis)) return cumsum(x.reshape({1}), 0).reshape({});
  return running_sum(x, normal_axis(kCumsum.name, axis, x.shape()), false);
}

Tensor cumprod(const Tensor& x, int64_t axis) {
  if (widens_to_int64(x.dtype())) return cumprod(x.to(kInt64), axis);
  if (is_scalar_axis(x, axis)) return cumprod(x.reshape({1}), 0).reshape({});
  const int i = normal_axis(kCumprod.name, axis, x.shape());
  const Tensor y = scanned(Scan::product, x, i);
  return record(kCumprod, y, {x}, [x, y, i](const Tensor& dy) -> Grads {
    // dx[i] = y[i - 1] (dy[i] + x[i + 1] (dy[i + 1] + x[i + 2] (...))), without a division: zeros are like any number
    return moved_on(y, i, 1) * recurrence(x, dy, i, true);
  });
}

Tensor logcumsumexp(const Tensor& x, int64_t axis) {
  require_floating(kLogcumsumexp.name, {&x});
  if (is_scalar_axis(x, axis)) return logcumsumexp(x.reshape({1}), 0).reshape({});
  const int i = normal_axis(kLogcumsumexp.name, axis, x.shape());
  const Tensor y = scanned(Scan::log_sum_exp, x, i);
  return record(kLogcumsumexp, y, {x}, [x, y, i](const Tensor& dy) -> Grads {
    // dx[i] = exp(x[i] - y[i]) (dy[i] + exp(y[i] - y[i + 1]) (dy[i + 1] + ...)); no difference is above 0
    const Tensor earlier = moved_on(y, i, -kInfinity);
    const Tensor same = earlier == y && !isfinite(y.detach());
    const Tensor links = exp(masked_fill(earlier - y, same, 0));
    const Tensor nothing = y == -kInfinity;
    return masked_fill(exp(masked_fill(x - y, nothing, 0)), nothing, 0) * recurrence(links, dy, i, true);
  });
}

Sorted cummax(const Tensor& x, int64_t axis) { return running_extreme(kCummax, Scan::maximum, x, axis); }

Sorted cummin(const Tensor& x, int64_t axis) { return running_extreme(kCummin, Scan::minimum, x, axis); }

}  // namespace tapegrad
#endif  // HWY_ONCE
