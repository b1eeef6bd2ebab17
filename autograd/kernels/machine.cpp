// Measures the machine: arithmetic on registers, reads from memory, matrix products.
#include <tapegrad/autograd/kernels/simd/simd_targets.h>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/autograd/kernels/machine.cpp"
#include <hwy/foreach_target.h>
#include <tapegrad/autograd/kernels/simd/simd.h>

HWY_BEFORE_NAMESPACE();
namespace tapegrad::HWY_NAMESPACE {

constexpr int kChains = 12;  // independent sums: more than latency times throughput

// `rounds` times kChains multiply-adds on vectors of D; returning the result keeps the compiler from omitting them.
template <class D>
float multiply_add(D d, int64_t rounds, float start) {
  const auto scale = hn::Set(d, start), shift = hn::Set(d, 1 - start);
  hn::Vec<D> sum[kChains];
#pragma GCC unroll 12
  for (auto& s : sum) s = hn::Set(d, start += 1);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (auto& s : sum) s = hn::MulAdd(s, scale, shift);
  }
  auto all = sum[0];
#pragma GCC unroll 12
  for (auto& s : sum) all = hn::Add(all, s);
  return hn::GetLane(all);
}

float multiply_add_full(int64_t rounds, float start) { return multiply_add(hn::ScalableTag<float>(), rounds, start); }
float multiply_add_half(int64_t rounds, float start) {
  return multiply_add(hn::Half<hn::ScalableTag<float>>(), rounds, start);
}
int64_t lanes() { return kLanes<float>; }

float read_all(const float* p, int64_t n) {
  Vec<float> sum[8];
  for (int64_t i = 0; i + 8 * kLanes<float> <= n; i += 8 * kLanes<float>) {
#pragma GCC unroll 8
    for (int s = 0; s < 8; ++s) sum[s] += load(p + i + s * kLanes<float>);
  }
  Vec<float> all;
  for (const Vec<float>& s : sum) all += s;
  return sum_of_halves(Vec<float>::Tag(), all.raw);
}

}  // namespace tapegrad::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

#include <tapegrad/autograd/internal/machine.h>
#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/autograd/kernels/product/blas.h>
#include <tapegrad/autograd/kernels/product/blas_blis.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/pool.h>

namespace tapegrad {
namespace {

HWY_EXPORT(multiply_add_full);
HWY_EXPORT(multiply_add_half);
HWY_EXPORT(lanes);
HWY_EXPORT(read_all);

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The shortest time of one call of f, over at least `budget` seconds and three calls.
double best_time(double budget, const auto& f) {
  f();
  double best = 1e30;
  const double start = seconds();
  for (int calls = 0; calls < 3 || seconds() - start < budget; ++calls) {
    const double begin = seconds();
    f();
    best = std::min(best, seconds() - begin);
  }
  return best;
}

std::atomic<float> sink;  // storing a result here keeps the compiler from omitting it

}  // namespace

std::string_view kernels_in_use() { return name(kernel_family()); }
std::string kernels_available() { return names_of_available_families(); }
std::string_view products_in_use() { return name(products()); }

std::string blis_description() { return blas::blis_description(); }

double measure_fma_gflops() {
  constexpr int64_t kRounds = 200000;
  const float start = num_threads() > 0 ? 0.999f : 1.0f;  // a value that the compiler cannot know
  const KernelFamily widest = available_kernel_families().back();
  const int64_t pieces = num_threads(), whole = kernel_of(HWY_DISPATCH_TABLE(lanes), widest)();
  double best = 0;
  for (const bool half : {false, true}) {
    const auto run = half ? kernel_of(HWY_DISPATCH_TABLE(multiply_add_half), widest)
                          : kernel_of(HWY_DISPATCH_TABLE(multiply_add_full), widest);
    const double time = best_time(0.2, [&] {
      parallel_for(pieces, 1, [&](int64_t, int64_t) { sink.store(run(kRounds, start), std::memory_order_relaxed); });
    });
    const int64_t additions = pieces * kRounds * HWY_STATIC_DISPATCH(kChains) * (half ? whole / 2 : whole);
    best = std::max(best, 2e-9 * static_cast<double>(additions) / time);
  }
  return best;
}

double measure_matmul_gflops(int64_t m, int64_t n, int64_t k) {
  std::vector<float, pool::Allocator<float>> x(m * k, 0.5f), weight(n * k, 0.25f), y(m * n);
  const double time = best_time(0.3, [&] {
    gemm<float>(m, n, k, 1, {x.data(), k, 1}, {weight.data(), 1, k}, 0, {y.data(), n, 1});
  });
  return 2e-9 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / time;
}

std::string_view matmul_engine(int64_t m, int64_t n, int64_t k) { return name(blas::engine_of_linear(m, n, k)); }

double measure_read_gb_s() {
  constexpr int64_t kFloats = 64 << 20, kPiece = 1 << 18;
  std::vector<float, pool::Allocator<float>> memory(kFloats, 1.0f);
  const double time = best_time(0.3, [&] {
    parallel_for(kFloats, kPiece, [&](int64_t begin, int64_t end) {
      sink.store(kernel_of(HWY_DISPATCH_TABLE(read_all))(memory.data() + begin, end - begin),
                 std::memory_order_relaxed);
    });
  });
  return 1e-9 * kFloats * sizeof(float) / time;
}

}  // namespace tapegrad
#endif
