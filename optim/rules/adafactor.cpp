// Adafactor.
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/optim/adafactor.h>
#include <tapegrad/optim/detail/check.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapegrad::optim {

namespace {

enum Buffer : std::size_t { kRow, kColumn, kVariance };

// The mean of squares along an axis, without a tensor of squares.
std::optional<Shape> buffer_shape(std::size_t buffer, const Tensor& parameter) {
  const bool factored = parameter.dim() > 1;
  if ((buffer == kVariance) == factored) return std::nullopt;
  Shape shape = parameter.shape();
  if (buffer == kRow) shape[-1] = 1;
  if (buffer == kColumn) shape[-2] = 1;
  return shape;
}

// average + share (value - average)
Tensor moved(const Tensor& average, const Tensor& value, double share) { return average + share * (value - average); }

double root_mean_square(const Tensor& x) {
  return std::sqrt(sum(x * x).item()) / std::sqrt(static_cast<double>(x.numel()));
}

}  // namespace

Adafactor::Adafactor(ParameterGroups parameters, AdafactorOptions options)
    : Optimizer(std::move(parameters), options.lr, options.weight_decay, {"row", "column", "variance"}, buffer_shape),
      options_(options) {
  require_in("adafactor", "beta2_decay", options.beta2_decay, {.most = 0});
  require_in("adafactor", "eps1", options.eps1.value_or(0), kNotNegative);
  require_in("adafactor", "eps2", options.eps2, kNotNegative);
  require_in("adafactor", "d", options.d, {.least = 1});
}

void Adafactor::update_all(const PoolVector<Slot*>& slots) {
  for (Slot* slot : slots) {
    Tensor& p = slot->parameter;
    if (p.numel() == 0) continue;
    const Tensor& g = slot->grad;
    const double t = static_cast<double>(slot->steps), share = fixed::pow(t, options_.beta2_decay);
    const double lr = group_lr(slot->group);
    const double epsilon =
        p.dtype() == kFloat32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
    const double eps1 = options_.eps1.value_or(epsilon);
    const Tensor old = p.detach();
    const double step_size = std::max(options_.eps2, root_mean_square(old)) * std::min(lr, 1 / std::sqrt(t));

    Tensor variance;
    const Tensor squares = g * g;
    if (p.dim() > 1) {
      Tensor &row = slot->buffers[kRow], &column = slot->buffers[kColumn];
      row = moved(row, mean(squares, {-1}, true), share);
      column = moved(column, mean(squares, {-2}, true), share);
      variance = matmul(row, column) / maximum(mean(row, {-2}, true), eps1);
    } else {
      slot->buffers[kVariance] = moved(slot->buffers[kVariance], squares, share);
      variance = slot->buffers[kVariance];
    }
    const Tensor direction = g * rsqrt(maximum(variance, eps1 * eps1));
    const double size = std::max(1.0, root_mean_square(direction) / options_.d);
    const Tensor updated = old * (1 - lr * weight_decay_of(*slot)) - direction * (step_size / size);
    copy_into(p, updated);
  }
}

}  // namespace tapegrad::optim
