// Lengths of vectors: norm and count_nonzero, and normalize, pairwise_distance and cosine_similarity, which use them.
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/reduce.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapegrad {
namespace {

const Op kNorm{"norm"};
constexpr std::string_view kCountNonzero = "count_nonzero";
constexpr std::string_view kNormalize = "normalize";
constexpr std::string_view kPairwiseDistance = "pairwise_distance";
constexpr std::string_view kCosineSimilarity = "cosine_similarity";

constexpr int64_t kCountBlock = 16384;  // elements, of few columns, that are counted at a time
constexpr int64_t kCountColumns = 256;

constexpr double kMaxNorm = std::numeric_limits<double>::infinity();

// The norm for each kind of p; most are one pass over x. Not recorded.
Tensor norm_value(const Tensor& x, double p, const Axes& axes, bool keepdim) {
  const auto over = [&](ReduceKind kind, ReduceOf of) { return reduced(kNorm.name, kind, x, axes, keepdim, of); };
  if (p == 2) return sqrt(over(ReduceKind::sum, ReduceOf::square));
  if (p == 1) return over(ReduceKind::sum, ReduceOf::size);
  if (p == kMaxNorm) return over(ReduceKind::maximum, ReduceOf::size);
  if (p == -kMaxNorm) return over(ReduceKind::minimum, ReduceOf::size);
  if (p == 0) return count_nonzero(x, axes, keepdim).to(x.dtype());
  return pow(sum(pow(abs(x), p), axes, keepdim), 1 / p);
}

// Far above the numbers whose squares vanish.
double tiny(DType dtype) { return dtype == kFloat32 ? 0x1p-50 : 0x1p-480; }

// The largest absolute value of each row over `axes` where it is finite, but y, the row's result, is above `limit`, NaN
// or tiny; 1 elsewhere. An empty handle if there is no such row. Not recorded.
Tensor range_of(const Tensor& x, const Tensor& y, const Axes& axes, double limit) {
  const double least = tiny(x.dtype());
  if (x.numel() == 0 || all(y.detach() <= limit && y.detach() >= least)) return {};
  const PauseRecording pause;
  const Tensor largest = amax(abs(x.detach()), axes, true), sizes = y.detach().reshape(largest.shape());
  const Tensor small = sizes < least && largest > 0, large = logical_not(sizes <= limit) && largest > 1;
  const Tensor beyond = (small || large) && isfinite(largest);
  return any(beyond) ? where(beyond, largest, 1) : Tensor();
}

// Far below the numbers whose squares overflow, which backward divides by.
double large(DType dtype) { return dtype == kFloat32 ? 0x1p30 : 0x1p400; }

// range_of for x / max(length, eps): a row that is not longer than eps is divided by eps, whatever its scale.
Tensor range_to_divide(const Tensor& x, const Tensor& length, int axis, double eps) {
  const Tensor divided_by = where(length.detach() <= eps, 1, length.detach());
  return range_of(x, divided_by, axis, large(x.dtype()));
}

// norm_value, again from x / range where powers overflow.
Tensor norm_in_range(const Tensor& x, double p, const Axes& axes, bool keepdim) {
  const double most = x.dtype() == kFloat32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  const Tensor y = norm_value(x, p, axes, keepdim), range = p > 1 ? range_of(x, y, axes, most) : Tensor();
  return range.defined() ? norm_value(x / range, p, axes, keepdim) * range.reshape(y.shape()) : y;
}

Tensor norm_gradient(const Tensor& x, const Tensor& y, double p, const Axes& axes, const Tensor& dy) {
  if (x.numel() == 0) return zeros_like(x);
  const auto expanded = [&](const Tensor& value) { return expand_to_input(value, x.shape(), axes); };
  if (p == 1) return expanded(dy) * sign(x);
  if (std::isinf(p)) {
    const Tensor chosen = abs(x.detach()) == expanded(y.detach()) || isnan(x.detach());
    return share_evenly(dy, chosen, axes) * sign(x);
  }
  // The gradient does not depend on the scale of x.
  if (const Tensor range = p > 1 ? range_of(x, y, axes, large(x.dtype())) : Tensor(); range.defined()) {
    const Tensor within = x / range;
    return norm_gradient(within, norm(within, p, axes, y.dim() == x.dim()), p, axes, dy);
  }
  const Tensor zero = y == 0;
  const Tensor safe = masked_fill(y, zero, 1);
  if (p == 2) return expanded(masked_fill(dy, zero, 0) / safe) * x;  // dx = dy * x / y
  // dx = dy * sign(x) * (|x| / y)^(p - 1), and 0 where x or y is 0
  const Tensor nothing = x.detach() == 0 || expanded(zero);
  const Tensor size = masked_fill(abs(x), nothing, 1), share = size / expanded(safe);
  Tensor power;
  if (p > 0 && p < 1) {  // a share that underflows would have an infinite power
    const double normal =
        with_floating_type(x.dtype(), [](auto t) { return double{std::numeric_limits<decltype(t)>::min()}; });
    const Tensor lost = share < normal;
    power = where(lost, pow(size, p - 1) / pow(expanded(safe), p - 1), pow(masked_fill(share, lost, 1), p - 1));
  } else {
    power = pow(share, p - 1);
  }
  return masked_fill(expanded(dy) * sign(x) * power, nothing, 0);
}

// Counts of one block of `rows` rows, in int32, so that more fit into a vector.
template <class T>
void count_block(const T* x, int64_t rows, int64_t inner, int64_t width, int64_t* y) {
  if (inner == 1) {
    int32_t count = 0;
    for (int64_t i = 0; i < rows; ++i) count += x[i] != T{0};
    *y = count;
    return;
  }
  int32_t counts[kCountColumns] = {};
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < width; ++j) counts[j] += x[i * inner + j] != T{0};
  }
  std::copy(counts, counts + width, y);
}

}  // namespace

Tensor count_nonzero(const Tensor& x, const Axes& axes, Flag keepdim) {
  if (is_narrow_integer(x.dtype())) return count_nonzero(ne(x, 0), axes, keepdim);
  const ReduceView view = view_for_reduction(kCountNonzero, x, axes);
  const Tensor y = Tensor::empty(reduced_shape(kCountNonzero, x.shape(), axes, keepdim), kInt64);
  const int64_t n = view.n, inner = view.inner;
  const int64_t rows = std::clamp<int64_t>(kCountBlock / std::max<int64_t>(inner, 1), 64, kCountBlock);
  const int64_t blocks = pieces_of(n, rows), tiles = pieces_of(inner, kCountColumns);
  const ReduceView partial{Tensor::empty({view.outer, blocks, inner}, kInt64), view.outer, blocks, inner};
  with_type(x.dtype(), [&]<class T>(T) {
    parallel_for_each(view.outer * blocks * tiles, rows_grain(std::min(rows, n) * std::min(inner, kCountColumns)),
                      [&](int64_t piece) {
                        const int64_t first = piece % tiles * kCountColumns, row = piece / tiles;
                        const int64_t top = row % blocks * rows;
                        count_block(view.x.data<T>() + (row / blocks * n + top) * inner + first,
                                    std::min(rows, n - top), inner, std::min(kCountColumns, inner - first),
                                    partial.x.mutable_data<int64_t>() + row * inner + first);
                      });
  });
  reduce(ReduceKind::sum, partial, y);
  return y;
}

Tensor norm(const Tensor& x, double p, const Axes& axes, Flag keepdim) {
  require_floating(kNorm.name, {&x});
  if (std::isnan(p)) kNorm.fail("expected a p other than NaN");
  if (p < 0 || p == kMaxNorm) require_elements(kNorm.name, x, axes);
  const Tensor y = detail::unrecorded([&] { return norm_in_range(x, p, axes, keepdim); });
  if (p == 0) return y;
  return record(kNorm, y, {x}, [x, y, p, axes](const Tensor& dy) -> Grads { return norm_gradient(x, y, p, axes, dy); });
}

Tensor normalize(const Tensor& x, double p, int64_t axis, double eps) {
  require_floating(kNormalize, {&x});
  if (is_scalar_axis(x, axis)) return normalize(x.reshape({1}), p, 0, eps).reshape({});
  const int i = normal_axis(kNormalize, axis, x.shape());
  const Tensor length = norm(x, p, i, true);
  if (const Tensor range = p >= 1 ? range_to_divide(x, length, i, eps) : Tensor(); range.defined()) {
    return normalize(x / range, p, axis, eps);
  }
  return x / clamp(length, eps, {});
}

Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p, double eps, Flag keepdim) {
  require_floating(kPairwiseDistance, promoted_type(a.dtype(), b.dtype()));
  broadcast(kPairwiseDistance, a.shape(), b.shape());
  const Tensor apart = (a - b) + eps;
  return apart.dim() == 0 ? norm(apart, p) : norm(apart, p, -1, keepdim);
}

Tensor cosine_similarity(const Tensor& a, const Tensor& b, int64_t axis, double eps) {
  const DType dtype = promoted_type(a.dtype(), b.dtype());
  require_floating(kCosineSimilarity, dtype);
  const Shape shape = broadcast(kCosineSimilarity, a.shape(), b.shape());
  const Tensor x = a.to(dtype).expand(shape), y = b.to(dtype).expand(shape);
  if (is_scalar_axis(x, axis)) return cosine_similarity(x.reshape({1}), y.reshape({1}), 0, eps);
  const int i = normal_axis(kCosineSimilarity, axis, shape);
  const Tensor product = sum(x * y, i), x_length = norm(x, 2, i), y_length = norm(y, 2, i);
  const Tensor x_range = range_to_divide(x, x_length, i, eps), y_range = range_to_divide(y, y_length, i, eps);
  if (x_range.defined() || y_range.defined()) {
    return cosine_similarity(x_range.defined() ? x / x_range : x, y_range.defined() ? y / y_range : y, i, eps);
  }
  return product / clamp(x_length, eps, {}) / clamp(y_length, eps, {});
}

}  // namespace tapegrad
