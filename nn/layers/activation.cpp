// The table of activation functions, and PReLU's weight.
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/activation.h>
#include <tapegrad/nn/detail/check.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace tapegrad::nn {

namespace {

struct NamedFunction {
  std::string_view name;
  Tensor (*function)(const Tensor&);
};
// In the order of the enum.
constexpr NamedFunction kActivations[] = {
    {"relu", [](const Tensor& x) { return relu(x); }},
    {"gelu", [](const Tensor& x) { return gelu(x); }},
    {"gelu_tanh", [](const Tensor& x) { return gelu(x, Gelu::tanh); }},
    {"silu", [](const Tensor& x) { return silu(x); }},
    {"tanh", [](const Tensor& x) { return tapegrad::tanh(x); }},
    {"sigmoid", [](const Tensor& x) { return sigmoid(x); }},
};

constexpr auto kActivationNames = [] {
  std::array<std::string_view, std::size(kActivations)> names;
  std::transform(std::begin(kActivations), std::end(kActivations), names.begin(),
                 [](const NamedFunction& row) { return row.name; });
  return names;
}();

const NamedFunction& entry_of(Activation activation) { return kActivations[static_cast<std::size_t>(activation)]; }

}  // namespace

std::span<const std::string_view> activation_names() { return kActivationNames; }

Tensor activate(Activation activation, const Tensor& x) { return entry_of(activation).function(x); }

std::string_view name(Activation activation) { return entry_of(activation).name; }

Activation activation_named(std::string_view name) {
  const auto* const found = std::find(kActivationNames.begin(), kActivationNames.end(), name);
  if (found == kActivationNames.end())
    fail("activation", "expected one of {}, got \"{}\"", fmt::join(kActivationNames, ", "), name);
  return static_cast<Activation>(found - kActivationNames.begin());
}

PReLU::PReLU(int64_t channels, double start) {
  require_positive("prelu", "the number of channels", channels);
  weight = Parameter(full({channels}, start));
}

}  // namespace tapegrad::nn
