// Reductions over axes: sum, mean, var, std, prod, logsumexp; and sum_to for the engine.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/tape_watch.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/detail/moments.h>
#include <tapegrad/autograd/ops/detail/reduce.h>
#include <tapegrad/autograd/ops/detail/shapes.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapegrad {
namespace {

const RuledOp kSum{"sum", RowRule::moved};
const RuledOp kSumTo{"sum_to"};
const RuledOp kMean{"mean", RowRule::moved};
const Op kVar{"var"};
const Op kStd{"std"};
const Op kProd{"prod"};
const Op kLogsumexp{"logsumexp"};

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The variance of one row if its sums overflow in T: in Wide, updated element by element (Welford 1962).
template <class T>
Wide variance_of_row(const T* x, int64_t n, double divisor) {
  Wide mean = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Wide d = x[i] - mean;
    mean += d / static_cast<Wide>(i + 1);
    squares += d * (x[i] - mean);
  }
  return squares / divisor;
}

// The sum of squared differences from the mean, over (n - correction), or its root. If n - correction is 0
// or less, NaN or infinity, as in PyTorch. Not recorded.
Tensor variance(const Op& op, const Tensor& given, const Axes& axes, bool keepdim, double correction, bool root) {
  require_floating(op.name, {&given});
  const ReduceView x = view_for_reduction(op.name, given, axes, true);  // [outer, n]
  const Shape shape = reduced_shape(op.name, given.shape(), axes, keepdim);
  const DType dtype = given.dtype();
  const Tensor y = Tensor::empty(shape, dtype), mean = Tensor::empty(shape, dtype), rest = Tensor::empty(shape, dtype);
  reduce(ReduceKind::sum, x, mean);
  const ReduceView squares{Tensor::empty({x.outer, x.n}, dtype), x.outer, x.n, 1};
  const ReduceView rests{Tensor::empty({x.outer, x.n}, dtype), x.outer, x.n, 1};
  with_floating_type(dtype, [&]<class T>(T) {
    const T n = static_cast<T>(x.n);
    const T* from = x.x.data<T>();
    const T* sums = mean.data<T>();
    parallel_for(x.outer * x.n, rows_grain(1), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T d = from[i] - sums[i / x.n] / n;
        rests.x.mutable_data<T>()[i] = d;
        squares.x.mutable_data<T>()[i] = d * d;
      }
    });
    reduce(ReduceKind::sum, squares, y);
    reduce(ReduceKind::sum, rests, rest);  // the rounding error of the mean, times n
    const double divisor = std::max(static_cast<double>(x.n) - correction, 0.0);
    for (int64_t i = 0; i < y.numel(); ++i) {
      const T left = rest.data<T>()[i];
      T& v = y.mutable_data<T>()[i];
      if (std::isfinite(v)) {
        v = std::max(v - left * left / n, T{0}) / static_cast<T>(divisor);
        if (root) v = std::sqrt(v);
      } else {
        const Wide wide = variance_of_row(from + i * x.n, x.n, divisor);
        v = static_cast<T>(root ? square_root(wide) : wide);
      }
    }
  });
  return y;
}

// prod over the rows of x [m, n] as a tree of pairs, and for each element the product of all others: from the root
// down, each child gets its parent's product times its sibling. Without division, so that zeros work; all steps are
// recorded.
Tensor product_of_others(const Tensor& x) {
  const int64_t n = x.shape().back();
  if (n == 1) return ones_like(x);
  const int64_t pairs = n / 2;
  const Tensor left = x.slice(-1, 0, 2 * pairs, 2);
  const Tensor right = x.slice(-1, 1, 2 * pairs, 2);
  const Tensor lone = x.slice(-1, 2 * pairs);  // the last of an odd number
  const Tensor others = product_of_others(cat({left * right, lone}, -1));
  const Tensor above = others.slice(-1, 0, pairs);
  const Tensor both = stack({above * right, above * left}, -1).reshape(with_size(x.shape(), -1, 2 * pairs));
  return cat({both, others.slice(-1, pairs)}, -1);
}

// Elements of x per element of its reduction y.
int64_t reduced_count(const Tensor& x, const Tensor& y) { return y.numel() == 0 ? 0 : x.numel() / y.numel(); }

}  // namespace

Tensor reduced(std::string_view where, ReduceKind kind, const Tensor& x, const Axes& axes, bool keepdim, ReduceOf of) {
  const ReduceView view = view_for_reduction(where, x, axes);
  const Tensor y = Tensor::empty(reduced_shape(where, x.shape(), axes, keepdim), x.dtype());
  reduce(kind, view, y, of);
  return y;
}

void require_elements(std::string_view where, const Tensor& x, const Axes& axes) {
  require(x.numel() > 0 || reduced_shape(where, x.shape(), axes, false).numel() == 0, where,
          "expected at least one element along axes {}, got shape {}", axes, x.shape());
}

Tensor share_evenly(const Tensor& dy, const Tensor& chosen, const Axes& axes) {
  const Tensor parts = chosen.to(dy.dtype());
  return expand_to_input(dy, chosen.shape(), axes) * (parts / sum(parts, axes, true));
}

Tensor rows_of_minus_infinity(const Tensor& x) {
  return reduced("softmax", ReduceKind::maximum, x, -1, true) == -kInfinity;
}

Tensor sum(const Tensor& x, const Axes& axes, Flag keepdim) {
  if (widens_to_int64(x.dtype())) return sum(x.to(kInt64), axes, keepdim);
  auto backward = [shape = x.shape(), axes](const Tensor& dy, const BackwardPass& pass) -> Grads {
    if (pass.is_forward()) return sum(pass.tangents[0], axes, dy.dim() == shape.rank());
    return expand_to_input(dy, shape, axes);
  };
  const Tensor y = reduced(kSum.name, ReduceKind::sum, x, axes, keepdim);
  return with_settings(record(kSum, y, {x}, std::move(backward)), "axes", axes);
}

Tensor mean(const Tensor& x, const Axes& axes, Flag keepdim) {
  require_floating(kMean.name, {&x});
  const Tensor y = reduced(kMean.name, ReduceKind::sum, x, axes, keepdim);
  const int64_t n = reduced_count(x, y);
  with_floating_type(x.dtype(), [&]<class T>(T) {
    T* values = y.mutable_data<T>();
    for (int64_t i = 0; i < y.numel(); ++i) values[i] /= static_cast<T>(n);  // of no elements: 0/0 is NaN
  });
  auto backward = [shape = x.shape(), axes, n](const Tensor& dy, const BackwardPass& pass) -> Grads {
    if (pass.is_forward()) return mean(pass.tangents[0], axes, dy.dim() == shape.rank());
    return expand_to_input(mul(dy, 1.0 / static_cast<double>(n)), shape, axes);
  };
  return with_settings(record(kMean, y, {x}, std::move(backward)), "axes", axes);
}

Tensor var(const Tensor& x, const Axes& axes, Flag keepdim, double correction) {
  const Tensor y = variance(kVar, x, axes, keepdim, correction, false);
  return record(kVar, y, {x}, [x, axes, n = reduced_count(x, y), correction](const Tensor& dy) -> Grads {
    return expand_to_input(dy, x.shape(), axes) *
           ((x - mean(x, axes, true)) * (2 / (static_cast<double>(n) - correction)));
  });
}

Tensor std(const Tensor& x, const Axes& axes, Flag keepdim, double correction) {
  const Tensor y = variance(kStd, x, axes, keepdim, correction, true);
  return record(kStd, y, {x}, [x, y, axes, n = reduced_count(x, y), correction](const Tensor& dy) -> Grads {
    // dx = dy * (x - mean) / (y * (n - correction)), and 0 where y is 0
    const Tensor flat = y == 0;
    const Tensor slope = masked_fill(dy, flat, 0) / (masked_fill(y, flat, 1) * (static_cast<double>(n) - correction));
    return expand_to_input(slope, x.shape(), axes) * (x - mean(x, axes, true));
  });
}

Tensor prod(const Tensor& x, const Axes& axes, Flag keepdim) {
  if (widens_to_int64(x.dtype())) return prod(x.to(kInt64), axes, keepdim);
  const Tensor y = reduced(kProd.name, ReduceKind::product, x, axes, keepdim);
  return record(kProd, y, {x}, [x, axes, n = reduced_count(x, y)](const Tensor& dy) -> Grads {
    if (x.numel() == 0) return zeros_like(x);
    const Dims order = reduced_axes_last(kProd.name, x.shape(), axes);
    Dims back = order;
    for (int i = 0; i < x.dim(); ++i) back[static_cast<int>(order[i])] = i;
    const Tensor rows = x.permute(order);
    const Tensor others = product_of_others(rows.reshape({-1, n})).reshape(rows.shape()).permute(back);
    return expand_to_input(dy, x.shape(), axes) * others;
  });
}

Tensor logsumexp(const Tensor& x, const Axes& axes, Flag keepdim) {
  require_floating(kLogsumexp.name, {&x});
  const Tensor y = detail::unrecorded([&] {
    Tensor top = reduced(kLogsumexp.name, ReduceKind::maximum, x, axes, true);  // of no elements: -inf
    top = masked_fill(top, abs(top) == kInfinity, 0);
    const Shape shape = reduced_shape(kLogsumexp.name, x.shape(), axes, keepdim);
    return (log(sum(exp(x - top), axes, true)) + top).reshape(shape);
  });
  auto backward = [x, y, axes](const Tensor& dy) -> Grads {
    // dx = dy * exp(x - y); where all of x is -inf it is 0
    const Tensor whole = expand_to_input(masked_fill(y, y == -kInfinity, 0), x.shape(), axes);
    return expand_to_input(dy, x.shape(), axes) * exp(x - whole);
  };
  return with_settings(record(kLogsumexp, y, {x}, std::move(backward)), "axes", axes);
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (widens_to_int64(x.dtype())) return sum_to(x.to(kInt64), shape);
  if (x.shape() == shape) return x;
  require(broadcasts_to(shape, x.shape()), kSumTo, "expected a shape that {} broadcasts to, got {}", shape, x.shape());
  Axes axes;
  const int lead = x.dim() - shape.rank();
  for (int i = 0; i < x.dim(); ++i) {
    if (i < lead || (shape[i - lead] == 1 && x.shape()[i] != 1)) axes.push_back(i);
  }
  const Tensor y = Tensor::empty(shape, x.dtype());
  reduce(ReduceKind::sum, view_for_reduction(kSumTo.name, x, axes), y);
  return record(kSumTo, y, {x}, [from = x.shape()](const Tensor& dy, const BackwardPass& pass) -> Grads {
    return pass.is_forward() ? sum_to(pass.tangents[0], dy.shape()) : dy.expand(from);
  });
}

Tensor Tensor::sum(const Axes& axes, Flag keepdim) const { return tapegrad::sum(*this, axes, keepdim); }
Tensor Tensor::mean(const Axes& axes, Flag keepdim) const { return tapegrad::mean(*this, axes, keepdim); }

}  // namespace tapegrad
