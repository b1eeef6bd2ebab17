// Matrix products of the tasks' and GPT-2's shapes, in GFLOP/s and as a share of the processor's peak.
#include <benchmark/benchmark.h>

#include <vector>

#include <tapegrad/autograd/internal/machine.h>
#include <tapegrad/autograd/kernels/product/blas.h>
#include <tapegrad/autograd/parallel.h>

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

// An empty loop over two pieces: what it costs to have helpers at all.
void parallel_loop(benchmark::State& state) {
  set_num_threads(static_cast<int>(state.range(0)));
  for (auto _ : state) parallel_for(2, 1, [](int64_t, int64_t) {});
}
BENCHMARK(parallel_loop)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace tapegrad
