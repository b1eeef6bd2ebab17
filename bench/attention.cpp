// Attention for long inputs: operations and layers, forward and backward, by the length.
#include "forms.h"

namespace tapegrad {
namespace {

constexpr int64_t kHeads = 8, kHeadSize = 64, kWidth = kHeads * kHeadSize;

void per_token(State& state, int64_t length) {
  state.counters["us_per_token"] = benchmark::Counter(
      static_cast<double>(length) * 1e-6, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// Queries, keys and values.
Inputs qkv(const Shape& shape) {
  Generator generator(0);
  const auto heads = [&] { return randn(shape, kFloat32, &generator); };
  return {heads(), heads(), heads()};
}

// Args: length, window (0: full attention), causal.
void attention_with_gradients(State& state) {
  const int64_t length = state.range(0), window = state.range(1);
  const bool causal = state.range(2) != 0;
  gradients_of(state, qkv({1, length, kHeads, kHeadSize}), [=](const Inputs& v) {
    const Tensor q = v[0].transpose(1, 2), k = v[1].transpose(1, 2), value = v[2].transpose(1, 2);
    return window > 0 ? sliding_window_attention(q, k, value, {.window = window, .causal = causal})
                      : scaled_dot_product_attention(q, k, value, {.causal = causal});
  });
  per_token(state, length);
}

// Args: batch, heads, length, head size. Causal attention of contiguous heads.
void causal_attention_with_gradients(State& state) {
  gradients_of(state, qkv({state.range(0), state.range(1), state.range(2), state.range(3)}),
               [](const Inputs& v) { return scaled_dot_product_attention(v[0], v[1], v[2], {.causal = true}); });
}

// Args: heads, length, head size. Causal attention within documents of 300 tokens, with a soft cap or without.
void flex_with_gradients(State& state, const ScoreMod& score_mod) {
  const int64_t length = state.range(1);
  const BlockMask mask =
      block_mask([](auto, auto, auto q, auto k) { return q / 300 == k / 300 && q >= k; }, length, length);
  gradients_of(state, qkv({1, state.range(0), length, state.range(2)}), [&](const Inputs& v) {
    return flex_attention(v[0], v[1], v[2], {.score_mod = score_mod, .block_mask = mask});
  });
}
void documents_with_gradients(State& state) { flex_with_gradients(state, {}); }
void soft_cap_with_gradients(State& state) {
  flex_with_gradients(state, [](auto score, auto, auto, auto, auto) { return 20 * tanh(score / 20); });
}

// Args: length, index in attention_forms() (1: window). A layer with its projections, and the most memory that it
// holds.
void layer_with_gradients(State& state) {
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
    ->Apply(in_milliseconds);
BENCHMARK(causal_attention_with_gradients)->Args({1, 4, 1024, 64})->Args({1, 4, 8192, 64})->Apply(in_milliseconds);
BENCHMARK(documents_with_gradients)->Args({8, 2048, 64})->Apply(in_milliseconds);
BENCHMARK(soft_cap_with_gradients)->Args({8, 2048, 64})->Apply(in_milliseconds);
BENCHMARK(layer_with_gradients)->ArgsProduct({{4096, 65'536}, {1}})->Apply(in_milliseconds);

}  // namespace
}  // namespace tapegrad
