// The table of activation functions, and PReLU's weight.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/activation.h>
#include <tapegrad/nn/detail/check.h>

#include <algorithm>

namespace tapegrad::nn {

namespace {

// In the order of the enum.
constexpr Tensor (*kFunctions[])(const Tensor&) = {
    [](const Tensor& x) { return relu(x); },
    [](const Tensor& x) { return gelu(x); },
    [](const Tensor& x) { return gelu(x, Gelu::tanh); },
    [](const Tensor& x) { return silu(x); },
    [](const Tensor& x) { return tapegrad::tanh(x); },
    [](const Tensor& x) { return sigmoid(x); },
};

}  // namespace

Tensor activate(Activation activation, const Tensor& x) { return kFunctions[static_cast<std::size_t>(activation)](x); }

std::string_view name(Activation activation) { return kActivationNames[static_cast<std::size_t>(activation)]; }

Activation activation_named(std::string_view name) {
  const auto* const found = std::find(std::begin(kActivationNames), std::end(kActivationNames), name);
  if (found == std::end(kActivationNames))
    fail("activation", fmt::format("expected one of {}, got \"{}\"", fmt::join(kActivationNames, ", "), name));
  return static_cast<Activation>(found - std::begin(kActivationNames));
}

PReLU::PReLU(int64_t channels, double start) {
  require_positive("prelu", "the number of channels", channels);
  weight = Parameter(full({channels}, start));
}

}  // namespace tapegrad::nn
