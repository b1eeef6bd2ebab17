// The linear layers of a model.
#pragma once

#include <tapegrad/nn/linear.h>

#include <string>
#include <vector>

namespace tapegrad::nn::detail {

struct NamedLinear {
  std::string path;
  Linear& layer;
};

// Those with a weight, in the order of the visits, each once.
std::vector<NamedLinear> linear_layers(const AnyModel& model);
// The width of the output.
int64_t outputs_of(const Linear& layer);
// Whether the layer takes inputs of this width. (Of an int8 weight, only the number of groups is known.)
bool takes_inputs(const Linear& layer, int64_t width);

}  // namespace tapegrad::nn::detail
