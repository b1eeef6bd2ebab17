// Linear layers, y = x W^T and its two gradients, and dropout: the cases that are compared with PyTorch.
#include <benchmark/benchmark.h>
#include <tapegrad/tapegrad.h>

namespace tapegrad {
namespace {

// A benchmark of args m, n, k: x [m, k], weight [n, k], dy [m, n].
template <class F>
void product(benchmark::State& state, F operation) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  Generator generator(0);
  const Tensor x = randn({m, k}, kFloat32, &generator), weight = randn({n, k}, kFloat32, &generator);
  const Tensor dy = randn({m, n}, kFloat32, &generator);
  for (auto _ : state) benchmark::DoNotOptimize(operation(x, weight, dy));
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * static_cast<double>(m * n * k), benchmark::Counter::kIsIterationInvariantRate);
}

void linear(benchmark::State& state) {
  product(state, [](const Tensor& x, const Tensor& weight, const Tensor&) { return linear(x, weight); });
}
void linear_dx(benchmark::State& state) {
  product(state, [](const Tensor&, const Tensor& weight, const Tensor& dy) { return matmul(dy, weight); });
}
void linear_dw(benchmark::State& state) {
  product(state, [](const Tensor& x, const Tensor&, const Tensor& dy) { return matmul(dy.t(), x); });
}

void shapes(benchmark::internal::Benchmark* b) {
  b->Args({256, 3072, 768})->Args({800, 64, 64})->Args({256, 50257, 768})->UseRealTime();
}
BENCHMARK(linear)->Apply(shapes);
BENCHMARK(linear_dx)->Apply(shapes);
BENCHMARK(linear_dw)->Apply(shapes);

void dropout(benchmark::State& state) {
  const Tensor x = ones({state.range(0)});
  for (auto _ : state) benchmark::DoNotOptimize(dropout(x, 0.1));
}
BENCHMARK(dropout)->Arg(1000000)->UseRealTime();

}  // namespace
}  // namespace tapegrad
