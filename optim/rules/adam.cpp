// Adam and AdamW.
#include <fmt/format.h>
#include <tapegrad/optim/adam.h>
#include <tapegrad/optim/detail/check.h>
#include <tapegrad/optim/kernels/updates.h>

#include <cmath>

namespace tapegrad::optim {

Adam::Adam(NamedTensors parameters, AdamOptions options) : Adam(one_group(std::move(parameters)), options, false) {}
Adam::Adam(std::vector<ParameterGroup> groups, AdamOptions options) : Adam(std::move(groups), options, false) {}

Adam::Adam(std::vector<ParameterGroup> groups, AdamOptions options, bool decoupled)
    : Optimizer(std::move(groups), options.lr, options.weight_decay.value_or(decoupled ? 1e-2 : 0),
                options.amsgrad ? std::vector<std::string>{"m", "v", "v_max"} : std::vector<std::string>{"m", "v"}),
      options_(options),
      decoupled_(decoupled) {
  check_moments("adam", options);
}

AdamW::AdamW(NamedTensors parameters, AdamWOptions options) : AdamW(one_group(std::move(parameters)), options) {}
AdamW::AdamW(std::vector<ParameterGroup> groups, AdamWOptions options) : Adam(std::move(groups), options, true) {}

void Adam::update(const Slot& slot, int64_t begin, int64_t end) {
  const double lr = group_lr(slot.group), decay = weight_decay_of(slot), t = static_cast<double>(slot.steps);
  adam_update({.dtype = slot.parameter.dtype(),
               .p = slot.parameter.mutable_raw_data(),
               .m = slot.buffers[0].mutable_raw_data(),
               .v = slot.buffers[1].mutable_raw_data(),
               .v_max = options_.amsgrad ? slot.buffers[2].mutable_raw_data() : nullptr,
               .g = slot.grad.raw_data(),
               .beta1 = options_.beta1,
               .beta2 = options_.beta2,
               .eps = options_.eps,
               .step_size = lr / (1 - std::pow(options_.beta1, t)),
               .bias2_sqrt = std::sqrt(1 - std::pow(options_.beta2, t)),
               .l2 = decoupled_ ? 0 : decay,
               .shrink = decoupled_ ? 1 - lr * decay : 1},
              begin, end);
}

}  // namespace tapegrad::optim
