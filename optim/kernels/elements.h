// What an update rule works on.
#pragma once

#include <tapegrad/autograd/dtype.h>

#include <cstddef>
#include <cstdint>

namespace tapegrad::optim {

/// Elements [begin, end) of a parameter, of its gradient and of its state tensors, which are contiguous and of one
/// type.
struct Elements {
  static constexpr std::size_t kMostBuffers = 3;
  DType dtype;
  int64_t begin, end;
  void* parameter;
  const void* grad;
  void* buffers[kMostBuffers];  // nullptr: the optimiser has no such tensor
};

/// Those of an Optimizer::Slot.
template <class Slot>
Elements elements_of(const Slot& slot, int64_t begin, int64_t end) {
  Elements x{slot.parameter.dtype(), begin, end, slot.parameter.mutable_raw_data(), slot.grad.raw_data(), {}};
  for (std::size_t b = 0; b < slot.buffers.size(); ++b) x.buffers[b] = slot.buffers[b].mutable_raw_data();
  return x;
}

}  // namespace tapegrad::optim
