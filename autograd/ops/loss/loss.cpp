// Elementwise losses: each has one formula for the loss and one for each gradient.
//
// A new loss is an entry of the table, an Op, a function at the end of this file, a declaration in losses.h, and
// samples.
#define HWY_TARGET_INCLUDE "tapegrad/autograd/ops/loss/loss.cpp"
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <tapegrad/autograd/kernels/kernel.h>
#include <tapegrad/autograd/ops/detail/formula_simd.h>
#include <tapegrad/autograd/ops/detail/reduce.h>
#include <tapegrad/autograd/ops/loss/detail/loss.h>

#ifndef TAPEGRAD_LOSS_FORMULAS
#define TAPEGRAD_LOSS_FORMULAS
#include <array>
#include <limits>

namespace tapegrad {

inline constexpr int kLossOperands = 3;
inline constexpr double kInfiniteLogit = std::numeric_limits<double>::infinity();

// The loss of operands (and scalars), and the gradient of each operand from dy, the operands and the scalars.
struct ElementLoss {
  Formula value;
  Formula gradients[kLossOperands];
};

struct LossFormulas {
  ElementLoss kl_div, kl_div_of_logs, mse, l1, huber, smooth_l1, binary, binary_of_logits, binary_of_logits_weighted,
      gaussian;
};

}  // namespace tapegrad
#endif

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

// log(1 + exp(-x)), without exp of a large number.
constexpr auto kSoftplusOfMinus = [](auto x) { return log1p(exp(-abs(x))) - minimum(x, 0.); };

// log(p) and log(1 - p), at least -100. As a limit of a logarithm, the second derivative at the end would be 0 times
// infinity.
constexpr double kLowest = 3.73e-44;  // exp(-100)
constexpr auto kLog = [](auto p) { return where(p < kLowest, -100, log(where(p < kLowest, 1, p))); };
constexpr auto kLogOfRest = [](auto p) { return where(p == 1, -100, log1p(-where(p == 1, 0, p))); };

const LossFormulas& loss_formulas() {
  static constexpr LossFormulas formulas = {
      // 0 at t = 0, also for x = -inf
      .kl_div = {value_of<2>([](auto x, auto t) { return where(t == 0, where(x == x, 0, x), t * log(t) - t * x); }),
                 {derivative_of<3>([](auto dy, auto, auto t) { return -(t * dy); }),
                  derivative_of<3>([](auto dy, auto x, auto t) { return (log(t) + 1 - x) * dy; })}},
      .kl_div_of_logs = {value_of<2>([](auto x, auto t) { return exp(t) * (t - x); }),
                         {derivative_of<3>([](auto dy, auto, auto t) { return -(exp(t) * dy); }),
                          derivative_of<3>([](auto dy, auto x, auto t) { return exp(t) * (t + 1 - x) * dy; })}},
      .mse = {value_of<2>([](auto x, auto t) { return (x - t) * (x - t); }),
              {derivative_of<3>([](auto dy, auto x, auto t) { return (x - t) * (dy * 2); }),
               derivative_of<3>([](auto dy, auto x, auto t) { return (t - x) * (dy * 2); })}},
      .l1 = {value_of<2>([](auto x, auto t) { return abs(x - t); }),
             {derivative_of<3>([](auto dy, auto x, auto t) { return dy * sign(x - t); }),
              derivative_of<3>([](auto dy, auto x, auto t) { return dy * sign(t - x); })}},
      .huber = {value_of<2, 1>([](auto x, auto t, auto delta) {
                  const auto d = abs(x - t);
                  return where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta));
                }),
                {derivative_of<3, 1>(
                     [](auto dy, auto x, auto t, auto delta) { return dy * maximum(minimum(x - t, delta), -delta); }),
                 derivative_of<3, 1>(
                     [](auto dy, auto x, auto t, auto delta) { return dy * maximum(minimum(t - x, delta), -delta); })}},
      .smooth_l1 = {value_of<2, 1>([](auto x, auto t, auto beta) {
                      const auto d = abs(x - t);
                      return where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta);
                    }),
                    {derivative_of<3, 1>([](auto dy, auto x, auto t, auto beta) {
                       return dy * maximum(minimum((x - t) / beta, 1.), -1.);
                     }),
                     derivative_of<3, 1>([](auto dy, auto x, auto t, auto beta) {
                       return dy * maximum(minimum((t - x) / beta, 1.), -1.);
                     })}},
      .binary = {value_of<2>(
                     [](auto p, auto t) { return (t - 1) * maximum(log1p(-p), -100.) - t * maximum(log(p), -100.); }),
                 {derivative_of<3>([](auto dy, auto p, auto t) { return dy * (p - t) / maximum((1 - p) * p, 1e-12); }),
                  derivative_of<3>([](auto dy, auto p, auto) { return dy * (kLogOfRest(p) - kLog(p)); })}},
      // With an infinite logit the sum would be infinity - infinity; (1 - t) x is the same loss there.
      .binary_of_logits = {value_of<2>([](auto x, auto t) {
                             const auto loss = maximum(x, 0.) - x * t + log1p(exp(-abs(x)));
                             return where(x == kInfiniteLogit, (1 - t) * x, loss);
                           }),
                           {derivative_of<3>([](auto dy, auto x, auto t) { return (sigmoid(x) - t) * dy; }),
                            derivative_of<3>([](auto dy, auto x, auto) { return -(x * dy); })}},
      // The term with the target is multiplied by w.
      .binary_of_logits_weighted =
          {value_of<3>([](auto x, auto t, auto w) { return (1 - t) * x + (1 + (w - 1) * t) * kSoftplusOfMinus(x); }),
           {derivative_of<4>(
                [](auto dy, auto x, auto t, auto w) { return dy * ((1 - t) + (1 + (w - 1) * t) * (sigmoid(x) - 1)); }),
            derivative_of<4>([](auto dy, auto x, auto, auto w) { return dy * ((w - 1) * kSoftplusOfMinus(x) - x); }),
            derivative_of<4>([](auto dy, auto x, auto t, auto) { return dy * (t * kSoftplusOfMinus(x)); })}},
      .gaussian = {value_of<3, 1>([](auto x, auto t, auto v, auto constant) {
                     const auto d = x - t;
                     return 0.5 * (log(v) + d * d / v) + constant;
                   }),
                   {derivative_of<4, 1>([](auto dy, auto x, auto t, auto v, auto) { return dy * ((x - t) / v); }),
                    derivative_of<4, 1>([](auto dy, auto x, auto t, auto v, auto) { return dy * ((t - x) / v); }),
                    derivative_of<4, 1>([](auto dy, auto x, auto t, auto v, auto) {
                      const auto d = (x - t) / v;
                      return dy * (0.5 * (1 / v - d * d));
                    })}},
  };
  return formulas;
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/detail/index_text.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops/detail/shapes.h>

#include <numbers>

namespace tapegrad {

HWY_EXPORT(loss_formulas);

namespace {

const LossFormulas& element_losses() { return chosen<HWY_DISPATCH_TABLE(loss_formulas)>(); }

const Op kKlDiv{"kl_div"};
const Op kMse{"mse_loss"};
const Op kL1{"l1_loss"};
const Op kHuber{"huber_loss"};
const Op kSmoothL1{"smooth_l1_loss"};
const Op kBinary{"binary_cross_entropy"};
const Op kBinaryOfLogits{"binary_cross_entropy_with_logits"};
const Op kGaussian{"gaussian_nll_loss"};

// The gradients of all operands for dy, which has the shape of the losses.
template <int kOperands>
Grads gradients_of(const ElementLoss& loss, const std::array<Tensor, kOperands>& x, unsigned wanted, const Tensor& dy,
                   const Scalars& scalars) {
  Grads grads;
  for (int i = 0; i < kOperands; ++i) {
    Tensor grad;
    if (wanted >> i & 1) {
      if constexpr (kOperands == 2) {
        grad = derive(loss.gradients[i], {&dy, &x[0], &x[1]}, scalars);
      } else {
        grad = derive(loss.gradients[i], {&dy, &x[0], &x[1], &x[2]}, scalars);
      }
    }
    grads.push_back(std::move(grad));
  }
  return grads;
}

// The reduced loss of two or three operands, which are converted to their common type and broadcast to one of them.
template <class... Operands>
Tensor loss_of(const Op& op, const ElementLoss& loss, Reduction reduction, const Scalars& scalars,
               const Operands&... operands) {
  constexpr int kOperands = sizeof...(Operands);
  (require_floating(op.name, {&operands}), ...);
  const Shape shape = shape_of_losses(op.name, {&operands...});
  DType dtype = kFloat32;
  ((dtype = promoted_type(dtype, operands.dtype())), ...);
  const std::array<Tensor, kOperands> x = {operands.to(dtype)...};
  Tensor losses;
  unsigned wanted = 0;  // one bit per operand
  for (int i = 0; i < kOperands; ++i) wanted |= needs_grad(x[i]) ? 1u << i : 0u;
  if constexpr (kOperands == 2) {
    losses = compute(loss.value, shape, {&x[0], &x[1]}, scalars);
  } else {
    losses = compute(loss.value, shape, {&x[0], &x[1], &x[2]}, scalars);
  }
  const double count = static_cast<double>(losses.numel());
  const Tensor y = reduce_losses(losses, reduction, count);
  if (wanted == 0) return y;
  return record(op, y, std::span<const Tensor>(x),
                [&loss, x, wanted, shape, scalars, count, reduction](const Tensor& dy) {
                  const Tensor each = reduction == Reduction::mean ? dy / count : dy;
                  return gradients_of<kOperands>(loss, x, wanted, each.expand(shape), scalars);
                });
}

// Error for the first element outside [low, high], or NaN.
void require_between(const Op& op, std::string_view what, const Tensor& x, double low, double high) {
  if (x.numel() == 0) return;
  const Tensor values = packed(x);
  with_floating_type(x.dtype(), [&]<class T>(T) {
    const T* const from = values.data<T>();
    const T least = reduced(op.name, ReduceKind::minimum, x, {}, false).template item<T>();
    const T most = reduced(op.name, ReduceKind::maximum, x, {}, false).template item<T>();
    if (least >= low && most <= high) return;
    int64_t i = 0;
    while (from[i] >= low && from[i] <= high) ++i;
    fail(op, "expected {}, got {} at {}", what, from[i], index_text(i, x.shape()));
  });
}

// The reduced losses, each multiplied by its weight.
Tensor weighted_losses(const Op& op, const Tensor& losses, const Tensor& weight, Reduction reduction) {
  shape_of_losses(op.name, {&losses, &weight});
  return reduce_recorded(losses * weight, reduction);
}

// var with values of at least eps; NaN stays NaN. Clamps the values, not the gradient. Error for a negative value.
Tensor clamped_variance(const Tensor& var, double eps) {
  if (var.numel() == 0) return var;
  const Tensor values = var.detach();
  const double least = reduced(kGaussian.name, ReduceKind::minimum, values, {}, false).item();
  if (least >= eps) return var;
  if (!(least >= 0)) {  // NaN says nothing about the other values
    const Tensor negative = masked_select(values, values < 0);
    if (negative.numel() > 0) fail(kGaussian, "expected a variance of 0 or more, got {}", min(negative).item());
  }
  return var + where(values < eps, eps - values, 0.);
}

}  // namespace

Tensor reduce_losses(const Tensor& losses, Reduction reduction, double divisor) {
  if (reduction == Reduction::none) return losses;
  const Tensor y = sum(losses);
  if (reduction == Reduction::sum) return y;
  with_floating_type(y.dtype(), [&](auto t) { *y.mutable_data<decltype(t)>() /= static_cast<decltype(t)>(divisor); });
  return y;
}

Shape shape_of_losses(std::string_view where, std::initializer_list<const Tensor*> operands) {
  Shape shape;
  for (const Tensor* x : operands) {
    const Shape both = broadcast(where, shape, x->shape());
    if (!(both == shape) && !(both == x->shape())) {
      fail(where,
           "expected operands that broadcast to the shape of one of them, got {} and {}, which would give {} (squeeze "
           "or unsqueeze an axis, or expand one operand if all pairs are meant)",
           shape, x->shape(), both);
    }
    shape = both;
  }
  return shape;
}

Tensor reduce_recorded(const Tensor& losses, Reduction reduction) {
  return reduction == Reduction::none ? losses : reduction == Reduction::sum ? sum(losses) : mean(losses);
}

Tensor mse_loss(const Tensor& input, const Tensor& target, Reduction reduction) {
  return loss_of(kMse, element_losses().mse, reduction, {}, input, target);
}

Tensor l1_loss(const Tensor& input, const Tensor& target, Reduction reduction) {
  return loss_of(kL1, element_losses().l1, reduction, {}, input, target);
}

Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberOptions& options) {
  if (!(options.delta > 0)) fail(kHuber, "expected a delta above 0, got {}", options.delta);
  return loss_of(kHuber, element_losses().huber, options.reduction, {options.delta}, input, target);
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1Options& options) {
  if (!(options.beta >= 0)) fail(kSmoothL1, "expected a beta of 0 or more, got {}", options.beta);
  const ElementLoss& loss = options.beta == 0 ? element_losses().l1 : element_losses().smooth_l1;
  return loss_of(kSmoothL1, loss, options.reduction, {options.beta}, input, target);
}

Tensor kl_div(const Tensor& input, const Tensor& target, const KlDivOptions& options) {
  const ElementLoss& loss = options.log_target ? element_losses().kl_div_of_logs : element_losses().kl_div;
  if (!options.batchmean) return loss_of(kKlDiv, loss, options.reduction, {}, input, target);
  if (options.reduction != Reduction::mean) kKlDiv.fail("expected batchmean with Reduction::mean, got another one");
  const Tensor total = loss_of(kKlDiv, loss, Reduction::sum, {}, input, target);
  return input.dim() == 0 ? total : total / static_cast<double>(input.size(0));
}

Tensor binary_cross_entropy(const Tensor& p, const Tensor& target, const BinaryCrossEntropyOptions& options) {
  require_floating(kBinary.name, {&p});
  require_between(kBinary, "probabilities between 0 and 1", p, 0, 1);
  const bool weighted = options.weight.defined();
  const Reduction reduction = weighted ? Reduction::none : options.reduction;
  const Tensor losses = loss_of(kBinary, element_losses().binary, reduction, {}, p, target);
  return weighted ? weighted_losses(kBinary, losses, options.weight, options.reduction) : losses;
}

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        const BinaryCrossEntropyWithLogitsOptions& options) {
  const bool weighted = options.weight.defined();
  const Reduction reduction = weighted ? Reduction::none : options.reduction;
  const Tensor losses =
      options.pos_weight.defined()
          ? loss_of(kBinaryOfLogits, element_losses().binary_of_logits_weighted, reduction, {}, logits, target,
                    options.pos_weight)
          : loss_of(kBinaryOfLogits, element_losses().binary_of_logits, reduction, {}, logits, target);
  return weighted ? weighted_losses(kBinaryOfLogits, losses, options.weight, options.reduction) : losses;
}

Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var,
                         const GaussianNllOptions& options) {
  require_floating(kGaussian.name, {&var});
  Tensor v = clamped_variance(var, options.eps);
  if (var.dim() + 1 == input.dim()) {  // one variance per vector
    if (without_axis(input.shape(), -1) == var.shape()) v = v.unsqueeze(-1);
  }
  const double constant = options.full ? 0.5 * fixed::log(2 * std::numbers::pi) : 0;
  return loss_of(kGaussian, element_losses().gaussian, options.reduction, {constant}, input, target, v);
}

}  // namespace tapegrad
#endif  // HWY_ONCE
