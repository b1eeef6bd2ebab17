// ASGD.
// build: -O3
#define HWY_TARGET_INCLUDE "tapegrad/optim/rules/asgd.cpp"
#include <tapegrad/autograd/internal/fixed_math.h>
#include <tapegrad/optim/asgd.h>
#include <tapegrad/optim/kernels/update-inl.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

void asgd(const optim::Elements& x, double l2, double eta, double shrink, double mu) {
  update<1>(x, [=](auto p, auto g, auto& average) {
    g = fma(p, l2, g);
    p = fma(g, -eta, p * shrink);
    average = mu == 1 ? p : average + (p - average) * mu;
    return p;
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/optim/detail/check.h>

#include <algorithm>
#include <utility>

namespace tapegrad::optim {

HWY_EXPORT(asgd);

ASGD::ASGD(ParameterGroups parameters, ASGDOptions options)
    : Optimizer(std::move(parameters), options.lr, options.weight_decay, {"ax"}), options_(options) {
  require_in("asgd", "lambd", options.lambd, kNotNegative);
  require_in("asgd", "alpha", options.alpha, kNotNegative);
  require_in("asgd", "t0", options.t0, {});
}

void ASGD::update(const Slot& slot, int64_t begin, int64_t end) {
  const double lr = group_lr(slot.group), before = static_cast<double>(slot.steps - 1);
  // PyTorch keeps both in float32.
  const double eta = static_cast<float>(lr / fixed::pow(1 + options_.lambd * lr * before, options_.alpha));
  const double mu = static_cast<float>(1 / std::max(1.0, before - options_.t0));
  kernel_of(HWY_DISPATCH_TABLE(asgd))(elements_of(slot, begin, end), weight_decay_of(slot), eta,
                                      1 - options_.lambd * eta, mu);
}

}  // namespace tapegrad::optim
#endif  // HWY_ONCE
