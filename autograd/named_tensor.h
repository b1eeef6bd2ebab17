// A tensor with its name: the form of a model's and an optimiser's state, and of an optimiser's parameters.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <string>
#include <vector>

namespace tapegrad {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// In order; names are not checked here.
using NamedTensors = std::vector<NamedTensor>;

}  // namespace tapegrad
