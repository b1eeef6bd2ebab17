// nll_loss, and what it shares with cross_entropy: checks of classes and of their weights.
#include <fmt/format.h>
#include <tapegrad/autograd/ops/index_text.h>
#include <tapegrad/autograd/ops/kernel.h>
#include <tapegrad/autograd/ops/loss.h>

namespace tapegrad {
namespace {

const Op kNll{"nll_loss"};

}  // namespace

void require_classes(const Op& op, const Tensor& x, const Tensor& target, const Tensor& weight) {
  require_floating(op.name, {&x});
  if (target.dtype() != kInt64)
    op.fail(fmt::format("expected int64 class numbers as the target, got {}", name(target.dtype())));
  bool fits = x.dim() == target.dim() + 1;
  for (int i = 0; fits && i < target.dim(); ++i) fits = x.shape()[i] == target.shape()[i];
  if (!fits) {
    op.fail(fmt::format("expected a target with the axes of the input {} except the last (the classes), got {}",
                        str(x.shape()), str(target.shape())));
  }
  if (weight.defined() && (weight.dtype() != x.dtype() || !(weight.shape() == Shape{x.shape().back()}))) {
    op.fail(fmt::format("expected one weight per class, {} of shape [{}], got {} of shape {}", name(x.dtype()),
                        x.shape().back(), name(weight.dtype()), str(weight.shape())));
  }
}

double count_targets(const Op& op, const Tensor& target, const Tensor& weight, int64_t classes, int64_t ignore_index) {
  const int64_t* values = target.data<int64_t>();
  for (int64_t i = 0; i < target.numel(); ++i) {
    if (values[i] == ignore_index || (values[i] >= 0 && values[i] < classes)) continue;
    op.fail(fmt::format("target {} at {} is out of range (classes go from 0 to {}, and {} is ignored)", values[i],
                        index_text(i, target.shape()), classes - 1, ignore_index));
  }
  const auto total = [&](auto weight_of) {
    double counted = 0;
    for (int64_t i = 0; i < target.numel(); ++i) counted += values[i] == ignore_index ? 0 : weight_of(values[i]);
    return counted;
  };
  if (!weight.defined()) return total([](int64_t) { return 1.; });
  return with_floating_type(weight.dtype(), [&](auto t) {
    const auto* const weights = weight.data<decltype(t)>();
    return total([=](int64_t c) { return static_cast<double>(weights[c]); });
  });
}

Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target_given, Reduction reduction, int64_t ignore_index,
                const Tensor& weight_given) {
  const Tensor& x = log_probabilities;
  require_classes(kNll, x, target_given, weight_given);
  const Tensor target = packed(target_given);
  const Tensor weight = packed(weight_given);
  const double counted = count_targets(kNll, target, weight, x.shape().back(), ignore_index);
  const Tensor places = Tensor::empty(target.shape(), kInt64);      // an ignored target becomes class 0 ...
  const Tensor factors = Tensor::empty(target.shape(), x.dtype());  // ... with a factor of 0
  const Tensor losses = Tensor::empty(target.shape(), x.dtype());
  with_floating_type(x.dtype(), [&](auto t) {
    using T = decltype(t);
    const Tensor rows = packed(x);
    const T* from = rows.data<T>();
    const int64_t* wanted = target.data<int64_t>();
    const int64_t classes = x.shape().back();
    const T* weights = weight.defined() ? weight.data<T>() : nullptr;
    const T factor = reduction == Reduction::mean ? T{-1} / static_cast<T>(counted) : T{-1};
    for (int64_t i = 0; i < target.numel(); ++i) {
      const bool counts = wanted[i] != ignore_index;
      const T w = counts && weights ? weights[wanted[i]] : T{1};
      places.mutable_data<int64_t>()[i] = counts ? wanted[i] : 0;
      factors.mutable_data<T>()[i] = counts ? w * factor : T{0};
      losses.mutable_data<T>()[i] = counts ? -w * from[i * classes + wanted[i]] : T{0};
    }
  });
  return record(kNll, reduce_losses(losses, reduction, counted), {x},
                [places, factors, shape = x.shape()](const Tensor& dy) -> Grads {
                  return scatter_add(zeros(shape, dy.dtype()), -1, places.unsqueeze(-1), (dy * factors).unsqueeze(-1));
                });
}

}  // namespace tapegrad
