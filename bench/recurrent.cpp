// Recurrent layers, forward and backward with the gradients of input and parameters: compared with PyTorch.
#include "forms.h"

namespace tapegrad {
namespace {

// Args: batch, length, width of the input and of the hidden state.
Tensor input(const State& state) {
  Generator generator(0);
  return randn({state.range(1), state.range(0), state.range(2)}, kFloat32, &generator);
}

template <class Layer>
void with_gradients(State& state) {
  const Layer layer(state.range(2), state.range(2));
  gradients_of(state, {input(state)}, [&](const Inputs& v) { return layer(v[0]).output; });
}

void lstm(State& state) {
  const nn::LSTM layer(state.range(2), state.range(2));
  forward(
      state, [&](const Tensor& x) { return layer(x).output; }, input(state));
}

void shapes(benchmark::internal::Benchmark* b) { b->Args({32, 100, 256})->Args({16, 50, 64})->Apply(in_milliseconds); }
BENCHMARK(with_gradients<nn::LSTM>)->Name("lstm_with_gradients")->Apply(shapes);
BENCHMARK(with_gradients<nn::GRU>)->Name("gru_with_gradients")->Apply(shapes);
BENCHMARK(with_gradients<nn::RNN>)->Name("rnn_with_gradients")->Apply(shapes);
BENCHMARK(lstm)->Args({32, 100, 256})->Args({1, 100, 256})->Apply(in_milliseconds);

}  // namespace
}  // namespace tapegrad
