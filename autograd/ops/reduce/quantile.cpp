// Quantiles: quantile, nanquantile, made of recorded operations.
// build: -Os
#include <tapegrad/autograd/check.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/shapes.h>

namespace tapegrad {
namespace {

constexpr std::string_view kQuantile = "quantile";
constexpr std::string_view kNanquantile = "nanquantile";

constexpr int64_t kExact = int64_t{1} << 24;  // integers up to here are numbers in float32

// The positions of the quantiles q [k] in sorted rows [..., n], which end with their NaN: [..., k].
Tensor positions_of(const Tensor& q, const Tensor& sorted, bool without_nan) {
  const Tensor is_nan = isnan(sorted);
  const double last = static_cast<double>(sorted.size(-1) - 1);
  if (without_nan) {
    const Tensor numbers = sum(logical_not(is_nan), -1, true).to(q.dtype());
    return q * maximum(numbers - 1, 0);
  }
  return where(any(is_nan, -1, true), last, q * last);
}

// Between two elements; also where one is infinite, or both are: NaN only between -inf and inf.
Tensor between(const Tensor& low, const Tensor& high, const Tensor& weight) {
  const Tensor beyond = logical_or(isinf(low), isinf(high));
  if (!any(beyond)) return lerp(low, high, weight);
  const Tensor w = weight.detach();
  const auto share = [&](const Tensor& x, const Tensor& of) {
    return masked_fill(x, logical_or(of == 0, logical_not(beyond)), 0) * of;
  };
  const Tensor finite = lerp(masked_fill(low, beyond, 0), masked_fill(high, beyond, 0), weight);
  return where(beyond, share(low, 1 - w) + share(high, w), finite);
}

// The quantiles q [k] of sorted rows [..., n]: [..., k]. Positions and weights are of the type `weights`, positions in
// float64 where that has too few digits.
Tensor of_rows(const Tensor& sorted, const Tensor& q, DType weights, bool without_nan, QuantileMode mode) {
  const bool exact = weights == kFloat64 || sorted.size(-1) <= kExact;
  const Tensor position = positions_of(q.to(exact ? weights : kFloat64), sorted, without_nan), at = position.detach();
  const auto element = [&](const Tensor& place) { return gather(sorted, -1, place.to(kInt64)); };
  switch (mode) {
    case QuantileMode::lower: return element(floor(at));
    case QuantileMode::higher: return element(ceil(at));
    case QuantileMode::nearest: return element(round(at));
    case QuantileMode::midpoint: return between(element(floor(at)), element(ceil(at)), full_like(at, 0.5).to(weights));
    case QuantileMode::linear: break;
  }
  return between(element(floor(at)), element(ceil(at)), (position - floor(at)).to(weights));
}

Tensor quantiles(std::string_view where, const Tensor& x, const Tensor& q, DType weights, std::optional<int64_t> axis,
                 bool keepdim, QuantileMode mode) {
  require_floating(where, {&x, q.dtype() == weights ? &q : &x});
  if (q.dim() > 1) fail(where, "expected q with at most one axis, got shape {}", q.shape());
  if (x.numel() == 0) fail(where, "expected at least one element, got shape {}", x.shape());
  if (!all(q.detach() >= 0 && q.detach() <= 1)) fail(where, "expected a q between 0 and 1");
  const bool whole = !axis || x.dim() == 0;
  const int i = axis && !(x.dim() == 0 && (*axis == 0 || *axis == -1)) ? normal_axis(where, *axis, x.shape()) : 0;
  const Tensor rows = whole ? x.reshape({-1}) : movedim(x, {i}, {-1});
  const bool without_nan = where == kNanquantile;
  Tensor y =
      movedim(of_rows(sort(rows, -1).values, q.reshape({-1}), weights, without_nan, mode), {-1}, {0});  // [k, ...]
  if (keepdim && whole) {
    y = y.reshape(with_size(Shape::filled(x.dim() + 1, 1), 0, y.size(0)));
  } else if (keepdim) {
    y = y.unsqueeze(i + 1);
  }
  return q.dim() == 0 ? y.squeeze(0) : y;
}

// Of a number, which has the type of x unless positions need more digits.
Tensor quantiles(std::string_view where, const Tensor& x, double q, std::optional<int64_t> axis, bool keepdim,
                 QuantileMode mode) {
  if (!(q >= 0 && q <= 1)) fail(where, "expected a q between 0 and 1, got {}", q);
  return quantiles(where, x, scalar(q, kFloat64), x.dtype(), axis, keepdim, mode);
}

}  // namespace

Tensor quantile(const Tensor& x, const Tensor& q, std::optional<int64_t> axis, Flag keepdim, QuantileMode mode) {
  return quantiles(kQuantile, x, q, q.dtype(), axis, keepdim, mode);
}

Tensor quantile(const Tensor& x, double q, std::optional<int64_t> axis, Flag keepdim, QuantileMode mode) {
  return quantiles(kQuantile, x, q, axis, keepdim, mode);
}

Tensor nanquantile(const Tensor& x, const Tensor& q, std::optional<int64_t> axis, Flag keepdim, QuantileMode mode) {
  return quantiles(kNanquantile, x, q, q.dtype(), axis, keepdim, mode);
}

Tensor nanquantile(const Tensor& x, double q, std::optional<int64_t> axis, Flag keepdim, QuantileMode mode) {
  return quantiles(kNanquantile, x, q, axis, keepdim, mode);
}

}  // namespace tapegrad
