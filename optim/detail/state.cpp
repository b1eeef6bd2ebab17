// Reads the states of optimisers.
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/optim/detail/state.h>

namespace tapegrad::optim {

StateEntries::StateEntries(std::string_view where, const NamedTensors& state) : where_(where) {
  for (const NamedTensor& entry : state) {
    require(left_.emplace(entry.name, &entry.tensor).second, where_, "the state has \"{}\" twice", entry.name);
  }
}

const Tensor& StateEntries::take(const std::string& name, const Shape& shape, DType dtype) {
  const auto at = left_.find(name);
  if (at == left_.end()) fail(where_, "the state has no \"{}\"", name);
  const Tensor& found = *at->second;
  require(found.shape() == shape && found.dtype() == dtype, where_, "expected {} {} for \"{}\" of the state, got {} {}",
          dtype, shape, name, found.dtype(), found.shape());
  left_.erase(at);
  return found;
}

void StateEntries::require_end() const {
  if (!left_.empty()) fail(where_, "the state has an unexpected \"{}\"", left_.begin()->first);
}

}  // namespace tapegrad::optim
