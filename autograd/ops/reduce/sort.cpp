// Order along one axis: sort, topk and median. Elements are sorted together with their positions, which makes any sort
// stable. Long rows are sorted by the bytes of a key, without comparisons.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/tape_watch.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/reduce.h>
#include <tapegrad/autograd/ops/detail/shapes.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>

namespace tapegrad {
namespace {

const Op kSort{"sort"};
const Op kTopk{"topk"};
const Op kMedian{"median"};

template <class T>
struct Placed {
  T value;
  int64_t place;
};

struct Keyed {
  uint64_t key;
  int64_t place;
};
constexpr int64_t kLeastByBytes = 200;  // shorter rows are sorted faster by comparing

// A number as bits in the same order: NaN last, both zeros equal.
template <class T>
uint64_t key_of(T v) {
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == sizeof(float), uint32_t, uint64_t>;
    constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
    if (v != v) return static_cast<Bits>(~Bits{0});
    const Bits bits = std::bit_cast<Bits>(v == 0 ? T{0} : v);
    return (bits & kSign) != 0 ? static_cast<Bits>(~bits) : bits | kSign;
  } else if constexpr (sizeof(T) == 1) {
    return v;
  } else {
    return static_cast<uint64_t>(v) ^ uint64_t { 1 } << 63;
  }
}

// A radix sort: sorts a row [n] by the lowest `bytes` bytes of its keys, the last byte first; returns `row` or
// `other`, which has the result. The order of equal keys remains.
Keyed* sort_by_bytes(Keyed* row, Keyed* other, int64_t n, int bytes) {
  std::array<std::array<int64_t, 256>, 8> counts{};
  for (int64_t i = 0; i < n; ++i) {
    for (int b = 0; b < bytes; ++b) ++counts[static_cast<std::size_t>(b)][row[i].key >> 8 * b & 255];
  }
  for (int b = 0; b < bytes; ++b) {
    auto& next = counts[static_cast<std::size_t>(b)];
    if (next[row[0].key >> 8 * b & 255] == n) continue;  // the same byte everywhere
    int64_t before = 0;
    for (int64_t& count : next) before += std::exchange(count, before);
    for (int64_t i = 0; i < n; ++i) other[next[row[i].key >> 8 * b & 255]++] = row[i];
    std::swap(row, other);
  }
  return row;
}

template <class T>
void sort_long_row(const T* x, int64_t n, bool descending, T* values, int64_t* places) {
  constexpr uint64_t kAll = ~uint64_t{0} >> (64 - 8 * sizeof(T));
  const std::size_t bytes = 2 * static_cast<std::size_t>(n) * sizeof(Keyed);
  auto* const work = static_cast<Keyed*>(pool::acquire(bytes));
  for (int64_t i = 0; i < n; ++i) work[i] = {descending ? key_of(x[i]) ^ kAll : key_of(x[i]), i};
  const Keyed* const sorted = sort_by_bytes(work, work + n, n, sizeof(T));
  for (int64_t i = 0; i < n; ++i) {
    values[i] = x[sorted[i].place];
    places[i] = sorted[i].place;
  }
  pool::release(work, bytes);
}

// The first k values along x's last axis in order, and their positions; NaN is the largest.
std::pair<Tensor, Tensor> in_order(const Op& op, const Tensor& x, int64_t k, bool descending) {
  const int64_t n = x.shape().back();
  const Shape shape = with_size(x.shape(), -1, k);
  const Tensor values = Tensor::empty(shape, x.dtype());
  const Tensor places = Tensor::empty(shape, kInt64);
  if (values.numel() > 0) {
    const Tensor from = packed(x);
    with_type(x.dtype(), [&]<class T>(T) {
      const T* const x_data = from.data<T>();
      T* const y = values.mutable_data<T>();
      int64_t* const place = places.mutable_data<int64_t>();
      parallel_for(x.numel() / n, rows_grain(n, 4096), [&](int64_t begin, int64_t end) {
        const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(Placed<T>);
        auto* const row = static_cast<Placed<T>*>(pool::acquire(bytes));
        for (int64_t o = begin; o < end; ++o) {
          if (k == n && n >= kLeastByBytes) {
            sort_long_row(x_data + o * n, n, descending, y + o * n, place + o * n);
            continue;
          }
          const auto before = [descending](const Placed<T>& a, const Placed<T>& b) {
            const bool less = a.value < b.value || (a.value == a.value && b.value != b.value);
            const bool more = b.value < a.value || (b.value == b.value && a.value != a.value);
            return less == more ? a.place < b.place : descending ? more : less;
          };
          const T* const numbers = x_data + o * n;
          for (int64_t i = 0; i < k; ++i) row[i] = {numbers[i], i};
          if (k < n) {  // a heap of the first k so far
            std::make_heap(row, row + k, before);
            for (int64_t i = k; i < n; ++i) {
              if (descending ? numbers[i] <= row[0].value : numbers[i] >= row[0].value) continue;
              if (!before({numbers[i], i}, row[0])) continue;  // NaN
              std::pop_heap(row, row + k, before);
              row[k - 1] = {numbers[i], i};
              std::push_heap(row, row + k, before);
            }
            std::sort_heap(row, row + k, before);
          } else {
            std::sort(row, row + n, before);
          }
          for (int64_t i = 0; i < k; ++i) {
            y[o * k + i] = row[i].value;
            place[o * k + i] = row[i].place;
          }
        }
        pool::release(row, bytes);
      });
    });
  }
  auto backward = [places, shape = x.shape()](const Tensor& dy) -> Grads {
    return scatter_add(zeros(shape, dy.dtype()), -1, places, dy);
  };
  return {with_settings(record(op, values, {x}, std::move(backward)), "axis", -1, "ids", places), places};
}

// The first k along the axis; all of them without a k.
Sorted first_in_order(const Op& op, const Tensor& x, int64_t axis, std::optional<int64_t> wanted, bool descending) {
  if (is_narrow_integer(x.dtype())) {
    const auto [values, places] = first_in_order(op, x.to(kInt64), axis, wanted, descending);
    return {values.to(x.dtype()), places};
  }
  const auto [values, indices] = along_last_axis(op.name, x, axis, [&](const Tensor& rows) {
    const int64_t n = rows.shape().back(), k = wanted.value_or(n);
    if (k < 0 || k > n) fail(op, "expected k between 0 and {} for axis {} of {}, got {}", n, axis, x.shape(), k);
    return in_order(op, rows, k, descending);
  });
  return {values, indices};
}

// The k-th smallest of n numbers without NaN. Each round takes a number as the pivot and keeps the side of it that has
// the k-th. `work` holds 2 n numbers: the sides are written without branches, which would be hard to predict.
template <class T>
T kth_smallest(const T* x, int64_t n, int64_t k, T* work) {
  T* less = work;
  T* more = work + n;
  uint64_t state = 0x9E3779B97F4A7C15u;
  const auto any_of_them = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return x[static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(n))];
  };
  while (true) {
    const T a = any_of_them(), b = any_of_them(), c = any_of_them();
    const T pivot = std::max(std::min(a, b), std::min(std::max(a, b), c));  // the middle one
    int64_t below = 0, above = 0;
    for (int64_t i = 0; i < n; ++i) {  // x may be `less` itself: what is written has been read
      const T v = x[i];
      less[below] = v;
      more[above] = v;
      below += v < pivot;
      above += v > pivot;
    }
    if (k < below) {
      n = below;
    } else if (k < n - above) {
      return pivot;
    } else {
      k -= n - above;
      n = above;
      std::swap(less, more);
    }
    x = less;
  }
}

template <class T>
int64_t first_nan(const T* x, int64_t n) {
  return std::find_if(x, x + n, [](T v) { return v != v; }) - x;
}

// The median of n numbers, the lower one of two; NaN, if there is one. `work` holds 2 n numbers.
template <class T>
T median_of(const T* x, int64_t n, T* work) {
  bool bad = false;
  for (int64_t i = 0; i < n; ++i) bad |= x[i] != x[i];
  return bad ? x[first_nan(x, n)] : kth_smallest(x, n, (n - 1) / 2, work);
}

// The position of the element that a stable sort puts in the middle.
template <class T>
int64_t place_of_median(const T* x, int64_t n, T median) {
  if (median != median) return first_nan(x, n);
  int64_t equal_before = (n - 1) / 2 - std::count_if(x, x + n, [=](T v) { return v < median; });
  int64_t place = 0;
  while (x[place] != median || equal_before-- > 0) ++place;
  return place;
}

// f(work), with room for 2 n numbers.
void with_work(DType dtype, int64_t n, auto f) {
  with_type(dtype, [&]<class T>(T) {
    const std::size_t bytes = 2 * static_cast<std::size_t>(n) * sizeof(T);
    T* const work = static_cast<T*>(pool::acquire(bytes));
    f(work);
    pool::release(work, bytes);
  });
}

// The medians along x's last axis, [..., 1], and their places.
std::pair<Tensor, Tensor> medians(const Tensor& x) {
  const int64_t n = x.shape().back();
  const Shape shape = with_size(x.shape(), -1, 1);
  const Tensor values = Tensor::empty(shape, x.dtype());
  const Tensor places = Tensor::empty(shape, kInt64);
  const Tensor rows = packed(x);
  parallel_for(values.numel(), rows_grain(n, 4096), [&](int64_t begin, int64_t end) {
    with_work(x.dtype(), n, [&](auto* work) {
      using T = std::remove_pointer_t<decltype(work)>;
      for (int64_t o = begin; o < end; ++o) {
        const T* const row = rows.data<T>() + o * n;
        const T median = median_of(row, n, work);
        values.mutable_data<T>()[o] = median;
        places.mutable_data<int64_t>()[o] = place_of_median(row, n, median);
      }
    });
  });
  return {record(kMedian, values, {x},
                 [places, shape = x.shape()](const Tensor& dy) -> Grads {
                   return scatter_add(zeros(shape, dy.dtype()), -1, places, dy);
                 }),
          places};
}

void require_numbers(const Op& op, const Tensor& x) {
  require(!widens_to_int64(x.dtype()), op, "expected int64, float32 or float64, got {} (convert with to(kInt64))",
          x.dtype());
}

}  // namespace

Sorted sort(const Tensor& x, int64_t axis, bool descending) { return first_in_order(kSort, x, axis, {}, descending); }

Sorted topk(const Tensor& x, int64_t k, int64_t axis, bool largest) {
  const bool of_scalar = k == 0 && is_scalar_axis(x, axis);  // which is its own result, as in PyTorch
  return first_in_order(kTopk, x, axis, of_scalar ? 1 : k, largest);
}

Sorted median(const Tensor& x, int64_t axis, Flag keepdim) {
  require_numbers(kMedian, x);
  if (is_scalar_axis(x, axis)) {
    const auto [value, place] = medians(x.reshape({1}));
    return {value.reshape({}), place.reshape({})};
  }
  const int i = normal_axis(kMedian.name, axis, x.shape());
  require_elements(kMedian.name, x, i);
  const auto [values, places] = along_last_axis(kMedian.name, x, i, medians);
  return keepdim ? Sorted{values, places} : Sorted{values.squeeze(i), places.squeeze(i)};
}

Tensor median(const Tensor& x) {
  require_numbers(kMedian, x);
  if (!is_floating(x.dtype())) require_elements(kMedian.name, x, {});
  const Tensor y = Tensor::empty({}, x.dtype());
  const Tensor flat = packed(x);
  if (x.numel() == 0)
    return record(kMedian, full({}, NAN, x.dtype()), {x}, [x](const Tensor&) -> Grads { return zeros_like(x); });
  with_work(x.dtype(), x.numel(), [&](auto* work) {
    using T = std::remove_pointer_t<decltype(work)>;
    *y.mutable_data<T>() = median_of(flat.data<T>(), x.numel(), work);
  });
  return record(kMedian, y, {x}, [x, y](const Tensor& dy) -> Grads {
    const Tensor values = x.detach(), median = y.detach();
    return share_evenly(dy, values == median || (isnan(values) && isnan(median)), {});
  });
}

}  // namespace tapegrad
