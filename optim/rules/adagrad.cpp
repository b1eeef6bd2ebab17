// Adagrad.
// build: -O3
#define HWY_TARGET_INCLUDE "tapegrad/optim/rules/adagrad.cpp"
#include <tapegrad/optim/adagrad.h>
#include <tapegrad/optim/kernels/update-inl.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

void adagrad(const optim::Elements& x, double lr, double eps, double l2) {
  update<1>(x, [=](auto p, auto g, auto& sum) {
    g = fma(p, l2, g);
    sum = sum + g * g;
    return p - lr * g / (sqrt(sum) + eps);
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/optim/detail/check.h>

namespace tapegrad::optim {

HWY_EXPORT(adagrad);

Adagrad::Adagrad(ParameterGroups parameters, AdagradOptions options)
    : Optimizer(std::move(parameters), options.lr, options.weight_decay, {"sum"}), options_(options) {
  require_in("adagrad", "lr_decay", options.lr_decay, kNotNegative);
  require_in("adagrad", "initial_accumulator_value", options.initial_accumulator_value, kNotNegative);
  require_in("adagrad", "eps", options.eps, kNotNegative);
  start_buffers_at(options.initial_accumulator_value);
}

void Adagrad::update(const Slot& slot, int64_t begin, int64_t end) {
  const double lr = group_lr(slot.group) / (1 + static_cast<double>(slot.steps - 1) * options_.lr_decay);
  kernel_of(HWY_DISPATCH_TABLE(adagrad))(elements_of(slot, begin, end), lr, options_.eps, weight_decay_of(slot));
}

}  // namespace tapegrad::optim
#endif  // HWY_ONCE
