// Reductions, scans and order along an axis, and reductions by segment, forward or with gradients: the cases that are
// compared with PyTorch.
#include <tapegrad/autograd/scan.h>
#include <tapegrad/autograd/segment.h>

#include "forms.h"

namespace tapegrad {
namespace {

// x [N, D] from the arguments, between 0.5 and 1.5.
Tensor rows(const State& state) {
  Generator generator(0);
  return rand({state.range(0), state.range(1)}, kFloat32, &generator) + 0.5;
}

auto of_rows(auto f) {
  return [f](State& state) { forward(state, f, rows(state)); };
}

auto with_gradients(auto f) {
  return [f](State& state) { gradients_of(state, {rows(state)}, [&](const Inputs& v) { return f(v[0]); }); };
}

// x [edges, channels] in segments [edges / 20], unsorted.
auto by_segment(auto f) {
  return [f](State& state) {
    const int64_t segments = state.range(0) / 20;
    Generator generator(1);
    const Tensor index = randint(0, segments, {state.range(0)}, &generator);
    with_gradients([&](const Tensor& x) { return f(x, index, segments); })(state);
  };
}

void gather_with_gradients(State& state) {
  Generator generator(1);
  const Tensor index = randint(0, state.range(1), {state.range(0), state.range(1)}, &generator);
  with_gradients([&](const Tensor& x) { return gather(x, -1, index); })(state);
}
void linear_scan_with_gradients(State& state) {
  const Tensor b = rows(state);
  gradients_of(state, {b * 0.6, b}, [](const Inputs& v) { return linear_scan(v[0], v[1], -1); });
}
// Along the first of three axes: [T, B, C].
void linear_scan_of_steps_with_gradients(State& state) {
  Generator generator(0);
  const Tensor b = rand({state.range(0), state.range(1), state.range(2)}, kFloat32, &generator) + 0.5;
  gradients_of(state, {b * 0.6, b}, [](const Inputs& v) { return linear_scan(v[0], v[1], 0); });
}

// u [B, L, E] with N states for each of the E.
void selective_scan_with_gradients(State& state) {
  const int64_t batch = state.range(0), length = state.range(1), width = state.range(2), states = state.range(3);
  Generator generator(0);
  const Tensor u = randn({batch, length, width}, kFloat32, &generator);
  const Tensor delta = rand({batch, length, width}, kFloat32, &generator) * 0.5;
  const Tensor a = rand({width, states}, kFloat32, &generator) * -4;
  const Tensor b = randn({batch, length, states}, kFloat32, &generator);
  gradients_of(state, {u, delta, a, b, b},
               [](const Inputs& v) { return selective_scan(v[0], v[1], v[2], v[3], v[4]); });
}

Tensor index_add_of_segments(const Tensor& x, const Tensor& index, int64_t segments) {
  return index_add(zeros({segments, x.size(1)}), 0, index, x);
}

void shapes(benchmark::internal::Benchmark* b) { b->Args({4096, 768})->Args({64, 65536})->Apply(in_milliseconds); }
void edges(benchmark::internal::Benchmark* b) { b->Args({200'000, 64})->Args({200'000, 4})->Apply(in_milliseconds); }

[[maybe_unused]] const bool kOfRows =
    register_all(shapes, {{"norm_with_gradients", with_gradients([](auto& x) { return norm(x, 2, {-1}); })},
                          {"variance_with_gradients", with_gradients([](auto& x) { return var(x, {-1}); })},
                          {"logsumexp_with_gradients", with_gradients([](auto& x) { return logsumexp(x, {-1}); })},
                          {"max_with_gradients", with_gradients([](auto& x) { return max(x, -1).values; })},
                          {"cumsum_with_gradients", with_gradients([](auto& x) { return cumsum(x, -1); })},
                          {"cumprod_with_gradients", with_gradients([](auto& x) { return cumprod(x, -1); })},
                          {"logcumsumexp_with_gradients", with_gradients([](auto& x) { return logcumsumexp(x, -1); })},
                          {"gather_with_gradients", gather_with_gradients},
                          {"linear_scan_with_gradients", linear_scan_with_gradients},
                          {"median", of_rows([](auto& x) { return median(x, -1); })},
                          {"sort", of_rows([](auto& x) { return sort(x, -1); })},
                          {"topk", of_rows([](auto& x) { return topk(x, 16, -1); })}});

[[maybe_unused]] const bool kOfSegments =
    register_all(edges, {{"index_add_with_gradients", by_segment(index_add_of_segments)},
                         {"segment_sum_with_gradients", by_segment(segment_sum)},
                         {"segment_mean_with_gradients", by_segment(segment_mean)},
                         {"segment_max_with_gradients", by_segment(segment_max)},
                         {"segment_softmax_with_gradients", by_segment(segment_softmax)}});

BENCHMARK(linear_scan_of_steps_with_gradients)->Args({1024, 4, 1024})->Apply(in_milliseconds);
BENCHMARK(selective_scan_with_gradients)->Args({2, 256, 256, 16})->Apply(in_milliseconds);

}  // namespace
}  // namespace tapegrad
