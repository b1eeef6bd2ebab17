// Attention written with einsum and softmax, forward and backward, and single products: compared with PyTorch's einsum.
#include <benchmark/benchmark.h>
#include <tapegrad/tapegrad.h>

#include <cmath>

namespace tapegrad {
namespace {

// Args B, T, H, D: queries, keys and values [B, T, H, D].
struct Heads {
  Tensor q, k, v, dy;
  explicit Heads(const benchmark::State& state) {
    Generator generator(0);
    const Shape shape{state.range(0), state.range(1), state.range(2), state.range(3)};
    for (Tensor* x : {&q, &k, &v, &dy}) *x = randn(shape, kFloat32, &generator).as_leaf();
  }
};

Tensor attend(const Heads& x, double scale) {
  const Tensor scores = einsum("bthd,bshd->bhts", {x.q, x.k}) * scale;
  return einsum("bhts,bshd->bthd", {softmax(scores), x.v});
}

void einsum_attention(benchmark::State& state) {
  const Heads x(state);
  const double scale = 1 / std::sqrt(static_cast<double>(state.range(3)));
  for (auto _ : state) benchmark::DoNotOptimize(attend(x, scale));
}
void einsum_attention_with_gradients(benchmark::State& state) {
  const Heads x(state);
  const double scale = 1 / std::sqrt(static_cast<double>(state.range(3)));
  for (auto _ : state) {
    Tape tape;
    const Tensor y = attend(x, scale);
    benchmark::DoNotOptimize(tape.backward(y, {.grad_output = x.dy}));
  }
}
void einsum_scores(benchmark::State& state) {
  const Heads x(state);
  for (auto _ : state) benchmark::DoNotOptimize(einsum("bthd,bshd->bhts", {x.q, x.k}));
}
void shapes(benchmark::internal::Benchmark* b) { b->Args({8, 256, 8, 64})->Args({32, 64, 4, 32})->UseRealTime(); }
BENCHMARK(einsum_attention)->Apply(shapes);
BENCHMARK(einsum_attention_with_gradients)->Apply(shapes);
BENCHMARK(einsum_scores)->Apply(shapes);

void einsum_bilinear(benchmark::State& state) {
  Generator generator(0);
  const Tensor x = randn({256, 128}, kFloat32, &generator), w = randn({64, 128, 96}, kFloat32, &generator),
               y = randn({256, 96}, kFloat32, &generator);
  for (auto _ : state) benchmark::DoNotOptimize(einsum("bi,oij,bj->bo", {x, w, y}));
}
BENCHMARK(einsum_bilinear)->UseRealTime();

}  // namespace
}  // namespace tapegrad
