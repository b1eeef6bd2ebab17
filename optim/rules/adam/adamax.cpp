// Adamax.
// build: -O3
#define HWY_TARGET_INCLUDE "tapegrad/optim/rules/adam/adamax.cpp"
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/optim/adamax.h>
#include <tapegrad/optim/kernels/update-inl.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

void adamax(const optim::Elements& x, const optim::AdamaxOptions& options, double rate, double l2) {
  const double beta1 = options.beta1, beta2 = options.beta2, eps = options.eps;
  update<2>(x, [=](auto p, auto g, auto& m, auto& u) {
    g = fma(p, l2, g);
    m = fma(g - m, 1 - beta1, m);
    u = maximum(u * beta2, abs(g) + eps);
    return p - rate * m / u;
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/optim/detail/check.h>

namespace tapegrad::optim {

HWY_EXPORT(adamax);

Adamax::Adamax(ParameterGroups parameters, AdamaxOptions options)
    : Optimizer(std::move(parameters), options.lr, options.weight_decay, {"m", "u"}), options_(options) {
  require_in("adamax", "beta1", options.beta1, kBelowOne);
  require_in("adamax", "beta2", options.beta2, kBelowOne);
  require_in("adamax", "eps", options.eps, kNotNegative);
}

void Adamax::update(const Slot& slot, int64_t begin, int64_t end) {
  const double rate = group_lr(slot.group) / (1 - fixed::pow(options_.beta1, static_cast<double>(slot.steps)));
  kernel_of(HWY_DISPATCH_TABLE(adamax))(elements_of(slot, begin, end), options_, rate, weight_decay_of(slot));
}

}  // namespace tapegrad::optim
#endif  // HWY_ONCE
