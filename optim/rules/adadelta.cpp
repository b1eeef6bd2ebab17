// Adadelta.
#include <tapegrad/optim/adadelta.h>
#include <tapegrad/optim/detail/check.h>
#include <tapegrad/optim/kernels/updates.h>

namespace tapegrad::optim {

Adadelta::Adadelta(NamedTensors parameters, AdadeltaOptions options)
    : Adadelta(one_group(std::move(parameters)), options) {}

Adadelta::Adadelta(std::vector<ParameterGroup> groups, AdadeltaOptions options)
    : Optimizer(std::move(groups), options.lr, options.weight_decay, {"v", "w"}), options_(options) {
  check_fraction("adadelta", "rho", options.rho);
  check_eps("adadelta", options.eps);
}

void Adadelta::update(const Slot& slot, int64_t begin, int64_t end) {
  adadelta_update({.dtype = slot.parameter.dtype(),
                   .p = slot.parameter.mutable_raw_data(),
                   .v = slot.buffers[0].mutable_raw_data(),
                   .w = slot.buffers[1].mutable_raw_data(),
                   .g = slot.grad.raw_data(),
                   .lr = group_lr(slot.group),
                   .rho = options_.rho,
                   .eps = options_.eps,
                   .l2 = weight_decay_of(slot)},
                  begin, end);
}

}  // namespace tapegrad::optim
