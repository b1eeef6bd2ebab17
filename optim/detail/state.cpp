// Reads the states of optimisers.
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/optim/detail/state.h>

namespace tapegrad::optim {

StateEntries::StateEntries(std::string_view where, const NamedTensors& state) : where_(where) {
  for (const NamedTensor& entry : state) {
    if (!left_.emplace(entry.name, &entry.tensor).second) {
      fail(where_, fmt::format("the state has \"{}\" twice", entry.name));
    }
  }
}

const Tensor& StateEntries::take(const std::string& name, const Shape& shape, DType dtype) {
  const auto at = left_.find(name);
  if (at == left_.end()) fail(where_, fmt::format("the state has no \"{}\"", name));
  const Tensor& found = *at->second;
  if (!(found.shape() == shape) || found.dtype() != dtype) {
    fail(where_, fmt::format("expected {} {} for \"{}\" of the state, got {} {}", tapegrad::name(dtype), str(shape),
                             name, tapegrad::name(found.dtype()), str(found.shape())));
  }
  left_.erase(at);
  return found;
}

void StateEntries::require_end() const {
  if (!left_.empty()) fail(where_, fmt::format("the state has an unexpected \"{}\"", left_.begin()->first));
}

}  // namespace tapegrad::optim
