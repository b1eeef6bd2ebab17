// Elementwise operations on 16 M floats, limited by memory and arithmetic: forward only, and with backward. Formulas
// of 1 M floats: fused, as operations on tensors, and the library's own functions.
#include <string>

#include "forms.h"

namespace tapegrad {
namespace {

constexpr int64_t kNumel = int64_t{1} << 24;

Tensor numbers(const Shape& shape) { return linspace(-4, 4, shape.numel()).reshape(shape); }

auto value(auto operation) {
  return [operation](State& state) {
    forward(state, operation, numbers({kNumel}));
    state.SetBytesProcessed(state.iterations() * kNumel * 8);
  };
}

auto with_backward(auto operation) {
  return [operation](State& state) {
    gradients_of(state, {numbers({kNumel})}, [operation](const Inputs& v) { return operation(v[0]); });
  };
}

// [rows, width] + [width]: what a bias costs.
void add_row(State& state) {
  const int64_t width = state.range(0);
  forward(
      state, [](auto& x, auto& row) { return x + row; }, numbers({kNumel / width, width}), numbers({width}));
  state.SetBytesProcessed(state.iterations() * kNumel * 8);
}

constexpr auto kGeluFormula = [](auto x) { return 0.5 * x * (1 + erf(x * 0.70710678118654752)); };
constexpr auto kSwishFormula = [](auto x) { return x * sigmoid(x); };
constexpr auto kBurgersFormula = [](auto u, auto u_t, auto u_x, auto u_xx, auto nu) {
  return u_t + u * u_x - nu * u_xx;
};
constexpr auto kWaveFormula = [](auto x) { return exp(-0.5 * x * x) * cos(3 * x) + 0.1 * x / (1 + x * x); };

const auto kFusedGelu = [](const Inputs& x) { return fuse(kGeluFormula, x[0]); };
const auto kFusedSwish = [](const Inputs& x) { return fuse(kSwishFormula, x[0]); };
const auto kFusedBurgers = [](const Inputs& x) { return fuse(kBurgersFormula, x[0], x[1], x[2], x[3], x[4]); };
const auto kFusedWave = [](const Inputs& x) { return fuse(kWaveFormula, x[0]); };
const auto kComposedGelu = [](const Inputs& x) { return kGeluFormula(x[0]); };
const auto kComposedSwish = [](const Inputs& x) { return kSwishFormula(x[0]); };
const auto kComposedBurgers = [](const Inputs& x) { return kBurgersFormula(x[0], x[1], x[2], x[3], x[4]); };
const auto kComposedWave = [](const Inputs& x) { return kWaveFormula(x[0]); };
const auto kOwnGelu = [](const Inputs& x) { return gelu(x[0]); };
const auto kOwnSwish = [](const Inputs& x) { return silu(x[0]); };

// A formula of leaves of 1 M floats, the last of five a scalar: its value, and with the gradients of all.
bool register_formula(const std::string& name, auto f, std::size_t tensors) {
  const auto inputs = [tensors] {
    const Tensor x = numbers({int64_t{1} << 20});
    Inputs all;
    for (std::size_t i = 0; i < tensors; ++i) all.push_back(i == 4 ? scalar(0.1) : x * (0.5 + 0.1 * i));
    return all;
  };
  return register_all(in_milliseconds,
                      {{"formula/" + name, [=](State& state) { forward(state, f, inputs()); }},
                       {"formula/" + name + "/gradients", [=](State& state) { gradients_of(state, inputs(), f); }}});
}

const bool kFormulas = [] {
  register_formula("gelu", kFusedGelu, 1);
  register_formula("swish", kFusedSwish, 1);
  register_formula("burgers", kFusedBurgers, 5);
  register_formula("wave", kFusedWave, 1);
  register_formula("gelu/composed", kComposedGelu, 1);
  register_formula("swish/composed", kComposedSwish, 1);
  register_formula("burgers/composed", kComposedBurgers, 5);
  register_formula("wave/composed", kComposedWave, 1);
  register_formula("gelu/built_in", kOwnGelu, 1);
  register_formula("swish/built_in", kOwnSwish, 1);
  return true;
}();

const auto kTanh = [](const Tensor& x) { return tanh(x); };
const auto kGelu = [](const Tensor& x) { return gelu(x, Gelu::tanh); };

[[maybe_unused]] const bool kOperations =
    register_all(in_milliseconds, {{"forward/add", value([](auto& x) { return x + x; })},
                                   {"forward/add_number", value([](auto& x) { return x + 1.0; })},
                                   {"forward/add_scalar_tensor", value([](auto& x) { return x + scalar(1); })},
                                   {"forward/tanh", value(kTanh)},
                                   {"forward/gelu_tanh", value(kGelu)},
                                   {"forward/gelu_erf", value([](auto& x) { return gelu(x); })},
                                   {"forward/atan", value([](auto& x) { return atan(x); })},
                                   {"forward/softplus", value([](auto& x) { return softplus(x); })},
                                   {"forward/swiglu", value([](auto& x) {
                                      return swiglu(x.reshape({-1, 4096}));
                                    })},
                                   {"with_backward/tanh", with_backward(kTanh)},
                                   {"with_backward/gelu_tanh", with_backward(kGelu)}});
BENCHMARK(add_row)->Arg(64)->Arg(768)->Apply(in_milliseconds);

}  // namespace
}  // namespace tapegrad
