// Speed of reductions, softmax, norms and losses of classes: forward, and forward with backward.
#include <benchmark/benchmark.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/random.h>
#include <tapegrad/autograd/tape.h>

namespace tg = tapegrad;

namespace {

tg::Tensor values(const tg::Shape& shape) {
  return tg::sin(tg::arange(0, static_cast<double>(shape.numel()), 1, tg::kFloat32)).reshape(shape);
}

void report_bytes(benchmark::State& state, const tg::Tensor& x, int times) {
  state.SetBytesProcessed(state.iterations() * x.numel() * 4 * times);
}

void sum_of_rows(benchmark::State& state) {
  const tg::Tensor x = values({state.range(0), state.range(1)});
  for (auto _ : state) benchmark::DoNotOptimize(tg::sum(x, -1));
  report_bytes(state, x, 1);
}

void sum_over_rows(benchmark::State& state) {  // the gradient of a bias
  const tg::Tensor x = values({state.range(0), state.range(1)});
  for (auto _ : state) benchmark::DoNotOptimize(tg::sum_to(x, {state.range(1)}));
  report_bytes(state, x, 1);
}

void softmax(benchmark::State& state) {
  const tg::Tensor x = values({state.range(0), state.range(1)});
  for (auto _ : state) benchmark::DoNotOptimize(tg::softmax(x));
  report_bytes(state, x, 2);
}

void layer_norm(benchmark::State& state) {
  const tg::Tensor x = values({state.range(0), state.range(1)});
  const tg::Tensor weight = values({state.range(1)});
  for (auto _ : state) benchmark::DoNotOptimize(tg::layer_norm(x, weight, weight));
  report_bytes(state, x, 2);
}

void layer_norm_with_gradients(benchmark::State& state) {
  const tg::Tensor x = values({state.range(0), state.range(1)}).as_leaf();
  const tg::Tensor weight = values({state.range(1)}).as_leaf();
  const tg::Tensor bias = values({state.range(1)}).as_leaf();
  const tg::Tensor seed = values(x.shape());
  for (auto _ : state) {
    tg::Tape tape;
    const tg::Tensor y = tg::layer_norm(x, weight, bias);
    benchmark::DoNotOptimize(tape.backward(y, {.create_graph = false, .grad_output = seed, .keep = {}}));
  }
  report_bytes(state, x, 5);
}

void cross_entropy_with_gradient(benchmark::State& state) {
  const tg::Tensor logits = values({state.range(0), state.range(1)}).as_leaf();
  const tg::Tensor target = tg::zeros({state.range(0)}, tg::kInt64);
  for (auto _ : state) {
    tg::Tape tape;
    benchmark::DoNotOptimize(tape.backward(tg::cross_entropy(logits, target)));
  }
  report_bytes(state, logits, 2);
}

// x [rows, features], weight [classes, features]. fused: without the logits.
void loss_of_linear(benchmark::State& state, bool fused) {
  const tg::Tensor x = values({state.range(0), state.range(2)}).as_leaf();
  const tg::Tensor weight = (values({state.range(1), state.range(2)}) * 0.02).as_leaf();
  const tg::Tensor target = tg::zeros({state.range(0)}, tg::kInt64);
  for (auto _ : state) {
    tg::Tape tape;
    const tg::Tensor loss =
        fused ? tg::linear_cross_entropy(x, weight, target) : tg::cross_entropy(tg::linear(x, weight), target);
    benchmark::DoNotOptimize(tape.backward(loss));
  }
}

void linear_cross_entropy_with_gradients(benchmark::State& state) { loss_of_linear(state, true); }
void cross_entropy_of_linear_with_gradients(benchmark::State& state) { loss_of_linear(state, false); }

// Args: steps, sequences, classes, labels.
void ctc_loss_with_gradient(benchmark::State& state) {
  const int64_t steps = state.range(0), batch = state.range(1);
  const tg::Tensor x = tg::log_softmax(values({steps, batch, state.range(2)})).as_leaf();
  const tg::Tensor target = tg::randint(1, state.range(2), {batch, state.range(3)});
  const tg::Tensor lengths = tg::full({batch}, static_cast<double>(steps), tg::kInt64);
  const tg::Tensor counts = tg::full({batch}, static_cast<double>(state.range(3)), tg::kInt64);
  for (auto _ : state) {
    tg::Tape tape;
    benchmark::DoNotOptimize(tape.backward(tg::ctc_loss(x, target, lengths, counts)));
  }
}

}  // namespace

BENCHMARK(ctc_loss_with_gradient)->Args({400, 16, 80, 60})->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(sum_of_rows)->Args({4096, 768})->Args({1, 1 << 24})->UseRealTime();
BENCHMARK(sum_over_rows)->Args({256, 3072})->Args({4096, 768})->UseRealTime();
BENCHMARK(softmax)->Args({4096, 768})->Args({16384, 768})->Args({16384, 20})->UseRealTime();
BENCHMARK(layer_norm)->Args({4096, 768})->Args({16384, 768})->UseRealTime();
BENCHMARK(layer_norm_with_gradients)->Args({4096, 768})->Args({16384, 768})->Args({1280, 32})->UseRealTime();
BENCHMARK(cross_entropy_with_gradient)
    ->Args({1024, 50257})
    ->Args({1280, 13})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(linear_cross_entropy_with_gradients)->Args({1024, 50257, 768})->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(cross_entropy_of_linear_with_gradients)
    ->Args({1024, 50257, 768})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
