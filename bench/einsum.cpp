// Attention written with einsum and softmax, forward and backward, and single products: compared with PyTorch's einsum.
#include <cmath>

#include "forms.h"

namespace tapegrad {
namespace {

// Args B, T, H, D: queries, keys and values [B, T, H, D].
Inputs qkv(const State& state) {
  Generator generator(0);
  const Shape shape{state.range(0), state.range(1), state.range(2), state.range(3)};
  const auto heads = [&] { return randn(shape, kFloat32, &generator); };
  return {heads(), heads(), heads()};
}

Tensor scores(const Inputs& v) { return einsum("bthd,bshd->bhts", {v[0], v[1]}); }

Tensor attend(const Inputs& v) {
  const double scale = 1 / std::sqrt(static_cast<double>(v[0].size(-1)));
  return einsum("bhts,bshd->bthd", {softmax(scores(v) * scale), v[2]});
}

void shapes(benchmark::internal::Benchmark* b) { b->Args({8, 256, 8, 64})->Args({32, 64, 4, 32})->UseRealTime(); }
[[maybe_unused]] const bool kAttention = register_all(
    shapes, {{"einsum_attention", [](State& state) { forward(state, attend, qkv(state)); }},
             {"einsum_attention_with_gradients", [](State& state) { gradients_of(state, qkv(state), attend); }},
             {"einsum_scores", [](State& state) { forward(state, scores, qkv(state)); }}});

void einsum_bilinear(State& state) {
  Generator generator(0);
  const Tensor x = randn({256, 128}, kFloat32, &generator), w = randn({64, 128, 96}, kFloat32, &generator),
               y = randn({256, 96}, kFloat32, &generator);
  for (auto _ : state) benchmark::DoNotOptimize(einsum("bi,oij,bj->bo", {x, w, y}));
}
BENCHMARK(einsum_bilinear)->UseRealTime();

}  // namespace
}  // namespace tapegrad
