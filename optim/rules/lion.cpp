// Lion.
#include <tapegrad/optim/detail/check.h>
#include <tapegrad/optim/kernels/updates.h>
#include <tapegrad/optim/lion.h>

namespace tapegrad::optim {

Lion::Lion(NamedTensors parameters, LionOptions options) : Lion(one_group(std::move(parameters)), options) {}

Lion::Lion(std::vector<ParameterGroup> groups, LionOptions options)
    : Optimizer(std::move(groups), options.lr, options.weight_decay, {"m"}), options_(options) {
  check_fraction("lion", "beta1", options.beta1);
  check_fraction("lion", "beta2", options.beta2);
}

void Lion::update(const Slot& slot, int64_t begin, int64_t end) {
  const double lr = group_lr(slot.group);
  lion_update({.dtype = slot.parameter.dtype(),
               .p = slot.parameter.mutable_raw_data(),
               .m = slot.buffers[0].mutable_raw_data(),
               .g = slot.grad.raw_data(),
               .lr = lr,
               .beta1 = options_.beta1,
               .beta2 = options_.beta2,
               .shrink = 1 - lr * weight_decay_of(slot)},
              begin, end);
}

}  // namespace tapegrad::optim
