// Elementwise operations on 16 M floats, limited by memory and arithmetic: forward only, and with backward.
#include <benchmark/benchmark.h>
#include <tapegrad/tapegrad.h>

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
