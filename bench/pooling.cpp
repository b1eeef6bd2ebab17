// Pooling, interpolation, grids, patches and normalisation per channel, forward and with gradients: the cases that are
// compared with PyTorch.
#include <tapegrad/autograd/grid_sample.h>
#include <tapegrad/autograd/patches.h>

#include "forms.h"

namespace tapegrad {
namespace {

// x [N, C, H, W] from the arguments.
Tensor images(const State& state) {
  Generator generator(0);
  return randn({state.range(0), state.range(1), state.range(2), state.range(3)}, kFloat32, &generator);
}

// f(x, weight, bias) with gradients.
auto norm(auto f) {
  return [f](State& state) {
    const int64_t channels = state.range(1);
    gradients_of(state, {images(state), ones({channels}), zeros({channels})},
                 [f](const Inputs& v) { return f(v[0], v[1], v[2]); });
  };
}

auto pooling(auto f) {
  return [f](State& state) { gradients_of(state, {images(state)}, [f](const Inputs& v) { return f(v[0]); }); };
}

auto evaluation(auto f) {
  return [f](State& state) { forward(state, f, images(state)); };
}

// At as many positions as x has.
auto grid(GridMode mode) {
  return [mode](State& state) {
    const Tensor x = images(state);
    Generator generator(1);
    const Tensor positions = rand({x.size(0), x.size(2), x.size(3), 2}, kFloat32, &generator) * 2 - 1;
    gradients_of(state, {x, positions}, [mode](const Inputs& v) { return grid_sample(v[0], v[1], {.mode = mode}); });
  };
}

void batch_norm_evaluation(State& state) {
  const Tensor one = ones({state.range(1)});
  forward(
      state, [&](const Tensor& x) { return batch_norm(x, one, one, one, one); }, images(state));
}

void shapes(benchmark::internal::Benchmark* b) { b->Args({32, 64, 28, 28})->Args({64, 256, 8, 8})->UseRealTime(); }
void also_without_pixels(benchmark::internal::Benchmark* b) { b->Apply(shapes)->Args({128, 512, 1, 1}); }

[[maybe_unused]] const bool kBatchNorm =
    register_all(also_without_pixels, {{"batch_norm_with_gradients", norm([](auto& x, auto& weight, auto& bias) {
                                          return batch_norm_training(x, weight, bias).y;
                                        })}});

constexpr auto kBilinear = Interpolation::bilinear, kBicubic = Interpolation::bicubic;

[[maybe_unused]] const bool kRegistered = register_all(
    shapes,
    {{"batch_norm_evaluation", batch_norm_evaluation},
     {"group_norm_with_gradients", norm([](auto& x, auto& w, auto& b) { return group_norm(x, 8, w, b); })},
     {"max_pool2d_2", pooling([](auto& x) { return max_pool2d(x, 2); })},
     {"max_pool2d_3", pooling([](auto& x) { return max_pool2d(x, 3, {.stride = 2, .padding = 1}); })},
     {"max_pool2d_evaluation", evaluation([](auto& x) { return max_pool2d(x, 2); })},
     {"avg_pool2d_2", pooling([](auto& x) { return avg_pool2d(x, 2); })},
     {"avg_pool2d_3", pooling([](auto& x) { return avg_pool2d(x, 3, {.stride = 1, .padding = 1}); })},
     {"adaptive_avg_pool2d_1", pooling([](auto& x) { return adaptive_avg_pool2d(x, 1); })},
     {"interpolate_nearest_2", pooling([](auto& x) { return interpolate(x, {.scale_factor = 2}); })},
     {"interpolate_bilinear_2",
      pooling([](auto& x) { return interpolate(x, {.scale_factor = 2, .mode = kBilinear}); })},
     {"interpolate_bicubic_2", pooling([](auto& x) { return interpolate(x, {.scale_factor = 2, .mode = kBicubic}); })},
     {"interpolate_bicubic_antialiased",
      pooling([](auto& x) { return interpolate(x, {.scale_factor = 0.4, .mode = kBicubic, .antialias = true}); })},
     {"unfold2d_3", pooling([](auto& x) { return unfold2d(x, 3, {.padding = 1}); })},
     {"pixel_shuffle_2", pooling([](auto& x) { return pixel_shuffle(x, 2); })},
     {"grid_sample_bilinear", grid(GridMode::bilinear)},
     {"grid_sample_bicubic", grid(GridMode::bicubic)}});

}  // namespace
}  // namespace tapegrad
