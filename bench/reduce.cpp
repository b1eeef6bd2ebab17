// Speed of reductions, softmax, norms and losses of classes: forward, and forward with backward.
#include "forms.h"

namespace tg = tapegrad;

namespace {

using tg::State, tg::Inputs, tg::in_milliseconds;

tg::Tensor values(const tg::Shape& shape) {
  return tg::sin(tg::arange(0, static_cast<double>(shape.numel()), 1, tg::kFloat32)).reshape(shape);
}
tg::Tensor rows(const State& state) { return values({state.range(0), state.range(1)}); }

void report_bytes(State& state, const tg::Tensor& x, int times) {
  state.SetBytesProcessed(state.iterations() * x.numel() * 4 * times);
}

// f(rows), which moves `times` times the bytes of the rows.
void of_rows(State& state, int times, const auto& f) {
  const tg::Tensor x = rows(state);
  tg::forward(state, f, x);
  report_bytes(state, x, times);
}

void sum_of_rows(State& state) {
  of_rows(state, 1, [](auto& x) { return tg::sum(x, -1); });
}

void sum_over_rows(State& state) {  // the gradient of a bias
  of_rows(state, 1, [](auto& x) { return tg::sum_to(x, {x.size(1)}); });
}

void softmax(State& state) {
  of_rows(state, 2, [](auto& x) { return tg::softmax(x); });
}

void layer_norm(State& state) {
  const tg::Tensor weight = values({state.range(1)});
  of_rows(state, 2, [&](auto& x) { return tg::layer_norm(x, weight, weight); });
}

void layer_norm_with_gradients(State& state) {
  const tg::Tensor x = rows(state), weight = values({state.range(1)});
  tg::gradients_of(state, {x, weight, weight}, [](const Inputs& v) { return tg::layer_norm(v[0], v[1], v[2]); });
  report_bytes(state, x, 5);
}

void cross_entropy_with_gradient(State& state) {
  const tg::Tensor logits = rows(state), target = tg::zeros({state.range(0)}, tg::kInt64);
  tg::gradients_of(state, {logits}, [&](const Inputs& v) { return tg::cross_entropy(v[0], target); });
  report_bytes(state, logits, 2);
}

// x [rows, features], weight [classes, features]. fused: without the logits.
void loss_of_linear(State& state, bool fused) {
  const tg::Tensor x = values({state.range(0), state.range(2)});
  const tg::Tensor weight = values({state.range(1), state.range(2)}) * 0.02;
  const tg::Tensor target = tg::zeros({state.range(0)}, tg::kInt64);
  tg::gradients_of(state, {x, weight}, [&](const Inputs& v) {
    return fused ? tg::linear_cross_entropy(v[0], v[1], target) : tg::cross_entropy(tg::linear(v[0], v[1]), target);
  });
}

// Args: steps, sequences, classes, labels.
void ctc_loss_with_gradient(State& state) {
  const int64_t steps = state.range(0), batch = state.range(1);
  const tg::Tensor target = tg::randint(1, state.range(2), {batch, state.range(3)});
  const tg::Tensor lengths = tg::full({batch}, static_cast<double>(steps), tg::kInt64);
  const tg::Tensor counts = tg::full({batch}, static_cast<double>(state.range(3)), tg::kInt64);
  tg::gradients_of(state, {tg::log_softmax(values({steps, batch, state.range(2)}))},
                   [&](const Inputs& v) { return tg::ctc_loss(v[0], target, lengths, counts); });
}

}  // namespace

BENCHMARK(ctc_loss_with_gradient)->Args({400, 16, 80, 60})->Apply(in_milliseconds);
BENCHMARK(sum_of_rows)->Args({4096, 768})->Args({1, 1 << 24})->UseRealTime();
BENCHMARK(sum_over_rows)->Args({256, 3072})->Args({4096, 768})->UseRealTime();
BENCHMARK(softmax)->Args({4096, 768})->Args({16384, 768})->Args({16384, 20})->UseRealTime();
BENCHMARK(layer_norm)->Args({4096, 768})->Args({16384, 768})->UseRealTime();
BENCHMARK(layer_norm_with_gradients)->Args({4096, 768})->Args({16384, 768})->Args({1280, 32})->UseRealTime();
BENCHMARK(cross_entropy_with_gradient)->Args({1024, 50257})->Args({1280, 13})->Apply(in_milliseconds);
BENCHMARK_CAPTURE(loss_of_linear, fused, true)
    ->Name("linear_cross_entropy_with_gradients")
    ->Args({1024, 50257, 768})
    ->Apply(in_milliseconds);
BENCHMARK_CAPTURE(loss_of_linear, composed, false)
    ->Name("cross_entropy_of_linear_with_gradients")
    ->Args({1024, 50257, 768})
    ->Apply(in_milliseconds);
