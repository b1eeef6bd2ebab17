// Linear algebra on batches of small matrices and on single large ones: compared with PyTorch.
#include <benchmark/benchmark.h>
#include <tapegrad/tapegrad.h>

namespace tapegrad {
namespace {

// Args batch, n: symmetric positive definite matrices [batch, n, n] with n right-hand sides.
template <class F>
void on_matrices(benchmark::State& state, F f) {
  const int64_t batch = state.range(0), n = state.range(1);
  Generator generator(0);
  const Tensor x = randn({batch, n, n}, kFloat32, &generator), b = randn({batch, n, n}, kFloat32, &generator);
  const Tensor a = matmul(x, x.t()) / static_cast<double>(n) + eye(n);
  for (auto _ : state) benchmark::DoNotOptimize(f(a, b));
}

void linalg_solve(benchmark::State& state) {
  on_matrices(state, [](const Tensor& a, const Tensor& b) { return solve(a, b); });
}
void linalg_triangular_solve(benchmark::State& state) {
  on_matrices(state, [](const Tensor& a, const Tensor& b) { return triangular_solve(a, b, {}); });
}
void linalg_inverse(benchmark::State& state) {
  on_matrices(state, [](const Tensor& a, const Tensor&) { return inverse(a); });
}
void linalg_cholesky(benchmark::State& state) {
  on_matrices(state, [](const Tensor& a, const Tensor&) { return cholesky(a); });
}
void linalg_slogdet(benchmark::State& state) {
  on_matrices(state, [](const Tensor& a, const Tensor&) { return slogdet(a).logabsdet; });
}
void linalg_qr(benchmark::State& state) {
  on_matrices(state, [](const Tensor& a, const Tensor&) { return qr(a).q; });
}
void linalg_eigh(benchmark::State& state) {
  on_matrices(state, [](const Tensor& a, const Tensor&) { return eigh(a).vectors; });
}
void linalg_svd(benchmark::State& state) {
  on_matrices(state, [](const Tensor& a, const Tensor&) { return svd(a).u; });
}
void shapes(benchmark::internal::Benchmark* b) { b->Args({256, 8})->Args({64, 32})->Args({1, 512})->UseRealTime(); }
BENCHMARK(linalg_solve)->Apply(shapes);
BENCHMARK(linalg_triangular_solve)->Apply(shapes);
BENCHMARK(linalg_inverse)->Apply(shapes);
BENCHMARK(linalg_cholesky)->Apply(shapes);
BENCHMARK(linalg_slogdet)->Apply(shapes);
BENCHMARK(linalg_qr)->Apply(shapes);
BENCHMARK(linalg_eigh)->Apply(shapes);
BENCHMARK(linalg_svd)->Apply(shapes);

}  // namespace
}  // namespace tapegrad
