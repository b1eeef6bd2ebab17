// Generation with GPT-2's smallest model, one sequence. Each token reads all weights once, so memory bandwidth is the
// limit. Counters: tokens per second, bytes of weights per token, and the share of the measured read bandwidth.
#include <benchmark/benchmark.h>
#include <tapegrad/autograd/kernels/machine.h>
#include <tapegrad/tapegrad.h>

namespace tapegrad {
namespace {

nn::GPTConfig gpt2() {
  nn::GPTConfig config = nn::gpt_preset("gpt2");
  config.qkv_bias = config.tied_head = true;
  return config;
}

// Of the position table a token reads one row, of the others (the token table is the head) everything.
int64_t bytes_a_token(const nn::GPTModel& model) {
  int64_t bytes = 0;
  for (const NamedTensor& p : nn::state_dict(model)) {
    if (p.name.starts_with("pos_emb")) continue;
    bytes += p.tensor.numel() * item_size(p.tensor.dtype());
  }
  return bytes;
}

void generate(benchmark::State& state, DType dtype) {
  constexpr int64_t kTokens = 64;
  nn::GPTModel model(gpt2());
  nn::eval(model);
  if (dtype == kBFloat16) model.store_in_bfloat16();
  const Tensor prompt = zeros({1, 1}, kInt64);
  const double bandwidth = measure_read_gb_s();
  for (auto _ : state) {
    nn::GPTNext next(model);
    benchmark::DoNotOptimize(nn::generate(next, prompt, {.max_new_tokens = kTokens}));
  }
  using benchmark::Counter;
  const double bytes = static_cast<double>(bytes_a_token(model));
  const double tokens = static_cast<double>(kTokens * state.iterations());
  state.counters["tokens/s"] = Counter(tokens, Counter::kIsRate);
  state.counters["MB/token"] = bytes / 1e6;
  state.counters["bandwidth"] = Counter(tokens * bytes / (bandwidth * 1e9), Counter::kIsRate);
}
BENCHMARK_CAPTURE(generate, float32, kFloat32)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(generate, bfloat16, kBFloat16)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tapegrad
