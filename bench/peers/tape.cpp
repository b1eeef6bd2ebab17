// The chains of bench/tape.cpp in LibTorch, under the same names.
#include <benchmark/benchmark.h>
#include <torch/torch.h>

namespace {

constexpr int kLength = 100;

benchmark::Counter per_operation() {
  return {kLength, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert};
}

// One step: a graph, a chain of operations, backward. Reports the time of one operation.
template <class F>
void chain(benchmark::State& state, F operation) {
  const torch::Tensor x = torch::full({state.range(0)}, 0.5).requires_grad_();
  const torch::Tensor seed = x.detach();
  for (auto _ : state) {
    torch::Tensor y = x;
    for (int i = 0; i < kLength; ++i) y = operation(y, x);
    benchmark::DoNotOptimize(torch::autograd::grad({y}, {x}, {seed}));
  }
  state.counters["per_op"] = per_operation();
}

using torch::Tensor;
BENCHMARK_CAPTURE(chain, tanh, [](const Tensor& y, const Tensor&) { return torch::tanh(y); })->Arg(1)->Arg(8);
BENCHMARK_CAPTURE(chain, add, [](const Tensor& y, const Tensor& x) { return y + x; })->Arg(1)->Arg(8);
BENCHMARK_CAPTURE(chain, mul, [](const Tensor& y, const Tensor& x) { return y * x; })->Arg(1)->Arg(8);
BENCHMARK_CAPTURE(chain, mul_number, [](const Tensor& y, const Tensor&) { return y * 0.9; })->Arg(1)->Arg(8);

// The same without a graph: the cost of the operations only.
void forward_only(benchmark::State& state) {
  const torch::NoGradGuard no_graph;
  const torch::Tensor x = torch::full({state.range(0)}, 0.5);
  for (auto _ : state) {
    torch::Tensor y = x;
    for (int i = 0; i < kLength; ++i) y = y * x;
    benchmark::DoNotOptimize(y);
  }
  state.counters["per_op"] = per_operation();
}
BENCHMARK(forward_only)->Arg(1)->Arg(8);

}  // namespace
