// Convolutions, forward and backward: the cases that are compared with PyTorch.
#include <benchmark/benchmark.h>
#include <tapegrad/tapegrad.h>

#include <string>

namespace tapegrad {
namespace {

struct Case {
  const char* name;
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

Tensor convolve(const Case& one, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const auto run = one.x.rank() == 3 ? conv1d : one.x.rank() == 4 ? conv2d : conv3d;
  return run(x, weight, bias, one.options);
}

void forward(benchmark::State& state, const Case& one) {
  Generator generator(0);
  const Tensor x = randn(one.x, kFloat32, &generator), weight = randn(one.weight, kFloat32, &generator);
  const Tensor bias = randn({one.weight[0]}, kFloat32, &generator);
  for (auto _ : state) benchmark::DoNotOptimize(convolve(one, x, weight, bias));
}

// With the gradients of x, weight and bias.
void train(benchmark::State& state, const Case& one) {
  Generator generator(0);
  const Tensor x = randn(one.x, kFloat32, &generator).as_leaf();
  const Tensor weight = randn(one.weight, kFloat32, &generator).as_leaf();
  const Tensor bias = randn({one.weight[0]}, kFloat32, &generator).as_leaf();
  const Tensor dy = randn(convolve(one, x, weight, bias).shape(), kFloat32, &generator);
  for (auto _ : state) {
    Tape tape;
    benchmark::DoNotOptimize(tape.backward(convolve(one, x, weight, bias), {.grad_output = dy}));
  }
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const Case& one : kCases) {
    const auto add = [&](const std::string& name, void (*run)(benchmark::State&, const Case&)) {
      benchmark::RegisterBenchmark((name + one.name).c_str(), [run, &one](benchmark::State& state) {
        run(state, one);
      })->UseRealTime();
    };
    add("conv/", forward);
    add("conv_with_gradients/", train);
  }
  return true;
}();

}  // namespace
}  // namespace tapegrad
