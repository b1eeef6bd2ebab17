// Stochastic gradient descent.
#include <fmt/format.h>
#include <tapegrad/optim/detail/kernels.h>
#include <tapegrad/optim/sgd.h>

namespace tapegrad::optim {

namespace {

std::vector<ParameterGroup> one_group(NamedTensors parameters) {
  std::vector<ParameterGroup> groups(1);
  groups[0].parameters = std::move(parameters);
  return groups;
}

}  // namespace

SGD::SGD(NamedTensors parameters, SGDOptions options) : SGD(one_group(std::move(parameters)), options) {}

SGD::SGD(std::vector<ParameterGroup> groups, SGDOptions options)
    : Optimizer(std::move(groups), options.lr, options.weight_decay,
                options.momentum != 0 ? std::vector<std::string>{"momentum"} : std::vector<std::string>{}),
      options_(options) {
  if (!(options.momentum >= 0)) fail("sgd", fmt::format("momentum is {}, it must not be negative", options.momentum));
  if (options.nesterov && !(options.momentum > 0 && options.dampening == 0)) {
    fail("sgd", fmt::format("nesterov needs momentum and no dampening, momentum is {} and dampening {}",
                            options.momentum, options.dampening));
  }
}

void SGD::update(const Slot& slot, int64_t begin, int64_t end) {
  const SgdStep step{.lr = group_lr(slot.group),
                     .momentum = options_.momentum,
                     .dampening = options_.dampening,
                     .l2 = weight_decay_of(slot),
                     .nesterov = options_.nesterov,
                     .first = slot.steps == 1};
  with_floating_type(slot.parameter.dtype(), [&](auto t) {
    using T = decltype(t);
    sgd_update(end - begin, slot.parameter.mutable_data<T>() + begin,
               slot.buffers.empty() ? nullptr : slot.buffers[0].mutable_data<T>() + begin, slot.grad.data<T>() + begin,
               step);
  });
}

}  // namespace tapegrad::optim
