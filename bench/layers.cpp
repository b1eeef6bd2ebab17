// Linear layers, y = x W^T and its two gradients, dropout, and steps of a large table: the cases that are compared with
// PyTorch.
#include "forms.h"

namespace tapegrad {
namespace {

// A benchmark of args m, n, k: x [m, k], weight [n, k], dy [m, n].
auto product(auto operation) {
  return [operation](State& state) {
    const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
    Generator generator(0);
    const Tensor x = randn({m, k}, kFloat32, &generator), weight = randn({n, k}, kFloat32, &generator);
    const Tensor dy = randn({m, n}, kFloat32, &generator);
    for (auto _ : state) benchmark::DoNotOptimize(operation(x, weight, dy));
    state.counters["GFLOP/s"] =
        benchmark::Counter(2e-9 * static_cast<double>(m * n * k), benchmark::Counter::kIsIterationInvariantRate);
  };
}

void shapes(benchmark::internal::Benchmark* b) {
  b->Args({256, 3072, 768})->Args({800, 64, 64})->Args({256, 50257, 768})->UseRealTime();
}
[[maybe_unused]] const bool kProducts =
    register_all(shapes, {{"linear", product([](auto& x, auto& weight, auto&) { return linear(x, weight); })},
                          {"linear_dx", product([](auto&, auto& weight, auto& dy) { return matmul(dy, weight); })},
                          {"linear_dw", product([](auto& x, auto&, auto& dy) { return matmul(dy.t(), x); })}});

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
