// What the backward of an operation may know of the backward that runs it, on its thread.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <cstddef>

namespace tapegrad::detail {

/// True during a backward with retain_graph: a node may run again, so it must not change what it captured. False during
/// any other backward that is not itself recorded: then a node runs once.
bool graph_is_retained();

/// For operations whose gradient is 0 almost everywhere: what other operations have added to the gradient of this input
/// so far. The operation may add to it in place, and then returns no gradient for the input. nullptr if there is
/// nothing yet, if someone else holds that sum, if backward itself is recorded, or if every gradient is to be checked.
Tensor* gradient_so_far(std::size_t input);

}  // namespace tapegrad::detail
