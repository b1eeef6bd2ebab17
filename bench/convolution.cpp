// Convolutions, forward and backward: the cases that are compared with PyTorch.
#include "forms.h"

namespace tapegrad {
namespace {

struct Case {
  std::string name;
  Shape x, weight;
  ConvOptions options = {};
};

const Case kCases[] = {
    {"3x3", {32, 64, 28, 28}, {64, 64, 3, 3}, {.padding = 1}},
    {"1x1", {32, 64, 28, 28}, {64, 64, 1, 1}},
    {"depthwise", {32, 64, 28, 28}, {64, 1, 3, 3}, {.padding = 1, .groups = 64}},
    {"stride_2", {32, 64, 28, 28}, {64, 64, 3, 3}, {.stride = 2, .padding = 1}},
    {"signal", {32, 64, 500}, {64, 64, 5}, {.padding = 2}},
    {"digits_1", {64, 1, 8, 8}, {16, 1, 3, 3}, {.padding = 1}},
    {"digits_2", {64, 16, 8, 8}, {32, 16, 3, 3}, {.padding = 1}},
    {"large_7x7", {32, 256, 7, 7}, {256, 256, 3, 3}, {.padding = 1}},
    {"patches", {8, 3, 224, 224}, {768, 3, 16, 16}, {.stride = 16}},
    {"patches_2x2", {8, 96, 56, 56}, {192, 96, 2, 2}, {.stride = 2}},
    {"stem", {8, 3, 112, 112}, {64, 3, 7, 7}, {.stride = 2, .padding = 3}},
    {"volume", {2, 32, 16, 32, 32}, {32, 32, 3, 3, 3}, {.padding = 1}},
    {"volume_depthwise", {2, 32, 16, 32, 32}, {32, 1, 3, 3, 3}, {.padding = 1, .groups = 32}},
    {"volume_patches", {256, 3, 2, 14, 14}, {256, 3, 2, 14, 14}},
};

Tensor convolve(const Case& one, const Inputs& v) {
  const auto run = one.x.rank() == 3 ? conv1d : one.x.rank() == 4 ? conv2d : conv3d;
  return run(v[0], v[1], v[2], one.options);
}

Inputs inputs(const Case& one) {
  Generator generator(0);
  return {randn(one.x, kFloat32, &generator), randn(one.weight, kFloat32, &generator),
          randn({one.weight[0]}, kFloat32, &generator)};
}

[[maybe_unused]] const bool kRegistered = [] {
  const auto real_time = [](benchmark::internal::Benchmark* b) { b->UseRealTime(); };
  for (const Case& one : kCases) {
    const auto f = [&one](const Inputs& v) { return convolve(one, v); };
    register_all(real_time, {{"conv/" + one.name, [=, &one](State& state) { forward(state, f, inputs(one)); }},
                             {"conv_with_gradients/" + one.name,
                              [=, &one](State& state) { gradients_of(state, inputs(one), f); }}});
  }
  return true;
}();

}  // namespace
}  // namespace tapegrad
