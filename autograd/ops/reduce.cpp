// Reductions over axes: sum, mean, var, std, prod, amax, amin, logsumexp; and sum_to for the engine.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/formula.h>
#include <tapegrad/autograd/ops/reduce.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/tape.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapegrad {
namespace {

const Op kSum{"sum"};
const Op kSumTo{"sum_to"};
const Op kMean{"mean"};
const Op kVar{"var"};
const Op kStd{"std"};
const Op kProd{"prod"};
const Op kAmax{"amax"};
const Op kAmin{"amin"};
const Op kLogsumexp{"logsumexp"};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kGrain = 16384;  // elements a thread takes at least

// The variance of one row where the sums of T overflow: in float64, updated by one element after another (Welford
// 1962).
template <class T>
double variance_of_row(const T* x, int64_t n, double divisor) {
  double mean = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double d = static_cast<double>(x[i]) - mean;
    mean += d / static_cast<double>(i + 1);
    squares += d * (static_cast<double>(x[i]) - mean);
  }
  return squares / divisor;
}

// Sum of squared differences from the mean, over (n - correction), or its root: [rows] from [rows, n]. PyTorch's rule
// where nothing is left to divide by: NaN or infinity.
Tensor variance(const Folding& x, const Shape& shape, double correction, bool root) {
  const Tensor y = Tensor::empty(shape, x.x.dtype());
  const Tensor mean = Tensor::empty(shape, x.x.dtype());
  fold(Fold::sum, x, mean);
  const Folding squares{Tensor::empty({x.outer, x.n}, x.x.dtype()), x.outer, x.n, 1};
  const Folding rests{Tensor::empty({x.outer, x.n}, x.x.dtype()), x.outer, x.n, 1};
  const Tensor rest = Tensor::empty(shape, x.x.dtype());
  with_floating_type(x.x.dtype(), [&](auto t) {
    using T = decltype(t);
    const T n = static_cast<T>(x.n);
    const T* from = x.x.data<T>();
    const T* sums = mean.data<T>();
    parallel_for(x.outer * x.n, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T d = from[i] - sums[i / x.n] / n;
        rests.x.mutable_data<T>()[i] = d;
        squares.x.mutable_data<T>()[i] = d * d;
      }
    });
    fold(Fold::sum, squares, y);
    fold(Fold::sum, rests, rest);  // what rounding of the mean left over
    const double divisor = std::max(static_cast<double>(x.n) - correction, 0.0);
    for (int64_t i = 0; i < y.numel(); ++i) {
      const T left = rest.data<T>()[i];
      T& v = y.mutable_data<T>()[i];
      if (std::isfinite(v)) {
        v = (v - left * left / n) / static_cast<T>(divisor);
        if (root) v = std::sqrt(v);
      } else {
        const double wide = variance_of_row(from + i * x.n, x.n, divisor);
        v = static_cast<T>(root ? std::sqrt(wide) : wide);
      }
    }
  });
  return y;
}

// prod over the rows of x [m, n] as a tree of pairs, and for each element the product of all others: down the tree,
// each child gets its parent's times its sibling. No division, so zeros are right, and all steps are recorded.
Tensor product_of_others(const Tensor& x) {
  const int64_t n = x.shape().back();
  if (n == 1) return ones_like(x);
  const int64_t pairs = n / 2;
  const Tensor left = x.slice(-1, 0, 2 * pairs, 2);
  const Tensor right = x.slice(-1, 1, 2 * pairs, 2);
  const Tensor lone = x.slice(-1, 2 * pairs);  // the last of an odd number
  const Tensor others = product_of_others(cat({left * right, lone}, -1));
  const Tensor above = others.slice(-1, 0, pairs);
  Shape flat = x.shape();
  flat[-1] = 2 * pairs;
  const Tensor both = stack({above * right, above * left}, -1).reshape(flat);
  return cat({both, others.slice(-1, pairs)}, -1);
}

// y (fresh) of a fold, in the type of x.
Tensor folded(const Op& op, Fold f, const Tensor& x, const Axes& axes, bool keepdim) {
  const Folding folding = fold_axes(op.name, x, axes);
  const Tensor y = Tensor::empty(reduced_shape(op.name, x.shape(), axes, keepdim), x.dtype());
  fold(f, folding, y);
  return y;
}

Tensor extreme(const Op& op, Fold f, const Tensor& x, const Axes& axes, bool keepdim) {
  if (x.dtype() == kBool) return extreme(op, f, x.to(kInt64), axes, keepdim).to(kBool);
  const Folding folding = fold_axes(op.name, x, axes);
  const Shape shape = reduced_shape(op.name, x.shape(), axes, keepdim);
  if (folding.n == 0 && shape.numel() > 0) {
    op.fail(fmt::format("{} has no elements over axes {}, and nothing has no extreme", str(x.shape()), str(axes)));
  }
  const Tensor y = Tensor::empty(shape, x.dtype());
  fold(f, folding, y);
  return record(op, y, {x}, [x, y, axes](const Tensor& dy) -> Grads {
    const Tensor chosen = (x.detach() == unfold(y.detach(), x.shape(), axes)).to(dy.dtype());
    return unfold(dy, x.shape(), axes) * (chosen / sum(chosen, axes, true));
  });
}

}  // namespace

Tensor rows_of_minus_infinity(const Tensor& x) { return folded(kAmax, Fold::maximum, x, -1, true) == -kInfinity; }

Tensor sum(const Tensor& x, const Axes& axes, bool keepdim) {
  if (x.dtype() == kBool) return sum(x.to(kInt64), axes, keepdim);
  const Folding folding = fold_axes(kSum.name, x, axes);
  const Tensor y = Tensor::empty(reduced_shape(kSum.name, x.shape(), axes, keepdim), x.dtype());
  fold(Fold::sum, folding, y);
  return record(kSum, y, {x}, [shape = x.shape(), axes](const Tensor& dy) -> Grads { return unfold(dy, shape, axes); });
}

Tensor mean(const Tensor& x, const Axes& axes, bool keepdim) {
  need_floating(kMean, x);
  const Folding folding = fold_axes(kMean.name, x, axes);
  const Tensor y = Tensor::empty(reduced_shape(kMean.name, x.shape(), axes, keepdim), x.dtype());
  fold(Fold::sum, folding, y);
  with_floating_type(x.dtype(), [&](auto t) {
    using T = decltype(t);
    T* values = y.mutable_data<T>();
    for (int64_t i = 0; i < y.numel(); ++i) values[i] /= static_cast<T>(folding.n);  // of nothing: 0/0 is NaN
  });
  return record(kMean, y, {x}, [shape = x.shape(), axes, n = folding.n](const Tensor& dy) -> Grads {
    return unfold(mul(dy, 1.0 / static_cast<double>(n)), shape, axes);
  });
}

Tensor var(const Tensor& x, const Axes& axes, bool keepdim, double correction) {
  need_floating(kVar, x);
  const Folding folding = fold_axes(kVar.name, x, axes, true);
  const Tensor y = variance(folding, reduced_shape(kVar.name, x.shape(), axes, keepdim), correction, false);
  return record(kVar, y, {x}, [x, axes, n = folding.n, correction](const Tensor& dy) -> Grads {
    return unfold(dy, x.shape(), axes) * ((x - mean(x, axes, true)) * (2 / (static_cast<double>(n) - correction)));
  });
}

Tensor std(const Tensor& x, const Axes& axes, bool keepdim, double correction) {
  need_floating(kStd, x);
  const Folding folding = fold_axes(kStd.name, x, axes, true);
  const Tensor y = variance(folding, reduced_shape(kStd.name, x.shape(), axes, keepdim), correction, true);
  return record(kStd, y, {x}, [x, y, axes, n = folding.n, correction](const Tensor& dy) -> Grads {
    // dx = dy * (x - mean) / (y * (n - correction)), and 0 where y is 0
    const Tensor flat = y == 0;
    const Tensor slope = masked_fill(dy, flat, 0) / (masked_fill(y, flat, 1) * (static_cast<double>(n) - correction));
    return unfold(slope, x.shape(), axes) * (x - mean(x, axes, true));
  });
}

Tensor prod(const Tensor& x, const Axes& axes, bool keepdim) {
  if (x.dtype() == kBool) return prod(x.to(kInt64), axes, keepdim);
  const Tensor y = folded(kProd, Fold::product, x, axes, keepdim);
  return record(kProd, y, {x}, [x, axes](const Tensor& dy) -> Grads {
    if (x.numel() == 0) return zeros_like(x);
    // The folded axes come last, as one; and back.
    Dims order;
    Dims gone;
    for (int i = 0; i < x.dim(); ++i) {
      bool folds = axes.empty();
      for (int64_t axis : axes) folds |= normal_axis(kProd.name, axis, x.shape()) == i;
      (folds ? gone : order).push_back(i);
    }
    const int kept = order.rank();
    for (int64_t i : gone) order.push_back(i);
    const Tensor turned = x.permute(order);
    int64_t n = 1;
    for (int i = kept; i < x.dim(); ++i) n *= turned.shape()[i];
    Dims back = order;
    for (int i = 0; i < x.dim(); ++i) back[static_cast<int>(order[i])] = i;
    const Tensor others = product_of_others(turned.reshape({-1, n})).reshape(turned.shape()).permute(back);
    return unfold(dy, x.shape(), axes) * others;
  });
}

Tensor amax(const Tensor& x, const Axes& axes, bool keepdim) { return extreme(kAmax, Fold::maximum, x, axes, keepdim); }

Tensor amin(const Tensor& x, const Axes& axes, bool keepdim) { return extreme(kAmin, Fold::minimum, x, axes, keepdim); }

Tensor logsumexp(const Tensor& x, const Axes& axes, bool keepdim) {
  need_floating(kLogsumexp, x);
  Tensor y;
  {
    const PauseRecording pause;
    Tensor top = folded(kLogsumexp, Fold::maximum, x, axes, true);  // of nothing: -inf
    top = masked_fill(top, abs(top) == kInfinity, 0);
    y = (log(sum(exp(x - top), axes, true)) + top).reshape(reduced_shape(kLogsumexp.name, x.shape(), axes, keepdim));
  }
  return record(kLogsumexp, y, {x}, [x, y, axes](const Tensor& dy) -> Grads {
    // dx = dy * exp(x - y); where all of x is -inf it is 0
    const Tensor whole = unfold(masked_fill(y, y == -kInfinity, 0), x.shape(), axes);
    return unfold(dy, x.shape(), axes) * exp(x - whole);
  });
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  if (!broadcasts_to(shape, x.shape())) {
    kSumTo.fail(fmt::format("{} is not what {} broadcasts to", str(x.shape()), str(shape)));
  }
  Axes axes;
  const int lead = x.dim() - shape.rank();
  for (int i = 0; i < x.dim(); ++i) {
    if (i < lead || (shape[i - lead] == 1 && x.shape()[i] != 1)) axes.push_back(i);
  }
  const Folding folding = fold_axes(kSumTo.name, x, axes);
  const Tensor y = Tensor::empty(shape, x.dtype());
  fold(Fold::sum, folding, y);
  return record(kSumTo, y, {x}, [from = x.shape()](const Tensor& dy) -> Grads { return dy.expand(from); });
}

}  // namespace tapegrad
