// Computations whose results can be compared between machines.
#pragma once

#include <tapegrad/autograd/named_tensor.h>

#include <functional>
#include <string>
#include <vector>

namespace tapegrad::tasks {

/// A computation with a name, and all that comes out of it.
struct Computation {
  std::string name;
  std::function<NamedTensors()> run;
};
/// Of every operation, in the order of the table of cases: values and gradients of its samples, in float64 and float32.
std::vector<Computation> operation_computations();

}  // namespace tapegrad::tasks
