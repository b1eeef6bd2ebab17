// What tensors and models hold, as vectors to compare.
#pragma once

#include <tapegrad/nn/module.h>

#include <string>
#include <vector>

namespace tapegrad::tests {

using Values = std::vector<float>;
using Names = std::vector<std::string>;

inline Values values_of(const Tensor& x) { return x.to_vector<float>(); }

template <class Model>
Names names_of(Model& model) {
  Names names;
  for (const nn::NamedParameter& p : nn::named_parameters(model)) names.push_back(p.name);
  return names;
}

}  // namespace tapegrad::tests
