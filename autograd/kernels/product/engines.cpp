// Counts products by what computes them.
#include <tapegrad/autograd/kernels/product/engines.h>

#include <atomic>

namespace tapegrad {
namespace {

std::array<std::atomic<int64_t>, kEngines> counts{};

}  // namespace

std::string_view name(Engine engine) {
  constexpr std::string_view kNames[kEngines] = {"BLIS",     "tiles",    "small",       "packed",
                                                 "few rows", "bfloat16", "convolution", "attention"};
  return kNames[static_cast<std::size_t>(engine)];
}

void add_product(Engine engine, int64_t multiplications) {
  detail::add_flops(2 * multiplications);
  counts[static_cast<std::size_t>(engine)].fetch_add(multiplications, std::memory_order_relaxed);
}

std::array<int64_t, kEngines> product_counts() {
  std::array<int64_t, kEngines> all{};
  for (std::size_t i = 0; i < kEngines; ++i) all[i] = counts[i].load(std::memory_order_relaxed);
  return all;
}

}  // namespace tapegrad
