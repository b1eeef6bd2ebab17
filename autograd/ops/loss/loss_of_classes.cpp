// nll_loss and multi_margin_loss, and what they share with cross_entropy: checks of classes and of their weights.
#include <tapegrad/autograd/detail/index_text.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/tape_watch.h>
#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops/loss/detail/loss.h>

namespace tapegrad {
namespace {

const Op kNll{"nll_loss"};
constexpr std::string_view kMultiMargin = "multi_margin_loss";

}  // namespace

int require_weight(std::string_view where, const Tensor& x, const Tensor& weight, int64_t axis_given) {
  const int axis = normal_axis(where, axis_given, x.shape());
  if (weight.defined() && (weight.dtype() != x.dtype() || !(weight.shape() == Shape{x.size(axis)}))) {
    fail(where, "expected one weight per class, {} of shape [{}], got {} of shape {}", x.dtype(), x.size(axis),
         weight.dtype(), weight.shape());
  }
  return axis;
}

int require_classes(std::string_view where, const Tensor& x, const Tensor& target, const Tensor& weight,
                    int64_t axis_given) {
  require_floating(where, {&x});
  require(is_integer(target.dtype()), where, "expected int64 class numbers as the target, got {}", target.dtype());
  Shape rows = x.shape();
  const bool last = x.dim() == 0 || axis_given == -1 || axis_given == x.dim() - 1;
  const int axis = x.dim() == 0 ? 0 : normal_axis(where, axis_given, x.shape());
  if (x.dim() > 0) rows.erase(axis);
  if (x.dim() == 0 || !(rows == target.shape())) {
    fail(where, "expected a target with the axes of the input {} except {} (the classes), got {}{}", x.shape(),
         last ? "the last" : fmt::format("axis {}", axis_given), target.shape(),
         x.shape() == target.shape() && x.dim() > 0
             ? fmt::format(" (of a one-hot target, argmax(target, {}))", axis_given)
             : "");
  }
  require(!weight.defined() || !needs_grad(weight), where,
          "expected a weight without a gradient: it is a constant (pass weight.detach())");
  return require_weight(where, x, weight, axis);
}

void require_range(std::string_view where, const Tensor& target, int64_t classes, std::optional<int64_t> ignore_index) {
  const int64_t* values = target.data<int64_t>();
  for (int64_t i = 0; i < target.numel(); ++i) {
    if (values[i] == ignore_index || (values[i] >= 0 && values[i] < classes)) continue;
    fail(where, "target {} at {} is out of range (classes go from 0 to {}{})", values[i], index_text(i, target.shape()),
         classes - 1, ignore_index ? fmt::format(", and {} is ignored", *ignore_index) : "");
  }
}

double count_targets(std::string_view where, const Tensor& target, const Tensor& weight, int64_t classes,
                     int64_t ignore_index) {
  require_range(where, target, classes, ignore_index);
  const int64_t* values = target.data<int64_t>();
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

Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target_given, const NllOptions& options) {
  const int axis = require_classes(kNll.name, log_probabilities, target_given, options.weight, options.axis);
  const Tensor x = last_axis(log_probabilities, axis);
  const Tensor target = packed(target_given.to(kInt64));
  const Tensor weight = packed(options.weight);
  const double counted = count_targets(kNll.name, target, weight, x.shape().back(), options.ignore_index);
  const Tensor places = Tensor::empty(target.shape(), kInt64);      // an ignored target becomes class 0 ...
  const Tensor factors = Tensor::empty(target.shape(), x.dtype());  // ... with a factor of 0
  const Tensor losses = Tensor::empty(target.shape(), x.dtype());
  with_floating_type(x.dtype(), [&]<class T>(T) {
    const Tensor rows = packed(x);
    const T* from = rows.data<T>();
    const int64_t* wanted = target.data<int64_t>();
    const int64_t classes = x.shape().back();
    const T* weights = weight.defined() ? weight.data<T>() : nullptr;
    const T factor = options.reduction == Reduction::mean ? T{-1} / static_cast<T>(counted) : T{-1};
    for (int64_t i = 0; i < target.numel(); ++i) {
      const bool counts = wanted[i] != options.ignore_index;
      const T w = counts && weights ? weights[wanted[i]] : T{1};
      places.mutable_data<int64_t>()[i] = counts ? wanted[i] : 0;
      factors.mutable_data<T>()[i] = counts ? w * factor : T{0};
      losses.mutable_data<T>()[i] = counts ? -w * from[i * classes + wanted[i]] : T{0};
    }
  });
  auto backward = [places, factors, shape = x.shape()](const Tensor& dy) -> Grads {
    return scatter_add(zeros(shape, dy.dtype()), -1, places.unsqueeze(-1), (dy * factors).unsqueeze(-1));
  };
  const Tensor y = reduce_losses(losses, options.reduction, counted);
  return with_settings(record(kNll, y, {x}, std::move(backward)), "target", target_given, "weight", weight, "ignored",
                       options.ignore_index, "mean", options.reduction == Reduction::mean);
}

Tensor multi_margin_loss(const Tensor& x, const Tensor& target_given, const MultiMarginOptions& options) {
  require_classes(kMultiMargin, x, target_given, options.weight, -1);
  if (options.p != 1 && options.p != 2) fail(kMultiMargin, "expected a p of 1 or 2, got {}", options.p);
  const Tensor classes_of = packed(target_given.to(kInt64)), target = classes_of.unsqueeze(-1);
  const int64_t classes = x.shape().back();
  require_range(kMultiMargin, classes_of, classes, {});
  Tensor each = relu(x - gather(x, -1, target) + options.margin);
  if (options.p == 2) each = square(each);
  Tensor losses = sum(where(target == arange(classes), 0., each), -1) / static_cast<double>(classes);
  if (options.weight.defined()) losses = losses * index(options.weight, {classes_of});
  return reduce_recorded(losses, options.reduction);
}

}  // namespace tapegrad
