// Pooling, interpolation, grids, patches and normalisation per channel, forward and with gradients: the cases that are
// compared with PyTorch.
#include <tapegrad/autograd/grid_sample.h>
#include <tapegrad/autograd/patches.h>

#include <vector>

#include "gradients_of.h"

namespace tapegrad {
namespace {

// x [N, C, H, W] from the arguments.
Tensor images(const benchmark::State& state) {
  Generator generator(0);
  return randn({state.range(0), state.range(1), state.range(2), state.range(3)}, kFloat32, &generator);
}

template <class F>
void norm(benchmark::State& state, F f) {
  const int64_t channels = state.range(1);
  gradients_of(state, {images(state), ones({channels}), zeros({channels})}, f);
}
void batch_norm_with_gradients(benchmark::State& state) {
  norm(state, [](const std::vector<Tensor>& v) { return batch_norm_training(v[0], v[1], v[2]).y; });
}
void batch_norm_evaluation(benchmark::State& state) {
  const Tensor x = images(state), one = ones({state.range(1)});
  for (auto _ : state) benchmark::DoNotOptimize(batch_norm(x, one, one, one, one));
}
void group_norm_with_gradients(benchmark::State& state) {
  norm(state, [](const std::vector<Tensor>& v) { return group_norm(v[0], 8, v[1], v[2]); });
}

template <class F>
void pooling(benchmark::State& state, F f) {
  gradients_of(state, {images(state)}, [f](const std::vector<Tensor>& v) { return f(v[0]); });
}
void max_pool2d_2(benchmark::State& state) {
  pooling(state, [](const Tensor& x) { return max_pool2d(x, 2); });
}
void max_pool2d_3(benchmark::State& state) {
  pooling(state, [](const Tensor& x) { return max_pool2d(x, 3, {.stride = 2, .padding = 1}); });
}
void max_pool2d_evaluation(benchmark::State& state) {
  const Tensor x = images(state);
  for (auto _ : state) benchmark::DoNotOptimize(max_pool2d(x, 2));
}
void avg_pool2d_2(benchmark::State& state) {
  pooling(state, [](const Tensor& x) { return avg_pool2d(x, 2); });
}
void avg_pool2d_3(benchmark::State& state) {
  pooling(state, [](const Tensor& x) { return avg_pool2d(x, 3, {.stride = 1, .padding = 1}); });
}
void adaptive_avg_pool2d_1(benchmark::State& state) {
  pooling(state, [](const Tensor& x) { return adaptive_avg_pool2d(x, 1); });
}
void interpolate_nearest_2(benchmark::State& state) {
  pooling(state, [](const Tensor& x) { return interpolate(x, {.scale_factor = 2}); });
}
void interpolate_bilinear_2(benchmark::State& state) {
  pooling(state, [](const Tensor& x) { return interpolate(x, {.scale_factor = 2, .mode = Interpolation::bilinear}); });
}

void interpolate_bicubic_2(benchmark::State& state) {
  pooling(state, [](const Tensor& x) { return interpolate(x, {.scale_factor = 2, .mode = Interpolation::bicubic}); });
}
void interpolate_bicubic_antialiased(benchmark::State& state) {
  pooling(state, [](const Tensor& x) {
    return interpolate(x, {.scale_factor = 0.4, .mode = Interpolation::bicubic, .antialias = true});
  });
}
void unfold2d_3(benchmark::State& state) {
  pooling(state, [](const Tensor& x) { return unfold2d(x, 3, {.padding = 1}); });
}
void pixel_shuffle_2(benchmark::State& state) {
  pooling(state, [](const Tensor& x) { return pixel_shuffle(x, 2); });
}
// At as many positions as x has.
template <GridMode kMode>
void grid_sample_with_gradients(benchmark::State& state) {
  const Tensor x = images(state);
  Generator generator(1);
  const Tensor grid = rand({x.size(0), x.size(2), x.size(3), 2}, kFloat32, &generator) * 2 - 1;
  gradients_of(state, {x, grid}, [](const std::vector<Tensor>& v) { return grid_sample(v[0], v[1], {.mode = kMode}); });
}
void grid_sample_bilinear(benchmark::State& state) { grid_sample_with_gradients<GridMode::bilinear>(state); }
void grid_sample_bicubic(benchmark::State& state) { grid_sample_with_gradients<GridMode::bicubic>(state); }

void shapes(benchmark::internal::Benchmark* b) { b->Args({32, 64, 28, 28})->Args({64, 256, 8, 8})->UseRealTime(); }
BENCHMARK(batch_norm_with_gradients)->Apply(shapes)->Args({128, 512, 1, 1});
BENCHMARK(batch_norm_evaluation)->Apply(shapes);
BENCHMARK(group_norm_with_gradients)->Apply(shapes);
BENCHMARK(max_pool2d_2)->Apply(shapes);
BENCHMARK(max_pool2d_3)->Apply(shapes);
BENCHMARK(max_pool2d_evaluation)->Apply(shapes);
BENCHMARK(avg_pool2d_2)->Apply(shapes);
BENCHMARK(avg_pool2d_3)->Apply(shapes);
BENCHMARK(adaptive_avg_pool2d_1)->Apply(shapes);
BENCHMARK(interpolate_nearest_2)->Apply(shapes);
BENCHMARK(interpolate_bilinear_2)->Apply(shapes);
BENCHMARK(interpolate_bicubic_2)->Apply(shapes);
BENCHMARK(interpolate_bicubic_antialiased)->Apply(shapes);
BENCHMARK(unfold2d_3)->Apply(shapes);
BENCHMARK(pixel_shuffle_2)->Apply(shapes);
BENCHMARK(grid_sample_bilinear)->Apply(shapes);
BENCHMARK(grid_sample_bicubic)->Apply(shapes);

}  // namespace
}  // namespace tapegrad
