// What an operation was called with in addition to its inputs: nn::watch keeps it.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tapegrad {

/// A number (also a bool, or the place in an enum), a list of axes, or a tensor without a gradient: indices, a mask.
using OpSetting = std::variant<double, Dims, Tensor>;
/// By name: {"axis", 1}.
using OpSettings = std::vector<std::pair<std::string_view, OpSetting>>;

}  // namespace tapegrad
