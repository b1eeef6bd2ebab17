// Reductions, scans and order along an axis, forward or with gradients: the cases that are compared with PyTorch.
#include <vector>

#include "gradients_of.h"

namespace tapegrad {
namespace {

// x [N, D] from the arguments, between 0.5 and 1.5.
Tensor rows(const benchmark::State& state) {
  Generator generator(0);
  return rand({state.range(0), state.range(1)}, kFloat32, &generator) + 0.5;
}

template <class F>
void with_gradients(benchmark::State& state, F f) {
  gradients_of(state, {rows(state)}, [&](const std::vector<Tensor>& v) { return f(v[0]); });
}

template <class F>
void forward(benchmark::State& state, F f) {
  const Tensor x = rows(state);
  benchmark::DoNotOptimize(f(x));
  for (auto _ : state) benchmark::DoNotOptimize(f(x));
}

void norm_with_gradients(benchmark::State& state) {
  with_gradients(state, [](const Tensor& x) { return norm(x, 2, {-1}); });
}
void variance_with_gradients(benchmark::State& state) {
  with_gradients(state, [](const Tensor& x) { return var(x, {-1}); });
}
void logsumexp_with_gradients(benchmark::State& state) {
  with_gradients(state, [](const Tensor& x) { return logsumexp(x, {-1}); });
}
void max_with_gradients(benchmark::State& state) {
  with_gradients(state, [](const Tensor& x) { return max(x, -1).values; });
}
void cumsum_with_gradients(benchmark::State& state) {
  with_gradients(state, [](const Tensor& x) { return cumsum(x, -1); });
}
void cumprod_with_gradients(benchmark::State& state) {
  with_gradients(state, [](const Tensor& x) { return cumprod(x, -1); });
}
void logcumsumexp_with_gradients(benchmark::State& state) {
  with_gradients(state, [](const Tensor& x) { return logcumsumexp(x, -1); });
}
void gather_with_gradients(benchmark::State& state) {
  Generator generator(1);
  const Tensor index = randint(0, state.range(1), {state.range(0), state.range(1)}, &generator);
  with_gradients(state, [&](const Tensor& x) { return gather(x, -1, index); });
}
void median(benchmark::State& state) {
  forward(state, [](const Tensor& x) { return tapegrad::median(x, -1); });
}
void sort(benchmark::State& state) {
  forward(state, [](const Tensor& x) { return tapegrad::sort(x, -1); });
}
void topk(benchmark::State& state) {
  forward(state, [](const Tensor& x) { return tapegrad::topk(x, 16, -1); });
}

void shapes(benchmark::internal::Benchmark* b) {
  b->Args({4096, 768})->Args({64, 65536})->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK(norm_with_gradients)->Apply(shapes);
BENCHMARK(variance_with_gradients)->Apply(shapes);
BENCHMARK(logsumexp_with_gradients)->Apply(shapes);
BENCHMARK(max_with_gradients)->Apply(shapes);
BENCHMARK(cumsum_with_gradients)->Apply(shapes);
BENCHMARK(cumprod_with_gradients)->Apply(shapes);
BENCHMARK(logcumsumexp_with_gradients)->Apply(shapes);
BENCHMARK(gather_with_gradients)->Apply(shapes);
BENCHMARK(median)->Apply(shapes);
BENCHMARK(sort)->Apply(shapes);
BENCHMARK(topk)->Apply(shapes);

}  // namespace
}  // namespace tapegrad
