// Recurrent layers, forward and backward with the gradients of input and parameters: compared with PyTorch.
#include <benchmark/benchmark.h>
#include <tapegrad/tapegrad.h>

namespace tapegrad {
namespace {

// Args: batch, length, width of the input and of the hidden state.
template <class Layer>
void with_gradients(benchmark::State& state) {
  const int64_t batch = state.range(0), length = state.range(1), width = state.range(2);
  Generator generator(0);
  const Layer layer(width, width);
  const Tensor x = randn({length, batch, width}, kFloat32, &generator).as_leaf();
  const Tensor dy = randn({length, batch, width}, kFloat32, &generator);
  for (auto _ : state) {
    Tape tape;
    benchmark::DoNotOptimize(tape.backward(layer(x).output, {.create_graph = false, .grad_output = dy, .keep = {}}));
  }
}

template <class Layer>
void forward(benchmark::State& state) {
  const int64_t batch = state.range(0), length = state.range(1), width = state.range(2);
  const Layer layer(width, width);
  const Tensor x = randn({length, batch, width});
  for (auto _ : state) benchmark::DoNotOptimize(layer(x).output);
}

void lstm_with_gradients(benchmark::State& state) { with_gradients<nn::LSTM>(state); }
void gru_with_gradients(benchmark::State& state) { with_gradients<nn::GRU>(state); }
void rnn_with_gradients(benchmark::State& state) { with_gradients<nn::RNN>(state); }
void lstm(benchmark::State& state) { forward<nn::LSTM>(state); }

void shapes(benchmark::internal::Benchmark* b) {
  b->Args({32, 100, 256})->Args({16, 50, 64})->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK(lstm_with_gradients)->Apply(shapes);
BENCHMARK(gru_with_gradients)->Apply(shapes);
BENCHMARK(rnn_with_gradients)->Apply(shapes);
BENCHMARK(lstm)->Args({32, 100, 256})->Args({1, 100, 256})->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tapegrad
