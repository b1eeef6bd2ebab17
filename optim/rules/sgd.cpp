// Stochastic gradient descent.
// build: -O3
#define HWY_TARGET_INCLUDE "tapegrad/optim/rules/sgd.cpp"
#include <tapegrad/optim/kernels/update-inl.h>
#include <tapegrad/optim/sgd.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

void sgd(const optim::Elements& x, const optim::SGDOptions& options, double lr, double l2, bool first) {
  const double momentum = options.momentum, dampening = options.dampening;
  const bool nesterov = options.nesterov;
  update<1>(x, [=](auto p, auto g, auto& buffer) {
    if (l2 != 0) g = fma(p, l2, g);
    if (momentum != 0) {
      buffer = first ? g : fma(g, 1 - dampening, buffer * momentum);
      g = nesterov ? fma(buffer, momentum, g) : buffer;
    }
    return fma(g, -lr, p);
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/optim/detail/check.h>

namespace tapegrad::optim {

HWY_EXPORT(sgd);

SGD::SGD(ParameterGroups parameters, SGDOptions options)
    : Optimizer(std::move(parameters), options.lr, options.weight_decay,
                options.momentum != 0 ? std::vector<std::string>{"momentum"} : std::vector<std::string>{}),
      options_(options) {
  require_in("sgd", "momentum", options.momentum, kNotNegative);
  require_in("sgd", "dampening", options.dampening, {});
  require(!options.nesterov || (options.momentum > 0 && options.dampening == 0), "sgd",
          "expected nesterov with momentum and without dampening, got momentum {} and dampening {}", options.momentum,
          options.dampening);
}

void SGD::update(const Slot& slot, int64_t begin, int64_t end) {
  kernel_of(HWY_DISPATCH_TABLE(sgd))(elements_of(slot, begin, end), options_, group_lr(slot.group),
                                     weight_decay_of(slot), slot.steps == 1);
}

}  // namespace tapegrad::optim
#endif  // HWY_ONCE
