// Derivatives of every row of a batch: Jacobians, and gradients per example next to those of the whole batch. The cases
// are compared with torch.func.
#include <benchmark/benchmark.h>
#include <tapegrad/tapegrad.h>

namespace tapegrad {
namespace {

// Widths 3, 128, 128, 6.
struct Net {
  nn::Linear first{3, 128}, second{128, 128}, third{128, 6};
  Tensor operator()(const Tensor& x) const { return third(tanh(second(tanh(first(x))))); }
  void visit(auto&& field) {
    field("first", first);
    field("second", second);
    field("third", third);
  }
};

// A feed-forward block on tokens [B, T, 128].
struct Block {
  nn::LayerNorm norm{128};
  nn::Linear up{128, 256}, down{256, 128};
  Tensor operator()(const Tensor& x) const { return mean(x + down(gelu(up(norm(x)))), 1); }
  void visit(auto&& field) {
    field("norm", norm);
    field("up", up);
    field("down", down);
  }
};

void batch_jacobian(benchmark::State& state) {
  manual_seed(0);
  const Net net;
  const Tensor x = randn({state.range(0), 3});
  for (auto _ : state) benchmark::DoNotOptimize(tapegrad::batch_jacobian(net, x));
}
BENCHMARK(batch_jacobian)->Arg(64)->UseRealTime();

// The block alone, or with its derivative in one direction.
void block_forward(benchmark::State& state, bool along) {
  manual_seed(0);
  const Block block;
  const Tensor x = randn({64, 64, 128}), v = randn(x.shape());
  for (auto _ : state) benchmark::DoNotOptimize(along ? jvp(block, x, v).product : block(x));
}
BENCHMARK_CAPTURE(block_forward, value, false)->UseRealTime();
BENCHMARK_CAPTURE(block_forward, jvp, true)->UseRealTime();

// Forward and backward of a squared error per example.
template <class Model>
void gradients(benchmark::State& state, const Shape& shape, bool per_example) {
  manual_seed(0);
  const Model model;
  const Tensor x = randn(shape);
  const auto step = [&] {
    Tape tape;
    const Tensor y = model(x), losses = mean(y * y, 1);
    benchmark::DoNotOptimize(per_example ? tape.backward(losses, {.per_example = true}) : tape.backward(sum(losses)));
  };
  step(), step();  // the first ones request memory
  for (auto _ : state) step();
}

void net_gradients(benchmark::State& state) { gradients<Net>(state, {state.range(0), 3}, false); }
void net_per_example(benchmark::State& state) { gradients<Net>(state, {state.range(0), 3}, true); }
void block_gradients(benchmark::State& state) { gradients<Block>(state, {state.range(0), 64, 128}, false); }
void block_per_example(benchmark::State& state) { gradients<Block>(state, {state.range(0), 64, 128}, true); }
BENCHMARK(net_gradients)->Arg(64)->UseRealTime();
BENCHMARK(net_per_example)->Arg(64)->UseRealTime();
BENCHMARK(block_gradients)->Arg(64)->UseRealTime();
BENCHMARK(block_per_example)->Arg(64)->UseRealTime();

}  // namespace
}  // namespace tapegrad
