// All losses except cross_entropy: nll_loss, kl_div, mse_loss, binary cross-entropy with logits; and their shared
// parts.
#include <fmt/format.h>
#include <tapegrad/autograd/ops/index_text.h>
#include <tapegrad/autograd/ops/kernel.h>
#include <tapegrad/autograd/ops/loss.h>

#include <algorithm>
#include <limits>

namespace tapegrad {
namespace {

const Op kNll{"nll_loss"};
const Op kKlDiv{"kl_div"};
const Op kMse{"mse_loss"};
const Op kBinary{"binary_cross_entropy_with_logits"};

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The loss of pairs: each(input, target) gives the losses of all pairs, slopes(input, target, dy, wants_target) the
// gradients of both, made of recorded operations.
template <class Each, class Slopes>
Tensor loss_of_pairs(const Op& op, const Tensor& input_given, const Tensor& target_given, Reduction reduction,
                     Each each, Slopes slopes) {
  broadcast(op.name, input_given.shape(), target_given.shape());
  require_floating(op.name, {&input_given});
  require_floating(op.name, {&target_given});
  const DType dtype = std::max(input_given.dtype(), target_given.dtype());
  const Tensor input = input_given.to(dtype);
  const Tensor target = target_given.to(dtype);
  Tensor losses;
  {
    const PauseRecording pause;
    losses = each(input, target);
  }
  const int64_t count = losses.numel();
  const bool wants_target = needs_grad(target);
  return record(op, reduce_losses(losses, reduction, count), {input, target},
                [input, target, slopes, count, wants_target, mean = reduction == Reduction::mean](const Tensor& dy) {
                  Grads grads = slopes(input, target, mean ? dy / static_cast<double>(count) : dy, wants_target);
                  for (std::size_t i : {0, 1}) {  // an operand that broadcasts gets the gradient of every pair
                    if (grads[i].defined()) {
                      grads[i] = grads[i].expand(broadcast("loss", input.shape(), target.shape()));
                    }
                  }
                  return grads;
                });
}

}  // namespace

void require_classes(const Op& op, const Tensor& x, const Tensor& target) {
  require_floating(op.name, {&x});
  if (target.dtype() != kInt64)
    op.fail(fmt::format("expected int64 class numbers as the target, got {}", name(target.dtype())));
  bool fits = x.dim() == target.dim() + 1;
  for (int i = 0; fits && i < target.dim(); ++i) fits = x.shape()[i] == target.shape()[i];
  if (!fits) {
    op.fail(fmt::format("expected a target with the axes of the input {} except the last (the classes), got {}",
                        str(x.shape()), str(target.shape())));
  }
}

int64_t count_targets(const Op& op, const Tensor& target, int64_t classes, int64_t ignore_index) {
  const int64_t* values = target.data<int64_t>();
  int64_t counted = 0;
  for (int64_t i = 0; i < target.numel(); ++i) {
    if (values[i] == ignore_index) continue;
    if (values[i] < 0 || values[i] >= classes) {
      op.fail(fmt::format("target {} at {} is out of range (classes go from 0 to {}, and {} is ignored)", values[i],
                          index_text(i, target.shape()), classes - 1, ignore_index));
    }
    ++counted;
  }
  return counted;
}

Tensor reduce_losses(const Tensor& losses, Reduction reduction, int64_t count) {
  if (reduction == Reduction::none) return losses;
  const Tensor y = sum(losses);
  if (reduction == Reduction::sum) return y;
  with_floating_type(y.dtype(), [&](auto t) { *y.mutable_data<decltype(t)>() /= static_cast<decltype(t)>(count); });
  return y;
}

Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target_given, Reduction reduction,
                int64_t ignore_index) {
  const Tensor& x = log_probabilities;
  require_classes(kNll, x, target_given);
  const Tensor target = packed(target_given);
  const int64_t counted = count_targets(kNll, target, x.shape().back(), ignore_index);
  const Tensor places = Tensor::empty(target.shape(), kInt64);      // an ignored target becomes class 0 ...
  const Tensor factors = Tensor::empty(target.shape(), x.dtype());  // ... with a factor of 0
  const Tensor losses = Tensor::empty(target.shape(), x.dtype());
  with_floating_type(x.dtype(), [&](auto t) {
    using T = decltype(t);
    const Tensor rows = packed(x);
    const T* from = rows.data<T>();
    const int64_t* wanted = target.data<int64_t>();
    const int64_t classes = x.shape().back();
    const T factor = reduction == Reduction::mean ? T{-1} / static_cast<T>(counted) : T{-1};
    for (int64_t i = 0; i < target.numel(); ++i) {
      const bool counts = wanted[i] != ignore_index;
      places.mutable_data<int64_t>()[i] = counts ? wanted[i] : 0;
      factors.mutable_data<T>()[i] = counts ? factor : T{0};
      losses.mutable_data<T>()[i] = counts ? -from[i * classes + wanted[i]] : T{0};
    }
  });
  return record(kNll, reduce_losses(losses, reduction, counted), {x},
                [places, factors, shape = x.shape()](const Tensor& dy) -> Grads {
                  return scatter_add(zeros(shape, dy.dtype()), -1, places.unsqueeze(-1), (dy * factors).unsqueeze(-1));
                });
}

Tensor kl_div(const Tensor& input, const Tensor& target, Reduction reduction) {
  return loss_of_pairs(
      kKlDiv, input, target, reduction,
      [](const Tensor& x, const Tensor& t) {
        return where(t == 0, 0., t * log(t)) - t * x;  // 0 log 0 = 0
      },
      [](const Tensor& x, const Tensor& t, const Tensor& dy, bool wants_target) -> Grads {
        return {-(t * dy), wants_target ? (log(t) + 1 - x) * dy : Tensor()};
      });
}

Tensor mse_loss(const Tensor& input, const Tensor& target, Reduction reduction) {
  return loss_of_pairs(
      kMse, input, target, reduction,
      [](const Tensor& x, const Tensor& t) {
        const Tensor d = x - t;
        return d * d;
      },
      [](const Tensor& x, const Tensor& t, const Tensor& dy, bool wants_target) -> Grads {
        const Tensor dx = (x - t) * (dy * 2);
        return {dx, wants_target ? -dx : Tensor()};
      });
}

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target, Reduction reduction) {
  return loss_of_pairs(
      kBinary, logits, target, reduction,
      [](const Tensor& x, const Tensor& t) {
        const Tensor losses = maximum(x, 0.) - x * t + log1p(exp(-abs(x)));  // no exp of a large number
        // With an infinite logit this is infinity - infinity; (1 - t) x is the same loss there.
        return all_finite(x) ? losses : where(x == kInfinity, (1 - t) * x, losses);
      },
      [](const Tensor& x, const Tensor& t, const Tensor& dy, bool wants_target) -> Grads {
        return {(sigmoid(x) - t) * dy, wants_target ? -(x * dy) : Tensor()};
      });
}

}  // namespace tapegrad
