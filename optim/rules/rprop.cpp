// Rprop.
// build: -O3
#define HWY_TARGET_INCLUDE "tapegrad/optim/rules/rprop.cpp"
#include <tapegrad/optim/kernels/update-inl.h>
#include <tapegrad/optim/rprop.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

void rprop(const optim::Elements& x, const optim::RpropOptions& options, double first_step) {
  update<2>(x, [&]<class V>(V p, auto g, auto& previous, auto& step) {
    const V zero = 0, one = 1, eta_plus = options.eta_plus, eta_minus = options.eta_minus;
    const V least = options.least_step, largest = options.largest_step;
    const V signs = g * previous, before = where(step == zero, V(first_step), step);
    const V factor = where(signs > zero, eta_plus, where(signs < zero, eta_minus, one));
    step = min(max(before * factor, least), largest);
    previous = where(signs < zero, zero, g);
    return p - sign(previous) * step;
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/internal/fail.h>

namespace tapegrad::optim {

HWY_EXPORT(rprop);

Rprop::Rprop(ParameterGroups parameters, RpropOptions options)
    : Optimizer(std::move(parameters), options.lr, 0, {"prev", "step_size"}), options_(options) {
  const RpropOptions& o = options_;
  require(0 < o.eta_minus && o.eta_minus < 1 && 1 < o.eta_plus, "rprop",
          "expected 0 < eta_minus < 1 < eta_plus, got {} and {}", o.eta_minus, o.eta_plus);
  require(0 < o.least_step && o.least_step <= o.largest_step, "rprop",
          "expected 0 < least_step <= largest_step, got {} and {}", o.least_step, o.largest_step);
}

void Rprop::update(const Slot& slot, int64_t begin, int64_t end) {
  kernel_of(HWY_DISPATCH_TABLE(rprop))(elements_of(slot, begin, end), options_, group_lr(slot.group));
}

}  // namespace tapegrad::optim
#endif  // HWY_ONCE
