// Stochastic gradient descent.
#include <fmt/format.h>
#include <tapegrad/optim/detail/check.h>
#include <tapegrad/optim/kernels/updates.h>
#include <tapegrad/optim/sgd.h>

#include <cmath>

namespace tapegrad::optim {

SGD::SGD(NamedTensors parameters, SGDOptions options) : SGD(one_group(std::move(parameters)), options) {}

SGD::SGD(std::vector<ParameterGroup> groups, SGDOptions options)
    : Optimizer(std::move(groups), options.lr, options.weight_decay,
                options.momentum != 0 ? std::vector<std::string>{"momentum"} : std::vector<std::string>{}),
      options_(options) {
  check_not_negative("sgd", "momentum", options.momentum);
  if (!std::isfinite(options.dampening))
    fail("sgd", fmt::format("dampening must be finite, got {}", options.dampening));
  if (options.nesterov && !(options.momentum > 0 && options.dampening == 0)) {
    fail("sgd", fmt::format("nesterov needs momentum and no dampening, got momentum {} and dampening {}",
                            options.momentum, options.dampening));
  }
}

void SGD::update(const Slot& slot, int64_t begin, int64_t end) {
  sgd_update({.dtype = slot.parameter.dtype(),
              .p = slot.parameter.mutable_raw_data(),
              .buffer = slot.buffers.empty() ? nullptr : slot.buffers[0].mutable_raw_data(),
              .g = slot.grad.raw_data(),
              .lr = group_lr(slot.group),
              .momentum = options_.momentum,
              .dampening = options_.dampening,
              .l2 = weight_decay_of(slot),
              .nesterov = options_.nesterov,
              .first = slot.steps == 1},
             begin, end);
}

}  // namespace tapegrad::optim
