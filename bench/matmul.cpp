// Matrix products of the tasks' and GPT-2's shapes, in GFLOP/s and as a share of the processor's peak.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <tapegrad/autograd/internal/machine.h>
#include <tapegrad/autograd/kernels/product/blas.h>
#include <tapegrad/autograd/kernels/product/blas_choice.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/tapegrad.h>

namespace tapegrad {
namespace {

double peak(int threads) {
  static std::vector<double> known(64, 0);
  if (known[threads] == 0) known[threads] = measure_fma_gflops();
  return known[threads];
}

void set_rates(benchmark::State& state, double operations, int threads) {
  const double per_iteration = operations * static_cast<double>(state.iterations());
  state.counters["GFLOP/s"] = benchmark::Counter(1e-9 * per_iteration, benchmark::Counter::kIsRate);
  state.counters["of_peak"] = benchmark::Counter(1e-9 * per_iteration / peak(threads), benchmark::Counter::kIsRate);
}

// Arguments: m, n, k, whether A and B are stored transposed, threads.
void matmul(benchmark::State& state) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  const bool a_transposed = state.range(3) != 0, b_transposed = state.range(4) != 0;
  const int threads = static_cast<int>(state.range(5));
  set_num_threads(threads);
  std::vector<float> a(m * k, 0.5f), b(k * n, 0.25f), c(m * n);
  const MatrixView<const float> av{a.data(), a_transposed ? 1 : k, a_transposed ? m : 1};
  const MatrixView<const float> bv{b.data(), b_transposed ? 1 : n, b_transposed ? k : 1};
  for (auto _ : state) {
    gemm<float>(m, n, k, 1, av, bv, 0, {c.data(), n, 1});
    benchmark::ClobberMemory();
  }
  set_rates(state, 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k), threads);
}

// Heads: a batch of small products q k', [T, D] x [T, D]', and weights v, [T, T] x [T, D].
void heads(benchmark::State& state) {
  const int64_t batch = state.range(0), t = state.range(1), d = state.range(2);
  set_num_threads(static_cast<int>(state.range(3)));
  std::vector<float> q(batch * t * d, 0.5f), weights(batch * t * t), v(batch * t * d, 0.25f), y(batch * t * d);
  for (auto _ : state) {
    batched_gemm<float>(batch, t, t, d, 1, {q.data(), d, 1}, {v.data(), 1, d}, 0, {weights.data(), t, 1},
                        [=](int64_t i) {
                          return BatchOffset{i * t * d, i * t * d, i * t * t};
                        });
    batched_gemm<float>(batch, t, d, t, 1, {weights.data(), t, 1}, {v.data(), d, 1}, 0, {y.data(), d, 1},
                        [=](int64_t i) {
                          return BatchOffset{i * t * t, i * t * d, i * t * d};
                        });
    benchmark::ClobberMemory();
  }
  set_rates(state, 4.0 * static_cast<double>(batch * t * t * d), static_cast<int>(state.range(3)));
}

void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"m", "n", "k", "At", "Bt", "threads"})->UseRealTime();
  for (int64_t threads : {1, 2}) {
    // the copy task's linear layers, forward and both gradients
    bench->Args({800, 64, 64, 0, 1, threads})->Args({800, 128, 64, 0, 1, threads})->Args({800, 64, 128, 0, 0, threads});
    bench->Args({64, 64, 800, 1, 0, threads})->Args({128, 64, 800, 1, 0, threads});
    // layers of width 256
    bench->Args({1280, 256, 256, 0, 1, threads})->Args({1280, 256, 256, 0, 0, threads});
    bench->Args({256, 256, 1280, 1, 0, threads});
    // GPT-2's: up-projection, its gradients, logits
    bench->Args({256, 3072, 768, 0, 1, threads})->Args({256, 768, 3072, 0, 0, threads});
    bench->Args({3072, 768, 256, 1, 0, threads})->Args({256, 50257, 768, 0, 1, threads});
    bench->Args({1024, 1024, 1024, 0, 0, threads});
    bench->Args({1, 768, 768, 0, 1, threads});  // one token
  }
}
BENCHMARK(matmul)->Apply(shapes);
BENCHMARK(heads)
    ->ArgNames({"batch", "t", "d", "threads"})
    ->UseRealTime()
    ->Args({320, 20, 32, 1})
    ->Args({320, 20, 32, 2})
    ->Args({256, 7, 64, 1})
    ->Args({256, 7, 64, 2})
    ->Args({48, 64, 64, 2});

// BLIS and our tiles in turns, with operands from memory: the measurements behind faster_on_blis in blas_choice.h. The
// label names what computes the product, and says "loses" if the other one is more than 3 % faster.
// Arguments: rows, in, out of a linear layer; 0 forward, 1 the gradient of x, 2 the gradient of the weight; threads.
void choice(benchmark::State& state) {
  const int64_t rows = state.range(0), in = state.range(1), out = state.range(2);
  set_num_threads(static_cast<int>(state.range(4)));
  const Tensor x = full({rows, in}, 0.5f), w = full({out, in}, 0.25f), dy = full({rows, out}, 0.5f);
  float *const xp = x.mutable_data<float>(), *const wp = w.mutable_data<float>(), *const dyp = dy.mutable_data<float>();
  std::vector<float> others(24 << 20);
  const blas::Product<float> products[] = {
      {rows, out, in, 1, {xp, in, 1}, {wp, 1, in}, 0, {dyp, out, 1}},
      {rows, in, out, 1, {dyp, out, 1}, {wp, in, 1}, 0, {xp, in, 1}},
      {out, in, rows, 1, {dyp, 1, out}, {xp, in, 1}, 0, {wp, in, 1}},
  };
  const blas::Product<float>& p = products[state.range(3)];
  std::vector<double> seconds[2];
  for (auto _ : state) {
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t at = 0; at < others.size(); at += 16) others[at] += 1;
      const auto begin = std::chrono::steady_clock::now();
      blas::gemm<float>(i == 0 ? Products::blis : Products::own, p.m, p.n, p.k, 1, p.a, p.b, 0, p.c);
      seconds[i].push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
  }
  for (auto& all : seconds) std::nth_element(all.begin(), all.begin() + all.size() / 2, all.end());
  const double on_blis = seconds[0][seconds[0].size() / 2], in_tiles = seconds[1][seconds[1].size() / 2];
  const bool chosen = blas::on_blis(p, Products::automatic);
  state.counters["GFLOP/s_BLIS"] = 2e-9 * static_cast<double>(rows * in * out) / on_blis;
  state.counters["BLIS/tiles"] = in_tiles / on_blis;
  state.SetLabel(std::string(chosen ? "BLIS" : "tiles") +
                 ((chosen ? on_blis / in_tiles : in_tiles / on_blis) > 1.03 ? ", loses" : ""));
}
void linear_layers(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"rows", "in", "out", "kind", "threads"})->UseRealTime()->Iterations(15);
  constexpr int64_t kLayers[][2] = {{256, 256},  {384, 1536}, {512, 512},   {768, 768},
                                    {768, 3072}, {3072, 768}, {1024, 4096}, {4096, 1024}};
  for (const int64_t rows : {64, 128, 256, 512, 1024, 2048}) {
    for (const auto& [in, out] : kLayers) {
      for (int64_t kind = 0; kind < 3; ++kind) {
        for (const int64_t threads : {1, 2}) bench->Args({rows, in, out, kind, threads});
      }
    }
  }
}
BENCHMARK(choice)->Apply(linear_layers);

// An empty loop over two pieces: what it costs to have helpers at all.
void parallel_loop(benchmark::State& state) {
  set_num_threads(static_cast<int>(state.range(0)));
  for (auto _ : state) parallel_for(2, 1, [](int64_t, int64_t) {});
}
BENCHMARK(parallel_loop)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace tapegrad
