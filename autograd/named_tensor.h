// A tensor with its name: the form of a model's and an optimiser's state, and of an optimiser's parameters.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <string>
#include <vector>

namespace tapegrad {

/// An entry of a state dict.
struct NamedTensor {
  std::string name;  ///< path in the model, "encoder.norm.gamma", or any other key
  Tensor tensor;     ///< a handle: shares memory with the tensor it was made from
};

/// In order; names are not checked here.
using NamedTensors = std::vector<NamedTensor>;

}  // namespace tapegrad
