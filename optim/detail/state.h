// Reads the states of optimisers.
#pragma once

#include <tapegrad/autograd/named_tensor.h>

#include <string>
#include <string_view>
#include <unordered_map>

namespace tapegrad::optim {

/// The entries of a state, which are taken by name. The state must outlive it.
class StateEntries {
 public:
  /// Error of `where` for two entries with one name.
  StateEntries(std::string_view where, const NamedTensors& state);
  /// Error unless there is an entry of this name, shape and type that was not taken yet.
  const Tensor& take(const std::string& name, const Shape& shape, DType dtype);
  /// Error that names an entry that was not taken.
  void require_end() const;

 private:
  std::string_view where_;
  std::unordered_map<std::string_view, const Tensor*> left_;
};

}  // namespace tapegrad::optim
