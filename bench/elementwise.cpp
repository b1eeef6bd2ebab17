// Elementwise operations on 16 M floats, limited by memory and arithmetic: forward only, and with backward. Formulas
// of 1 M floats: fused, as operations on tensors, and the library's own functions.
#include <benchmark/benchmark.h>
#include <tapegrad/tapegrad.h>

#include <string>
#include <vector>

namespace tapegrad {
namespace {

constexpr int64_t kNumel = int64_t{1} << 24;

Tensor numbers(const Shape& shape) { return linspace(-4, 4, shape.numel()).reshape(shape); }

template <class F>
void forward(benchmark::State& state, F operation) {
  const Tensor x = numbers({kNumel});
  (void)operation(x);  // so that the pool holds the result's memory
  for (auto _ : state) benchmark::DoNotOptimize(operation(x));
  state.SetBytesProcessed(state.iterations() * kNumel * 8);
}

template <class F>
void with_backward(benchmark::State& state, F operation) {
  const Tensor x = numbers({kNumel}).as_leaf();
  const auto step = [&] {
    Tape tape;
    benchmark::DoNotOptimize(tape.backward(operation(x), {.grad_output = x}));
  };
  step();
  for (auto _ : state) step();
}

// [rows, width] + [width]: what a bias costs.
void add_row(benchmark::State& state) {
  const int64_t width = state.range(0);
  const Tensor x = numbers({kNumel / width, width}), row = numbers({width});
  benchmark::DoNotOptimize(x + row);
  for (auto _ : state) benchmark::DoNotOptimize(x + row);
  state.SetBytesProcessed(state.iterations() * kNumel * 8);
}

// A formula of leaves of 1 M floats, the last of which may be a scalar: its value, or also the gradients of all.
template <class F>
void formula(benchmark::State& state, F f, std::size_t tensors, bool gradients) {
  const Tensor dy = numbers({int64_t{1} << 20});
  std::vector<Tensor> x;
  for (std::size_t i = 0; i < tensors; ++i) x.push_back((i == 4 ? scalar(0.1) : dy * (0.5 + 0.1 * i)).as_leaf());
  const auto step = [&] {
    if (!gradients) return benchmark::DoNotOptimize(f(x));
    Tape tape;
    benchmark::DoNotOptimize(tape.backward(f(x), {.grad_output = dy}));
  };
  step();
  for (auto _ : state) step();
}

constexpr auto kGeluFormula = [](auto x) { return 0.5 * x * (1 + erf(x * 0.70710678118654752)); };
constexpr auto kSwishFormula = [](auto x) { return x * sigmoid(x); };
constexpr auto kBurgersFormula = [](auto u, auto u_t, auto u_x, auto u_xx, auto nu) {
  return u_t + u * u_x - nu * u_xx;
};
constexpr auto kWaveFormula = [](auto x) { return exp(-0.5 * x * x) * cos(3 * x) + 0.1 * x / (1 + x * x); };

using Leaves = std::vector<Tensor>;
const auto kFusedGelu = [](const Leaves& x) { return fuse(kGeluFormula, x[0]); };
const auto kFusedSwish = [](const Leaves& x) { return fuse(kSwishFormula, x[0]); };
const auto kFusedBurgers = [](const Leaves& x) { return fuse(kBurgersFormula, x[0], x[1], x[2], x[3], x[4]); };
const auto kFusedWave = [](const Leaves& x) { return fuse(kWaveFormula, x[0]); };
const auto kComposedGelu = [](const Leaves& x) { return kGeluFormula(x[0]); };
const auto kComposedSwish = [](const Leaves& x) { return kSwishFormula(x[0]); };
const auto kComposedBurgers = [](const Leaves& x) { return kBurgersFormula(x[0], x[1], x[2], x[3], x[4]); };
const auto kComposedWave = [](const Leaves& x) { return kWaveFormula(x[0]); };
const auto kOwnGelu = [](const Leaves& x) { return gelu(x[0]); };
const auto kOwnSwish = [](const Leaves& x) { return silu(x[0]); };

void register_formula(const char* name, auto f, std::size_t tensors) {
  for (const bool gradients : {false, true}) {
    const std::string title = std::string("formula/") + name + (gradients ? "/gradients" : "");
    benchmark::RegisterBenchmark(title.c_str(), [=](benchmark::State& state) { formula(state, f, tensors, gradients); })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
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
const auto kGeluErf = [](const Tensor& x) { return gelu(x); };
const auto kAtan = [](const Tensor& x) { return atan(x); };
const auto kSoftplus = [](const Tensor& x) { return softplus(x); };
const auto kSwiglu = [](const Tensor& x) { return swiglu(x.reshape({-1, 4096})); };
const auto kAdd = [](const Tensor& x) { return x + x; };
const auto kAddNumber = [](const Tensor& x) { return x + 1.0; };
const auto kAddScalar = [](const Tensor& x) { return x + scalar(1); };

BENCHMARK_CAPTURE(forward, add, kAdd)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(forward, add_number, kAddNumber)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(forward, add_scalar_tensor, kAddScalar)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(forward, tanh, kTanh)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(forward, gelu_tanh, kGelu)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(forward, gelu_erf, kGeluErf)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(forward, atan, kAtan)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(forward, softplus, kSoftplus)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(forward, swiglu, kSwiglu)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(with_backward, tanh, kTanh)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(with_backward, gelu_tanh, kGelu)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(add_row)->Arg(64)->Arg(768)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tapegrad
