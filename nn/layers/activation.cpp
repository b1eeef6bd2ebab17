// The table of activation names and functions, and PReLU's weight.
#include <fmt/format.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/activation.h>
#include <tapegrad/nn/detail/check.h>

namespace tapegrad::nn {

namespace {

struct Entry {
  Activation activation;
  std::string_view name;
  Tensor (*apply)(const Tensor&);
};

constexpr Entry kTable[] = {
    {Activation::relu, "relu", [](const Tensor& x) { return relu(x); }},
    {Activation::gelu, "gelu", [](const Tensor& x) { return gelu(x); }},
    {Activation::gelu_tanh, "gelu_tanh", [](const Tensor& x) { return gelu(x, Gelu::tanh); }},
    {Activation::silu, "silu", [](const Tensor& x) { return silu(x); }},
    {Activation::tanh, "tanh", [](const Tensor& x) { return tapegrad::tanh(x); }},
    {Activation::sigmoid, "sigmoid", [](const Tensor& x) { return sigmoid(x); }},
};

}  // namespace

Tensor activate(Activation activation, const Tensor& x) { return kTable[static_cast<int>(activation)].apply(x); }

std::string_view name(Activation activation) { return kTable[static_cast<int>(activation)].name; }

Activation activation_named(std::string_view name) {
  std::string known;
  for (const Entry& e : kTable) {
    if (e.name == name) return e.activation;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", e.name);
  }
  fail("activation", fmt::format("expected one of {}, got \"{}\"", known, name));
}

PReLU::PReLU(int64_t channels, double start) {
  require_positive("prelu", "the number of channels", channels);
  weight = Parameter(full({channels}, start));
}

}  // namespace tapegrad::nn
