// The cost of recording and backward: chains of 100 operations on a few numbers, whose arithmetic takes no time.
#include <benchmark/benchmark.h>
#include <tapegrad/tapegrad.h>

namespace tapegrad {
namespace {

constexpr int kLength = 100;

// One step: a tape, a chain of operations, backward. Reports the time of one operation.
template <class F>
void chain(benchmark::State& state, F operation) {
  const Tensor x = full({state.range(0)}, 0.5).as_leaf();
  for (auto _ : state) {
    Tape tape;
    Tensor y = x;
    for (int i = 0; i < kLength; ++i) y = operation(y, x);
    benchmark::DoNotOptimize(tape.backward(y, {.grad_output = x}));
  }
  state.counters["per_op"] =
      benchmark::Counter(kLength, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

BENCHMARK_CAPTURE(chain, tanh, [](const Tensor& y, const Tensor&) { return tanh(y); })->Arg(1)->Arg(8);
BENCHMARK_CAPTURE(chain, add, [](const Tensor& y, const Tensor& x) { return y + x; })->Arg(1)->Arg(8);
BENCHMARK_CAPTURE(chain, mul, [](const Tensor& y, const Tensor& x) { return y * x; })->Arg(1)->Arg(8);
BENCHMARK_CAPTURE(chain, mul_number, [](const Tensor& y, const Tensor&) { return y * 0.9; })->Arg(1)->Arg(8);

// The same without a tape: the cost of the operations only.
void forward_only(benchmark::State& state) {
  const Tensor x = full({state.range(0)}, 0.5);
  for (auto _ : state) {
    Tensor y = x;
    for (int i = 0; i < kLength; ++i) y = y * x;
    benchmark::DoNotOptimize(y);
  }
  state.counters["per_op"] =
      benchmark::Counter(kLength, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(forward_only)->Arg(1)->Arg(8);

}  // namespace
}  // namespace tapegrad
