// Generation with GPT-2's smallest model. Each step reads all weights once, so memory bandwidth is the limit for one
// sequence. Counters: tokens per second, bytes of weights per step, and the share of the measured read bandwidth.
#include <benchmark/benchmark.h>
#include <tapegrad/autograd/internal/machine.h>
#include <tapegrad/tapegrad.h>

#include <string>

namespace tapegrad {
namespace {

nn::GPTModel gpt2(const std::string& dtype) {
  nn::GPTConfig config = nn::gpt_preset("gpt2");
  config.qkv_bias = config.tied_head = true;
  nn::GPTModel model(config);
  nn::eval(model);
  nn::store(model, dtype);
  return model;
}

// Of the position table a token reads one row, of the others (the token table is the head) everything.
int64_t bytes_per_step(const nn::GPTModel& model) {
  int64_t bytes = 0;
  for (const NamedTensor& p : nn::state_dict(model)) {
    if (p.name.starts_with("pos_emb")) continue;
    bytes += p.tensor.numel() * item_size(p.tensor.dtype());
  }
  return bytes;
}

// Several sequences at once.
void generate(benchmark::State& state, const std::string& dtype, std::size_t sequences) {
  constexpr int64_t kTokens = 64;
  const nn::GPTModel model = gpt2(dtype);
  const std::vector<std::vector<int64_t>> prompts(sequences, {0});
  const double bandwidth = measure_read_gb_s();
  for (auto _ : state) {
    benchmark::DoNotOptimize(nn::generate_each(model, prompts, {.max_new_tokens = kTokens}, 0));
  }
  using benchmark::Counter;
  const double bytes = static_cast<double>(bytes_per_step(model));
  const double steps = static_cast<double>(kTokens * state.iterations());
  state.counters["tokens/s"] = Counter(steps * static_cast<double>(sequences), Counter::kIsRate);
  state.counters["MB/step"] = bytes / 1e6;
  state.counters["bandwidth"] = Counter(steps * bytes / (bandwidth * 1e9), Counter::kIsRate);
}

// A prompt is read; without `cached`, as training reads it, but with nothing recorded.
void prompt(benchmark::State& state, const std::string& dtype, bool cached) {
  constexpr int64_t kTokens = 1024;
  const nn::GPTModel model = gpt2(dtype);
  const Tensor ids = zeros({1, kTokens}, kInt64);
  for (auto _ : state) {
    if (cached) {
      nn::GPTNext next(model);
      benchmark::DoNotOptimize(next.logits(ids));
    } else {
      benchmark::DoNotOptimize(model(ids));
    }
  }
  state.counters["tokens/s"] =
      benchmark::Counter(kTokens * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

template <class F>
void add(const std::string& name, const F& f) {
  benchmark::RegisterBenchmark(name.c_str(), f)->UseRealTime()->Unit(benchmark::kMillisecond);
}

const bool kAdded = [] {
  for (const std::string& dtype : weight_format_names()) {
    for (const std::size_t n : {1, 4, 16}) {
      add("generate/" + dtype + "/" + std::to_string(n), [=](benchmark::State& state) { generate(state, dtype, n); });
    }
    add("prompt/" + dtype, [=](benchmark::State& state) { prompt(state, dtype, true); });
  }
  add("prompt/training", [](benchmark::State& state) { prompt(state, "float32", false); });
  return true;
}();

}  // namespace
}  // namespace tapegrad
