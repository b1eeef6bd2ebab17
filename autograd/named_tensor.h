// A tensor with its name: what state goes in and out as, and what an optimiser is given.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <string>
#include <vector>

namespace tapegrad {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// In the order in which they were made or shall be written.
using NamedTensors = std::vector<NamedTensor>;

}  // namespace tapegrad
