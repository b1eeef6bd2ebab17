// Adamax.
#include <tapegrad/optim/adamax.h>
#include <tapegrad/optim/detail/check.h>
#include <tapegrad/optim/kernels/updates.h>

namespace tapegrad::optim {

Adamax::Adamax(NamedTensors parameters, AdamaxOptions options) : Adamax(one_group(std::move(parameters)), options) {}

Adamax::Adamax(std::vector<ParameterGroup> groups, AdamaxOptions options)
    : Optimizer(std::move(groups), options.lr, options.weight_decay, {"m", "u"}), options_(options) {
  check_fraction("adamax", "beta1", options.beta1);
  check_fraction("adamax", "beta2", options.beta2);
  check_eps("adamax", options.eps);
}

void Adamax::update(const Slot& slot, int64_t begin, int64_t end) {
  adamax_update({.dtype = slot.parameter.dtype(),
                 .p = slot.parameter.mutable_raw_data(),
                 .m = slot.buffers[0].mutable_raw_data(),
                 .u = slot.buffers[1].mutable_raw_data(),
                 .g = slot.grad.raw_data(),
                 .beta1 = options_.beta1,
                 .beta2 = options_.beta2,
                 .eps = options_.eps,
                 .l2 = weight_decay_of(slot),
                 .rate = group_lr(slot.group) / (1 - std::pow(options_.beta1, static_cast<double>(slot.steps)))},
                begin, end);
}

}  // namespace tapegrad::optim
