// Reductions over axes: sum, mean, and sum_to for the engine.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/ops/reduce.h>
#include <tapegrad/autograd/tape.h>

#include <algorithm>

namespace tapegrad {
namespace {

const Op kSum{"sum"};
const Op kSumTo{"sum_to"};
const Op kMean{"mean"};

void need_floating(const Op& op, const Tensor& x) {
  if (!is_floating(x.dtype())) {
    op.fail(fmt::format("a {} tensor of shape {} was given, float32 or float64 is needed (convert it by to())",
                        name(x.dtype()), str(x.shape())));
  }
}

}  // namespace

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
    for (std::int64_t i = 0; i < y.numel(); ++i) values[i] /= static_cast<T>(folding.n);  // of nothing: 0/0 is NaN
  });
  return record(kMean, y, {x}, [shape = x.shape(), axes, n = folding.n](const Tensor& dy) -> Grads {
    return unfold(mul(dy, 1.0 / static_cast<double>(n)), shape, axes);
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
