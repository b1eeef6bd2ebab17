// The state of a model as a list of entries.
#pragma once

#include <tapegrad/nn/module.h>

#include <string>
#include <vector>

namespace tapegrad::nn::detail {

// A parameter or a buffer: writing to it writes to the model.
struct Entry {
  std::string name;
  Parameter* parameter;
  Buffer* buffer;
  std::vector<std::string> other_names;  // if it is tied
  const Tensor& tensor() const { return parameter ? parameter->tensor() : buffer->tensor(); }
};

// In the order of the visits. Error for two members of one name.
std::vector<Entry> state_of(const AnyModel& model);

}  // namespace tapegrad::nn::detail
