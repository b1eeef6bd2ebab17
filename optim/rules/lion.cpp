// Lion.
// build: -O3
#define HWY_TARGET_INCLUDE "tapegrad/optim/rules/lion.cpp"
#include <tapegrad/optim/kernels/update-inl.h>
#include <tapegrad/optim/lion.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

void lion(const optim::Elements& x, const optim::LionOptions& options, double lr, double decay) {
  const double beta1 = options.beta1, beta2 = options.beta2;
  update<1>(x, [=](auto p, auto g, auto& m) {
    const auto direction = sign(m * beta1 + g * (1 - beta1));
    m = m * beta2 + g * (1 - beta2);
    return p * (1 - lr * decay) - lr * direction;
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/optim/detail/check.h>

namespace tapegrad::optim {

HWY_EXPORT(lion);

Lion::Lion(ParameterGroups parameters, LionOptions options)
    : Optimizer(std::move(parameters), options.lr, options.weight_decay, {"m"}), options_(options) {
  require_in("lion", "beta1", options.beta1, kBelowOne);
  require_in("lion", "beta2", options.beta2, kBelowOne);
}

void Lion::update(const Slot& slot, int64_t begin, int64_t end) {
  kernel_of(HWY_DISPATCH_TABLE(lion))(elements_of(slot, begin, end), options_, group_lr(slot.group),
                                      weight_decay_of(slot));
}

}  // namespace tapegrad::optim
#endif  // HWY_ONCE
