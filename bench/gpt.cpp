// Generation with GPT-2's smallest model. Each step reads all weights once, so memory bandwidth is the limit for one
// sequence. Counters: tokens per second, bytes of weights per step, and the share of the measured read bandwidth.
#include <benchmark/benchmark.h>
#include <tapegrad/autograd/kernels/machine.h>
#include <tapegrad/tapegrad.h>

#include <string>

namespace tapegrad {
namespace {

enum class Weights { float32, bfloat16, int8 };

nn::GPTModel gpt2(Weights weights) {
  nn::GPTConfig config = nn::gpt_preset("gpt2");
  config.qkv_bias = config.tied_head = true;
  nn::GPTModel model(config);
  nn::eval(model);
  if (weights == Weights::bfloat16) model.store_in_bfloat16();
  if (weights == Weights::int8) model.store_in_int8();
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
void generate(benchmark::State& state, Weights weights, std::size_t sequences) {
  constexpr int64_t kTokens = 64;
  const nn::GPTModel model = gpt2(weights);
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
void prompt(benchmark::State& state, Weights weights, bool cached) {
  constexpr int64_t kTokens = 1024;
  const nn::GPTModel model = gpt2(weights);
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
  for (const auto& [name, weights] : {std::pair("float32", Weights::float32), std::pair("bfloat16", Weights::bfloat16),
                                      std::pair("int8", Weights::int8)}) {
    const std::string type = name;
    for (const std::size_t n : {1, 4, 16}) {
      add("generate/" + type + "/" + std::to_string(n),
          [weights = weights, n](benchmark::State& state) { generate(state, weights, n); });
    }
    add("prompt/" + type, [weights = weights](benchmark::State& state) { prompt(state, weights, true); });
  }
  add("prompt/training", [](benchmark::State& state) { prompt(state, Weights::float32, false); });
  return true;
}();

}  // namespace
}  // namespace tapegrad
