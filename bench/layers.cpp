// Linear layers, y = x W^T and its two gradients, dropout, and steps of a large table: the cases that are compared with
// PyTorch.
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

// Lookup, loss, backward and update of a table [1,000,000, 16] with 4,096 ids per step.
template <class Rule>
void sparse_step(benchmark::State& state) {
  const nn::Embedding table(1'000'000, 16, {.sparse = true});
  Rule rule(nn::parameters(table));
  std::vector<Tensor> ids;
  for (int i = 0; i < 8; ++i) ids.push_back(randint(0, 1'000'000, {4096}));
  std::size_t next = 0;
  const auto step = [&] {
    Tape tape;
    rule.step(tape, sum(square(table(ids[next++ % ids.size()]))));
  };
  step(), step();  // the first ones request memory
  for (auto _ : state) step();
}
BENCHMARK(sparse_step<optim::SGD>)->Name("sparse_step/sgd")->UseRealTime();
BENCHMARK(sparse_step<optim::Adagrad>)->Name("sparse_step/adagrad")->UseRealTime();
BENCHMARK(sparse_step<optim::Adam>)->Name("sparse_step/adam")->UseRealTime();

}  // namespace
}  // namespace tapegrad
