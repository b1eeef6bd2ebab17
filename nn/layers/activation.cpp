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
  Tensor (*function)(const Tensor&, double parameter);
  std::optional<double> parameter = {};  // its default; empty: the function has none
};
// In the order of the enum.
constexpr NamedFunction kActivations[] = {
    {"relu", [](const Tensor& x, double) { return relu(x); }},
    {"gelu", [](const Tensor& x, double) { return gelu(x); }},
    {"gelu_tanh", [](const Tensor& x, double) { return gelu(x, Gelu::tanh); }},
    {"silu", [](const Tensor& x, double) { return silu(x); }},
    {"tanh", [](const Tensor& x, double) { return tapegrad::tanh(x); }},
    {"sigmoid", [](const Tensor& x, double) { return sigmoid(x); }},
    {"leaky_relu", [](const Tensor& x, double slope) { return leaky_relu(x, slope); }, 0.01},
    {"elu", [](const Tensor& x, double alpha) { return elu(x, alpha); }, 1.},
};

constexpr auto kActivationNames = [] {
  std::array<std::string_view, std::size(kActivations)> names;
  std::transform(std::begin(kActivations), std::end(kActivations), names.begin(),
                 [](const NamedFunction& row) { return row.name; });
  return names;
}();

const NamedFunction& entry_of(const Activation& activation) { return kActivations[activation.kind]; }

}  // namespace

bool Activation::takes_parameter() const { return entry_of(*this).parameter.has_value(); }

void Activation::check() const {
  if (parameter && !takes_parameter()) fail("activation", "{} has no parameter, got {:g}", name(*this), *parameter);
}

std::span<const std::string_view> activation_names() { return kActivationNames; }

Tensor activate(const Activation& activation, const Tensor& x) {
  activation.check();
  const NamedFunction& entry = entry_of(activation);
  return entry.function(x, activation.parameter.value_or(entry.parameter.value_or(0)));
}

std::string_view name(const Activation& activation) { return entry_of(activation).name; }

Activation activation_named(std::string_view name) {
  const auto* const found = std::find(kActivationNames.begin(), kActivationNames.end(), name);
  if (found == kActivationNames.end())
    fail("activation", "expected one of {}, got \"{}\"", fmt::join(kActivationNames, ", "), name);
  return static_cast<Activation::Kind>(found - kActivationNames.begin());
}

std::string describe(const Activation& activation) {
  const std::string kind = fmt::format("nn::Activation::{}", name(activation));
  return activation.parameter ? fmt::format("{{{}, {:g}}}", kind, *activation.parameter) : kind;
}

PReLU::PReLU(int64_t channels, double start) {
  require_positive("prelu", "the number of channels", channels);
  weight = Parameter(full({channels}, start));
}

}  // namespace tapegrad::nn
