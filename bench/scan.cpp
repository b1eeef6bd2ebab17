// Reductions, scans and order along an axis, and reductions by segment, forward or with gradients: the cases that are
// compared with PyTorch.
#include <tapegrad/autograd/scan.h>
#include <tapegrad/autograd/segment.h>

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
void linear_scan_with_gradients(benchmark::State& state) {
  const Tensor b = rows(state);
  gradients_of(state, {b * 0.6, b}, [](const std::vector<Tensor>& v) { return linear_scan(v[0], v[1], -1); });
}
// Along the first of three axes: [T, B, C].
void linear_scan_of_steps_with_gradients(benchmark::State& state) {
  Generator generator(0);
  const Tensor b = rand({state.range(0), state.range(1), state.range(2)}, kFloat32, &generator) + 0.5;
  gradients_of(state, {b * 0.6, b}, [](const std::vector<Tensor>& v) { return linear_scan(v[0], v[1], 0); });
}

// u [B, L, E] with N states for each of the E.
void selective_scan_with_gradients(benchmark::State& state) {
  const int64_t batch = state.range(0), length = state.range(1), width = state.range(2), states = state.range(3);
  Generator generator(0);
  const Tensor u = randn({batch, length, width}, kFloat32, &generator);
  const Tensor delta = rand({batch, length, width}, kFloat32, &generator) * 0.5;
  const Tensor a = rand({width, states}, kFloat32, &generator) * -4;
  const Tensor b = randn({batch, length, states}, kFloat32, &generator);
  gradients_of(state, {u, delta, a, b, b},
               [](const std::vector<Tensor>& v) { return selective_scan(v[0], v[1], v[2], v[3], v[4]); });
}

// x [edges, channels] in segments [edges / 20], unsorted.
template <class F>
void by_segment(benchmark::State& state, F f) {
  const int64_t segments = state.range(0) / 20;
  Generator generator(1);
  const Tensor index = randint(0, segments, {state.range(0)}, &generator);
  with_gradients(state, [&](const Tensor& x) { return f(x, index, segments); });
}
void index_add_with_gradients(benchmark::State& state) {
  by_segment(state, [](const Tensor& x, const Tensor& index, int64_t segments) {
    return index_add(zeros({segments, x.size(1)}), 0, index, x);
  });
}
void segment_sum_with_gradients(benchmark::State& state) { by_segment(state, segment_sum); }
void segment_mean_with_gradients(benchmark::State& state) { by_segment(state, segment_mean); }
void segment_max_with_gradients(benchmark::State& state) { by_segment(state, segment_max); }
void segment_softmax_with_gradients(benchmark::State& state) { by_segment(state, segment_softmax); }

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
BENCHMARK(linear_scan_with_gradients)->Apply(shapes);
BENCHMARK(linear_scan_of_steps_with_gradients)->Args({1024, 4, 1024})->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(selective_scan_with_gradients)->Args({2, 256, 256, 16})->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(median)->Apply(shapes);
BENCHMARK(sort)->Apply(shapes);
BENCHMARK(topk)->Apply(shapes);

void edges(benchmark::internal::Benchmark* b) {
  b->Args({200'000, 64})->Args({200'000, 4})->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK(index_add_with_gradients)->Apply(edges);
BENCHMARK(segment_sum_with_gradients)->Apply(edges);
BENCHMARK(segment_mean_with_gradients)->Apply(edges);
BENCHMARK(segment_max_with_gradients)->Apply(edges);
BENCHMARK(segment_softmax_with_gradients)->Apply(edges);

}  // namespace
}  // namespace tapegrad
