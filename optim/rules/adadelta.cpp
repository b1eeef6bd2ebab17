// Adadelta.
// build: -O3
#define HWY_TARGET_INCLUDE "tapegrad/optim/rules/adadelta.cpp"
#include <tapegrad/optim/adadelta.h>
#include <tapegrad/optim/kernels/update-inl.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

void adadelta(const optim::Elements& x, const optim::AdadeltaOptions& options, double lr, double l2) {
  const double rho = options.rho, eps = options.eps;
  update<2>(x, [=](auto p, auto g, auto& v, auto& w) {
    g = fma(p, l2, g);
    v = v * rho + (1 - rho) * g * g;
    const auto delta = sqrt(w + eps) / sqrt(v + eps) * g;
    w = w * rho + (1 - rho) * delta * delta;
    return p - lr * delta;
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/optim/detail/check.h>

namespace tapegrad::optim {

HWY_EXPORT(adadelta);

Adadelta::Adadelta(ParameterGroups parameters, AdadeltaOptions options)
    : Optimizer(std::move(parameters), options.lr, options.weight_decay, {"v", "w"}), options_(options) {
  require_in("adadelta", "rho", options.rho, kBelowOne);
  require_in("adadelta", "eps", options.eps, kNotNegative);
}

void Adadelta::update(const Slot& slot, int64_t begin, int64_t end) {
  kernel_of(HWY_DISPATCH_TABLE(adadelta))(elements_of(slot, begin, end), options_, group_lr(slot.group),
                                          weight_decay_of(slot));
}

}  // namespace tapegrad::optim
#endif  // HWY_ONCE
