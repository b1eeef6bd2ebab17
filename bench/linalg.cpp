// Linear algebra on batches of small matrices and on single large ones: compared with PyTorch.
#include "forms.h"

namespace tapegrad {
namespace {

// Args batch, n: symmetric positive definite matrices [batch, n, n] with n right-hand sides.
auto on_matrices(auto f) {
  return [f](State& state) {
    const int64_t batch = state.range(0), n = state.range(1);
    Generator generator(0);
    const Tensor x = randn({batch, n, n}, kFloat32, &generator), b = randn({batch, n, n}, kFloat32, &generator);
    const Tensor a = matmul(x, x.t()) / static_cast<double>(n) + eye(n);
    for (auto _ : state) benchmark::DoNotOptimize(f(a, b));
  };
}

void shapes(benchmark::internal::Benchmark* b) { b->Args({256, 8})->Args({64, 32})->Args({1, 512})->UseRealTime(); }

[[maybe_unused]] const bool kRegistered = register_all(
    shapes, {{"linalg_solve", on_matrices([](auto& a, auto& b) { return solve(a, b); })},
             {"linalg_triangular_solve", on_matrices([](auto& a, auto& b) { return triangular_solve(a, b, {}); })},
             {"linalg_inverse", on_matrices([](auto& a, auto&) { return inverse(a); })},
             {"linalg_cholesky", on_matrices([](auto& a, auto&) { return cholesky(a); })},
             {"linalg_slogdet", on_matrices([](auto& a, auto&) { return slogdet(a).logabsdet; })},
             {"linalg_qr", on_matrices([](auto& a, auto&) { return qr(a).q; })},
             {"linalg_eigh", on_matrices([](auto& a, auto&) { return eigh(a).vectors; })},
             {"linalg_svd", on_matrices([](auto& a, auto&) { return svd(a).u; })}});

}  // namespace
}  // namespace tapegrad
