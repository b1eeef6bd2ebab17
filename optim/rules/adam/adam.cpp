// Adam and AdamW.
// build: -O3
#define HWY_TARGET_INCLUDE "tapegrad/optim/rules/adam/adam.cpp"
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/optim/adam.h>
#include <tapegrad/optim/kernels/update-inl.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

void adam(const optim::Elements& x, const optim::AdamOptions& options, double step_size, double bias2_sqrt, double l2,
          double shrink) {
  const double beta1 = options.beta1, beta2 = options.beta2, eps = options.eps;
  const bool amsgrad = options.amsgrad;
  update<3>(x, [=](auto p, auto g, auto& m, auto& v, auto& v_max) {
    if (l2 != 0) g = fma(p, l2, g);
    m = fma(g, 1 - beta1, m * beta1);
    v = v * beta2 + (1 - beta2) * g * g;
    auto square = v;
    if (amsgrad) square = v_max = maximum(v_max, v);
    return p * shrink - step_size * m / (sqrt(square) / bias2_sqrt + eps);
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/optim/detail/check.h>

#include <cmath>
#include <utility>

namespace tapegrad::optim {

HWY_EXPORT(adam);

Adam::Adam(ParameterGroups parameters, AdamOptions options) : Adam(std::move(parameters), options, false) {}

Adam::Adam(ParameterGroups parameters, AdamOptions options, bool decoupled)
    : Optimizer(std::move(parameters), options.lr, options.weight_decay.value_or(decoupled ? 1e-2 : 0),
                options.amsgrad ? std::vector<std::string>{"m", "v", "v_max"} : std::vector<std::string>{"m", "v"}),
      options_(options),
      decoupled_(decoupled) {
  check_moments("adam", options);
}

AdamW::AdamW(ParameterGroups parameters, AdamWOptions options) : Adam(std::move(parameters), options, true) {}

void Adam::update(const Slot& slot, int64_t begin, int64_t end) {
  const double lr = group_lr(slot.group), decay = weight_decay_of(slot), t = static_cast<double>(slot.steps);
  double step_size = lr / (1 - fixed::pow(options_.beta1, t));
  double bias2_sqrt = std::sqrt(1 - fixed::pow(options_.beta2, t));
  if (slot.rows.defined()) step_size *= std::exchange(bias2_sqrt, 1);
  kernel_of(HWY_DISPATCH_TABLE(adam))(elements_of(slot, begin, end), options_, step_size, bias2_sqrt,
                                      decoupled_ ? 0 : decay, decoupled_ ? 1 - lr * decay : 1);
}

}  // namespace tapegrad::optim
#endif  // HWY_ONCE
