// The arguments of nn::certify: options, and a model with its loss as a function of a batch.
#pragma once

#include <tapegrad/autograd/named_tensor.h>
#include <tapegrad/nn/module_walk.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tapegrad::nn {

struct CertifyOptions {
  /// Number of points: the model as it is, then moved once, twice and so on, each time every parameter by normal
  /// numbers of half its size.
  int64_t points = 2;
  int64_t directions = 3;  ///< random ones at each point, in each mode
  uint64_t seed = 1;       ///< of directions and moves, and of the default generator before each call of the loss
  std::string given = "as given";  ///< what the model's own parameters are called
  /// More points, with what they are called: {"initial", nn::state_dict(before)}.
  std::vector<std::pair<std::string, NamedTensors>> states = {};
  /// The relative error that is planted in one element of one gradient, and must be found.
  double planted = 1e-5;
  /// Operations are checked one by one if all values of a pass have at most that many elements.
  int64_t most_elements = int64_t{1} << 26;
};

namespace detail {

using LossCall = std::function<Tensor(std::span<const Tensor> batch)>;

// A model and its loss, on whose parameters the checks write.
struct CertifiedModel {
  AnyModel model;
  LossCall loss;
};

}  // namespace detail

}  // namespace tapegrad::nn
