// The most frequent operations of models, in LibTorch, with the names and sizes of bench/elementwise.cpp, reduce.cpp
// and layers.cpp.
#include <benchmark/benchmark.h>
#include <torch/torch.h>

namespace {

using torch::Tensor;

constexpr int64_t kNumel = int64_t{1} << 24;

// Two calls first, which allocate the memory.
template <class F>
void repeat(benchmark::State& state, F call) {
  call(), call();
  for (auto _ : state) call();
}

// ---- Elementwise ----

template <class F>
void forward(benchmark::State& state, F operation) {
  const torch::NoGradGuard no_graph;
  const Tensor x = torch::linspace(-4, 4, kNumel);
  repeat(state, [&] { benchmark::DoNotOptimize(operation(x)); });
  state.SetBytesProcessed(state.iterations() * kNumel * 8);
}

template <class F>
void with_backward(benchmark::State& state, F operation) {
  const Tensor x = torch::linspace(-4, 4, kNumel).requires_grad_();
  const Tensor seed = x.detach();
  repeat(state, [&] { benchmark::DoNotOptimize(torch::autograd::grad({operation(x)}, {x}, {seed})); });
}

const auto kTanh = [](const Tensor& x) { return torch::tanh(x); };
const auto kGelu = [](const Tensor& x) { return torch::gelu(x, "tanh"); };
const auto kGeluErf = [](const Tensor& x) { return torch::gelu(x); };
const auto kAdd = [](const Tensor& x) { return x + x; };
const auto kAddNumber = [](const Tensor& x) { return x + 1.0; };

BENCHMARK_CAPTURE(forward, add, kAdd)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(forward, add_number, kAddNumber)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(forward, tanh, kTanh)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(forward, gelu_tanh, kGelu)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(forward, gelu_erf, kGeluErf)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(with_backward, tanh, kTanh)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(with_backward, gelu_tanh, kGelu)->UseRealTime()->Unit(benchmark::kMillisecond);

// ---- Along rows ----

Tensor values(at::IntArrayRef shape) {
  return torch::sin(torch::arange(c10::multiply_integers(shape), torch::kFloat32)).reshape(shape);
}

void softmax(benchmark::State& state) {
  const Tensor x = values({state.range(0), state.range(1)});
  repeat(state, [&] { benchmark::DoNotOptimize(torch::softmax(x, -1)); });
}

void layer_norm(benchmark::State& state) {
  const Tensor x = values({state.range(0), state.range(1)}), weight = values({state.range(1)});
  repeat(state, [&] { benchmark::DoNotOptimize(torch::layer_norm(x, {state.range(1)}, weight, weight)); });
}

void layer_norm_with_gradients(benchmark::State& state) {
  const Tensor x = values({state.range(0), state.range(1)}).requires_grad_();
  const Tensor weight = values({state.range(1)}).requires_grad_(), bias = values({state.range(1)}).requires_grad_();
  const Tensor seed = values(x.sizes());
  repeat(state, [&] {
    const Tensor y = torch::layer_norm(x, {state.range(1)}, weight, bias);
    benchmark::DoNotOptimize(torch::autograd::grad({y}, {x, weight, bias}, {seed}));
  });
}

void cross_entropy_with_gradient(benchmark::State& state) {
  const Tensor logits = values({state.range(0), state.range(1)}).requires_grad_();
  const Tensor target = torch::zeros({state.range(0)}, torch::kInt64);
  repeat(state, [&] {
    benchmark::DoNotOptimize(torch::autograd::grad({torch::cross_entropy_loss(logits, target)}, {logits}));
  });
}

BENCHMARK(softmax)->Args({4096, 768})->Args({16384, 20})->UseRealTime();
BENCHMARK(layer_norm)->Args({4096, 768})->UseRealTime();
BENCHMARK(layer_norm_with_gradients)->Args({4096, 768})->Args({1280, 32})->UseRealTime();
BENCHMARK(cross_entropy_with_gradient)
    ->Args({1024, 50257})
    ->Args({1280, 13})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// ---- Layers ----

// A benchmark of args m, n, k: x [m, k], weight [n, k], dy [m, n].
template <class F>
void product(benchmark::State& state, F operation) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  torch::manual_seed(0);
  const Tensor x = torch::randn({m, k}), weight = torch::randn({n, k}), dy = torch::randn({m, n});
  repeat(state, [&] { benchmark::DoNotOptimize(operation(x, weight, dy)); });
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * static_cast<double>(m * n * k), benchmark::Counter::kIsIterationInvariantRate);
}

void linear(benchmark::State& state) {
  product(state, [](const Tensor& x, const Tensor& weight, const Tensor&) { return torch::linear(x, weight); });
}
void linear_dx(benchmark::State& state) {
  product(state, [](const Tensor&, const Tensor& weight, const Tensor& dy) { return dy.matmul(weight); });
}
void linear_dw(benchmark::State& state) {
  product(state, [](const Tensor& x, const Tensor&, const Tensor& dy) { return dy.t().matmul(x); });
}

void shapes(benchmark::internal::Benchmark* b) {
  b->Args({256, 3072, 768})->Args({800, 64, 64})->Args({256, 50257, 768})->UseRealTime();
}
BENCHMARK(linear)->Apply(shapes);
BENCHMARK(linear_dx)->Apply(shapes);
BENCHMARK(linear_dw)->Apply(shapes);

void dropout(benchmark::State& state) {
  const Tensor x = torch::ones({state.range(0)});
  repeat(state, [&] { benchmark::DoNotOptimize(torch::dropout(x, 0.1, true)); });
}
BENCHMARK(dropout)->Arg(1000000)->UseRealTime();

}  // namespace
