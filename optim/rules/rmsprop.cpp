// RMSprop.
// build: -O3
#define HWY_TARGET_INCLUDE "tapegrad/optim/rules/rmsprop.cpp"
#include <tapegrad/optim/kernels/update-inl.h>
#include <tapegrad/optim/rmsprop.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

void rmsprop(const optim::Elements& x, const optim::RMSpropOptions& options, double lr, double l2) {
  const double alpha = options.alpha, eps = options.eps, decay = options.momentum;
  const bool centered = options.centered;
  update<3>(x, [=](auto p, auto g, auto& v, auto& momentum, auto& mean) {
    g = fma(p, l2, g);
    v = v * alpha + (1 - alpha) * g * g;
    auto square = v;
    if (centered) {
      mean = fma(g, 1 - alpha, mean * alpha);
      square = v - mean * mean;
    }
    auto direction = g / (sqrt(square) + eps);
    if (decay != 0) direction = momentum = momentum * decay + direction;
    return p - lr * direction;
  });
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <tapegrad/optim/detail/check.h>

#include <utility>

namespace tapegrad::optim {

HWY_EXPORT(rmsprop);

namespace {

std::vector<std::string> buffers(const RMSpropOptions& options) {
  std::vector<std::string> names{"v"};
  if (options.momentum != 0) names.push_back("momentum");
  if (options.centered) names.push_back("mean");
  return names;
}

}  // namespace

RMSprop::RMSprop(ParameterGroups parameters, RMSpropOptions options)
    : Optimizer(std::move(parameters), options.lr, options.weight_decay, buffers(options)), options_(options) {
  require_in("rmsprop", "alpha", options.alpha, kBelowOne);
  require_in("rmsprop", "momentum", options.momentum, kNotNegative);
  require_in("rmsprop", "eps", options.eps, kNotNegative);
}

void RMSprop::update(const Slot& slot, int64_t begin, int64_t end) {
  Elements x = elements_of(slot, begin, end);
  if (options_.momentum == 0) std::swap(x.buffers[1], x.buffers[2]);  // the second one is the mean
  kernel_of(HWY_DISPATCH_TABLE(rmsprop))(x, options_, group_lr(slot.group), weight_decay_of(slot));
}

}  // namespace tapegrad::optim
#endif  // HWY_ONCE
