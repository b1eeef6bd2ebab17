// Attention for long inputs: operations and layers, forward and backward, by the length.
#include <benchmark/benchmark.h>
#include <tapegrad/tapegrad.h>

namespace tapegrad {
namespace {

constexpr int64_t kHeads = 8, kHeadSize = 64, kWidth = kHeads * kHeadSize;

void per_token(benchmark::State& state, int64_t length) {
  state.counters["us_per_token"] = benchmark::Counter(
      static_cast<double>(length) * 1e-6, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// Args: length, window (0: full attention), causal.
void attention_with_gradients(benchmark::State& state) {
  const int64_t length = state.range(0), window = state.range(1);
  const bool causal = state.range(2) != 0;
  Generator generator(0);
  const auto heads = [&] { return randn({1, length, kHeads, kHeadSize}, kFloat32, &generator).as_leaf(); };
  const Tensor q = heads(), k = heads(), v = heads(), dy = heads().transpose(1, 2).detach();
  for (auto _ : state) {
    Tape tape;
    const Tensor a = q.transpose(1, 2), b = k.transpose(1, 2), c = v.transpose(1, 2);
    const Tensor y = window > 0 ? sliding_window_attention(a, b, c, {.window = window, .causal = causal})
                                : scaled_dot_product_attention(a, b, c, {.causal = causal});
    benchmark::DoNotOptimize(tape.backward(y, {.create_graph = false, .grad_output = dy, .keep = {}}));
  }
  per_token(state, length);
}

// Args: batch, heads, length, head size. Causal attention of contiguous heads.
void causal_attention_with_gradients(benchmark::State& state) {
  const Shape shape{state.range(0), state.range(1), state.range(2), state.range(3)};
  Generator generator(0);
  const auto heads = [&] { return randn(shape, kFloat32, &generator); };
  const Tensor q = heads().as_leaf(), k = heads().as_leaf(), v = heads().as_leaf(), dy = heads();
  const auto step = [&] {
    Tape tape;
    const Tensor y = scaled_dot_product_attention(q, k, v, {.causal = true});
    benchmark::DoNotOptimize(tape.backward(y, {.grad_output = dy}));
  };
  step();
  for (auto _ : state) step();
}

// Args: heads, length, head size. Causal attention within documents of 300 tokens, with a soft cap or without.
void flex_with_gradients(benchmark::State& state, const ScoreMod& score_mod) {
  const int64_t length = state.range(1);
  const Shape shape{1, state.range(0), length, state.range(2)};
  Generator generator(0);
  const auto heads = [&] { return randn(shape, kFloat32, &generator); };
  const Tensor q = heads().as_leaf(), k = heads().as_leaf(), v = heads().as_leaf(), dy = heads();
  const BlockMask mask =
      block_mask([](auto, auto, auto q, auto k) { return q / 300 == k / 300 && q >= k; }, length, length);
  for (auto _ : state) {
    Tape tape;
    const Tensor y = flex_attention(q, k, v, {.score_mod = score_mod, .block_mask = mask});
    benchmark::DoNotOptimize(tape.backward(y, {.grad_output = dy}));
  }
}
void documents_with_gradients(benchmark::State& state) { flex_with_gradients(state, {}); }
void soft_cap_with_gradients(benchmark::State& state) {
  flex_with_gradients(state, [](auto score, auto, auto, auto, auto) { return 20 * tanh(score / 20); });
}

// Args: length, index in attention_forms() (1: window). A layer with its projections, and the most memory that it
// holds.
void layer_with_gradients(benchmark::State& state) {
  const int64_t length = state.range(0);
  const nn::MultiHeadSelfAttention layer(
      {.d_in = kWidth,
       .d_out = kWidth,
       .num_heads = kHeads,
       .context_length = length,
       .attention = nn::attention_forms()[static_cast<std::size_t>(state.range(1))]});
  Generator generator(0);
  const Tensor x = randn({1, length, kWidth}, kFloat32, &generator).as_leaf();
  for (auto _ : state) {
    Tape tape;
    benchmark::DoNotOptimize(tape.backward(mean(layer(x))));
  }
  per_token(state, length);
  state.counters["reserved_MB"] = 1e-6 * static_cast<double>(pool::stats().reserved);
}

BENCHMARK(attention_with_gradients)
    ->ArgsProduct({{1024, 4096}, {0, 256}, {0, 1}})
    ->ArgsProduct({{16'384, 65'536}, {256}, {0, 1}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(causal_attention_with_gradients)
    ->Args({1, 4, 1024, 64})
    ->Args({1, 4, 8192, 64})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(documents_with_gradients)->Args({8, 2048, 64})->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(soft_cap_with_gradients)->Args({8, 2048, 64})->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(layer_with_gradients)->ArgsProduct({{4096, 65'536}, {1}})->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tapegrad
