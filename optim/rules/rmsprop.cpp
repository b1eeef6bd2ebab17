// RMSprop.
#include <tapegrad/optim/detail/check.h>
#include <tapegrad/optim/kernels/updates.h>
#include <tapegrad/optim/rmsprop.h>

namespace tapegrad::optim {

namespace {

std::vector<std::string> buffers(const RMSpropOptions& options) {
  std::vector<std::string> names{"v"};
  if (options.momentum != 0) names.push_back("momentum");
  if (options.centered) names.push_back("mean");
  return names;
}

}  // namespace

RMSprop::RMSprop(NamedTensors parameters, RMSpropOptions options)
    : RMSprop(one_group(std::move(parameters)), options) {}

RMSprop::RMSprop(std::vector<ParameterGroup> groups, RMSpropOptions options)
    : Optimizer(std::move(groups), options.lr, options.weight_decay, buffers(options)), options_(options) {
  check_fraction("rmsprop", "alpha", options.alpha);
  check_not_negative("rmsprop", "momentum", options.momentum);
  check_eps("rmsprop", options.eps);
}

void RMSprop::update(const Slot& slot, int64_t begin, int64_t end) {
  rmsprop_update({.dtype = slot.parameter.dtype(),
                  .p = slot.parameter.mutable_raw_data(),
                  .v = slot.buffers[0].mutable_raw_data(),
                  .mean = options_.centered ? slot.buffers.back().mutable_raw_data() : nullptr,
                  .momentum = options_.momentum != 0 ? slot.buffers[1].mutable_raw_data() : nullptr,
                  .g = slot.grad.raw_data(),
                  .lr = group_lr(slot.group),
                  .alpha = options_.alpha,
                  .eps = options_.eps,
                  .decay = options_.momentum,
                  .l2 = weight_decay_of(slot)},
                 begin, end);
}

}  // namespace tapegrad::optim
