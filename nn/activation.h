// The choice of an activation, for configurations.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <string_view>

namespace tapegrad::nn {

enum class Activation : uint8_t { relu, gelu, gelu_tanh, silu, tanh, sigmoid };

Tensor activate(Activation activation, const Tensor& x);
/// "relu", "gelu", ...; and back, with an Error for an unknown name that lists the known ones.
std::string_view name(Activation activation);
Activation activation_named(std::string_view name);

}  // namespace tapegrad::nn
