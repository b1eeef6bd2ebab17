// Distinct values, counts, and places in sorted numbers: unique, bincount, searchsorted, bucketize, argsort, isin,
// histogram.
// build: -O2
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/detail/index_text.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/wrapping.h>
#include <tapegrad/autograd/sets.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapegrad {
namespace {

constexpr std::string_view kBincount = "bincount";
constexpr std::string_view kSearchsorted = "searchsorted";
constexpr std::string_view kBucketize = "bucketize";
constexpr std::string_view kHistogram = "histogram";

constexpr int64_t kSearches = 4096;      // values for one thread to search at a time
constexpr int64_t kBinsOfTables = 4096;  // or fewer, to be counted in several tables

// The runs of equal elements of `values` [n]; place[i] is the position of values[i] in the result's inverse.
Unique runs_of(const Tensor& values, const int64_t* place, const Shape& shape) {
  const int64_t n = values.numel();
  const Tensor starts = Tensor::empty({n}, kInt64), inverse = Tensor::empty(shape, kInt64);
  int64_t *const start = starts.mutable_data<int64_t>(), *const to = inverse.mutable_data<int64_t>();
  int64_t count = 0;
  with_type(values.dtype(), [&](auto t) {
    const auto* const value = values.data<decltype(t)>();
    for (int64_t i = 0; i < n; ++i) {
      if (i == 0 || value[i] != value[i - 1]) start[count++] = i;
      to[place ? place[i] : i] = count - 1;
    }
  });
  const Tensor counts = Tensor::empty({count}, kInt64);
  int64_t* const length = counts.mutable_data<int64_t>();
  for (int64_t k = 0; k < count; ++k) length[k] = (k + 1 < count ? start[k + 1] : n) - start[k];
  return {index_select(values, 0, starts.slice(0, 0, count)), inverse, counts};
}

// The first place in sorted[0 .. n) at which `after` holds. Its steps are additions, because branches would be
// predicted wrongly.
template <class T, class F>
int64_t first_place(const T* sorted, int64_t n, F after) {
  int64_t low = 0;
  for (; n > 1; n -= n / 2) low += (n / 2) & -static_cast<int64_t>(!after(sorted[low + n / 2 - 1]));
  return n == 1 ? low + !after(sorted[low]) : low;
}

// The place of a value that keeps the order, NaN being the largest.
template <class T>
int64_t place_in(const T* sorted, int64_t n, T value, bool right) {
  if (value != value) return right ? n : first_place(sorted, n, [](T v) { return v != v; });
  if (right) return first_place(sorted, n, [=](T v) { return !(v <= value); });
  return first_place(sorted, n, [=](T v) { return !(v < value); });
}

// `rows` sorted lines of n numbers, or one for all values.
Tensor searched(const Tensor& sorted, const Tensor& values, bool right) {
  const Tensor y = Tensor::empty(values.shape(), kInt64);
  if (y.numel() == 0) return y;
  const Tensor lines = packed(sorted), given = packed(values);
  const int64_t n = sorted.shape().back();
  const int64_t of_line = sorted.dim() == 1 ? y.numel() : values.shape().back();
  with_type(values.dtype(), [&]<class T>(T) {
    const T *const sorted_lines = lines.data<T>(), *const value = given.data<T>();
    int64_t* const place = y.mutable_data<int64_t>();
    parallel_for(y.numel(), kSearches, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin, last; i < end; i = last) {
        const T* const line = sorted_lines + i / of_line * n;
        last = std::min(end, (i / of_line + 1) * of_line);
        for (int64_t k = i; k < last; ++k) place[k] = place_in(line, n, value[k], right);
      }
    });
  });
  return y;
}

void require_one_type(std::string_view where, std::string_view names, const Tensor& a, const Tensor& b) {
  require(a.dtype() == b.dtype(), where, "expected {} of one type, got {} and {}", names, a.dtype(), b.dtype());
}

void require_weights(std::string_view where, const Tensor& x, const Tensor& weights) {
  require(weights.shape() == x.shape(), where, "expected weights in the shape of x {}, got {}", x.shape(),
          weights.shape());
}

// The number of bins for x, int64, whose elements are checked.
int64_t bins_of(const Tensor& x, int64_t minimum) {
  if (minimum < 0) fail(kBincount, "expected a minimum of 0 or more, got {}", minimum);
  const int64_t* const numbers = x.data<int64_t>();
  int64_t bins = minimum;
  for (int64_t i = 0, n = x.numel(); i < n; ++i) {
    const int64_t v = numbers[i];
    if (v < 0) fail(kBincount, "expected numbers of 0 or more, got {} at {}", v, index_text(i, x.shape()));
    bins = std::max(bins, v == std::numeric_limits<int64_t>::max() ? v : v + 1);
  }
  return checked_numel(kBincount, {bins});
}

// The edges of `bins` bins of equal width.
Tensor edges_of(const Tensor& x, int64_t bins, const std::optional<std::pair<double, double>>& range) {
  if (bins < 1) fail(kHistogram, "expected 1 bin or more, got {}", bins);
  double low = 0, high = 1;
  if (range) {
    std::tie(low, high) = *range;
  } else if (x.numel() > 0) {
    low = amin(x).to(kFloat64).item<double>();
    high = amax(x).to(kFloat64).item<double>();
  }
  require(std::isfinite(low) && std::isfinite(high) && low <= high, kHistogram, "expected a finite range, got {} to {}",
          low, high);
  if (low == high) {
    low -= 0.5;
    high += 0.5;
  }
  return linspace(low, high, checked_numel(kHistogram, {bins}) + 1, x.dtype());
}

// Bins per unit if each of the ascending edges is within half a bin of its place among equal bins, else 0.
template <class T>
double bins_per_unit(const T* edges, int64_t bins) {
  const double low = edges[0], width = (edges[bins] - low) / static_cast<double>(bins), scale = 1 / width;
  if (!(width > 0) || !std::isfinite(width) || !std::isfinite(scale)) return 0;
  for (int64_t k = 0; k <= bins; ++k) {
    if (!(std::abs(edges[k] - (low + static_cast<double>(k) * width)) < width / 2)) return 0;
  }
  return scale;
}

// Calls add(bin, i) for each x[i] between ascending edges. In equal bins one multiplication tells the bin, or one next
// to it; the edges decide.
void count_between(const Tensor& x, const Tensor& edges, auto add) {
  with_floating_type(x.dtype(), [&]<class T>(T) {
    const T *const value = x.data<T>(), *const edge = edges.data<T>();
    const int64_t bins = edges.numel() - 1;
    const T first = edge[0], last = edge[bins];
    const double low = first, scale = bins_per_unit(edge, bins);
    for (int64_t i = 0, n = x.numel(); i < n; ++i) {
      const T v = value[i];
      if (!(v >= first && v <= last)) continue;  // NaN, too
      int64_t bin = bins - 1;
      if (scale > 0) {
        bin = std::min(bin, static_cast<int64_t>((v - low) * scale));
        while (v < edge[bin]) --bin;
        while (bin + 1 < bins && v >= edge[bin + 1]) ++bin;
      } else if (v < last) {
        bin = place_in(edge, bins + 1, v, true) - 1;
      }
      add(bin, i);
    }
  });
}

}  // namespace

Unique unique(const Tensor& x) {
  if (is_narrow_integer(x.dtype())) {
    const auto [values, inverse, counts] = unique(x.to(kInt64));
    return {values.to(x.dtype()), inverse, counts};
  }
  const auto [values, places] = sort(x.detach().reshape({x.numel()}), 0);
  return runs_of(values, places.data<int64_t>(), x.shape());
}

Unique unique_consecutive(const Tensor& x) {
  return runs_of(packed(x.detach()).reshape({x.numel()}), nullptr, x.shape());
}

Tensor bincount(const Tensor& x, int64_t minimum) {
  const Tensor numbers = packed(require_integers(kBincount, x, "numbers"));
  const Tensor y = zeros({bins_of(numbers, minimum)}, kInt64);
  int64_t* const count = y.mutable_data<int64_t>();
  const int64_t* const bin = numbers.data<int64_t>();
  for (int64_t i = 0, n = x.numel(); i < n; ++i) ++count[bin[i]];
  return y;
}

Tensor bincount(const Tensor& x, const Tensor& weights, int64_t minimum) {
  require_weights(kBincount, x, weights);
  if (widens_to_int64(weights.dtype())) return bincount(x, weights.detach().to(kInt64), minimum);
  const Tensor numbers = packed(require_integers(kBincount, x, "numbers")), added = packed(weights);
  const Tensor y = zeros({bins_of(numbers, minimum)}, weights.dtype());
  with_type(weights.dtype(), [&]<class T>(T) {
    T* const sum = y.mutable_data<T>();
    const int64_t* const bin = numbers.data<int64_t>();
    const T* const weight = added.data<T>();
    for (int64_t i = 0, n = x.numel(); i < n; ++i) sum[bin[i]] = wrapping_sum(sum[bin[i]], weight[i]);
  });
  return y;
}

Tensor searchsorted(const Tensor& sorted, const Tensor& values, Flag right) {
  require_one_type(kSearchsorted, "sorted numbers and values", sorted, values);
  bool fits = sorted.dim() == 1 || (sorted.dim() > 0 && sorted.dim() == values.dim());
  for (int i = 0; fits && i < sorted.dim() - 1; ++i) fits = sorted.shape()[i] == values.shape()[i];
  require(fits, kSearchsorted, "expected sorted numbers [n], or [..., n] with the leading axes of values {}, got {}",
          values.shape(), sorted.shape());
  return searched(sorted, values, right);
}

Tensor bucketize(const Tensor& x, const Tensor& boundaries, Flag right) {
  require_one_type(kBucketize, "x and boundaries", x, boundaries);
  require(boundaries.dim() == 1, kBucketize, "expected boundaries with one axis, got {}", boundaries.shape());
  return searched(boundaries, x, right);
}

Tensor argsort(const Tensor& x, int64_t axis, bool descending) {
  if (!is_scalar_axis(x, axis)) normal_axis("argsort", axis, x.shape());
  return sort(x.detach(), axis, descending).indices;
}

Tensor isin(const Tensor& x, const Tensor& values, Flag invert) {
  const DType dtype = promoted_type(kInt64, result_type(x, values));
  const Tensor of = x.detach().to(dtype), sorted = sort(values.detach().to(dtype).reshape({-1})).values;
  if (sorted.numel() == 0) return full(x.shape(), invert, kBool);
  const Tensor place = minimum(searchsorted(sorted, of), static_cast<double>(sorted.numel() - 1));
  const Tensor nearest = take_along_axis(sorted, place.reshape({-1}), 0).reshape(x.shape());
  return invert ? ne(nearest, of) : eq(nearest, of);
}

Histogram histogram(const Tensor& x, int64_t bins, std::optional<std::pair<double, double>> range,
                    const Tensor& weights) {
  require_floating(kHistogram, {&x});
  return histogram(x, edges_of(x.detach(), bins, range), weights);
}

Histogram histogram(const Tensor& x, const Tensor& given, const Tensor& weights) {
  require_floating(kHistogram, {&x});
  require_one_type(kHistogram, "x and edges", x, given);
  require(given.dim() == 1 && given.numel() >= 2, kHistogram, "expected at least two edges with one axis, got shape {}",
          given.shape());
  const Tensor values = packed(x.detach()), edges = packed(given.detach());
  if (any(!(edges.slice(0, 0, -1) <= edges.slice(0, 1)))) fail(kHistogram, "expected ascending edges");
  const Shape bins{edges.numel() - 1};
  if (!weights.defined()) {
    // several tables, because counts of one bin wait for each other
    const int64_t tables = bins[0] <= kBinsOfTables ? 4 : 1;
    const Tensor counts = zeros({tables, bins[0]}, kInt64);
    count_between(values, edges, [=, count = counts.mutable_data<int64_t>()](int64_t bin, int64_t i) {
      ++count[(i & (tables - 1)) * bins[0] + bin];
    });
    return {sum(counts, 0), edges};
  }
  require_weights(kHistogram, x, weights);
  require_floating(kHistogram, {&weights});
  const Tensor counts = zeros(bins, weights.dtype()), added = packed(weights.detach());
  with_floating_type(weights.dtype(), [&]<class T>(T) {
    T* const sum = counts.mutable_data<T>();
    const T* const weight = added.data<T>();
    count_between(values, edges, [=](int64_t bin, int64_t i) { sum[bin] += weight[i]; });
  });
  return {counts, edges};
}

}  // namespace tapegrad
