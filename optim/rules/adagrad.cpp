// Adagrad.
#include <tapegrad/optim/adagrad.h>
#include <tapegrad/optim/detail/check.h>
#include <tapegrad/optim/kernels/updates.h>

namespace tapegrad::optim {

Adagrad::Adagrad(NamedTensors parameters, AdagradOptions options)
    : Adagrad(one_group(std::move(parameters)), options) {}

Adagrad::Adagrad(std::vector<ParameterGroup> groups, AdagradOptions options)
    : Optimizer(std::move(groups), options.lr, options.weight_decay, {"sum"}), options_(options) {
  check_not_negative("adagrad", "lr_decay", options.lr_decay);
  check_not_negative("adagrad", "initial_accumulator_value", options.initial_accumulator_value);
  check_eps("adagrad", options.eps);
  start_buffers_at(options.initial_accumulator_value);
}

void Adagrad::update(const Slot& slot, int64_t begin, int64_t end) {
  adagrad_update({.dtype = slot.parameter.dtype(),
                  .p = slot.parameter.mutable_raw_data(),
                  .sum = slot.buffers[0].mutable_raw_data(),
                  .g = slot.grad.raw_data(),
                  .lr = group_lr(slot.group) / (1 + static_cast<double>(slot.steps - 1) * options_.lr_decay),
                  .eps = options_.eps,
                  .l2 = weight_decay_of(slot)},
                 begin, end);
}

}  // namespace tapegrad::optim
