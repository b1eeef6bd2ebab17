// What computes, chosen once per process by the environment: the kernel family (TAPEGRAD_KERNELS), and the code that
// multiplies matrices (TAPEGRAD_PRODUCTS).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad {

enum class KernelFamily { portable, avx2, avx512, neon };

/// "portable", "avx2" or "avx512" (x86-64); "neon" (arm64).
std::string_view name(KernelFamily family);

/// The families that this build has (TAPEGRAD_TARGETS) and this processor can run, from the narrowest vectors to the
/// widest.
std::vector<KernelFamily> available_kernel_families();
/// Their names: "portable, avx2, avx512".
std::string names_of_available_families();

/// The family in use, for SIMD kernels and matrix products alike. The first call chooses it for the whole process: the
/// value of the environment variable TAPEGRAD_KERNELS, or else the widest family available. Error if the variable
/// names a family that is not available.
KernelFamily kernel_family();

/// What may compute products. `automatic`: whatever is fastest for the shape
/// (docs/contributing/matrix_multiplication.md). `blis`: BLIS, all of them, of every shape and type: the reference that
/// the others are compared with. `own`: never BLIS.
enum class Products : uint8_t { automatic, blis, own };

/// "auto", "blis" or "own".
std::string_view name(Products products);

/// The value of the environment variable TAPEGRAD_PRODUCTS, or `automatic`; read once per process. Error for any other
/// value.
Products products();

namespace detail {
inline std::atomic<std::size_t> kernel_index{0};  // 0: not chosen yet
std::size_t choose_kernel_index();
std::size_t kernel_index_of(KernelFamily family);
/// kernel_family() for a value of TAPEGRAD_KERNELS, or none, where a build has the families `built`, and the processor
/// runs those of `supported`.
KernelFamily choose_family(std::string_view wanted, const std::vector<KernelFamily>& built,
                           const std::vector<KernelFamily>& supported);
/// Whether the processor has FMA3's instructions (x86-64), which the portable family then uses. Until this is
/// initialised it is false, which gives the same bits.
extern const bool has_fma;
}  // namespace detail

/// The kernel of the family in use, from the table that HWY_EXPORT(f) defines: kernel_of(HWY_DISPATCH_TABLE(f))(...).
/// HWY_DYNAMIC_DISPATCH would follow Highway's choice for the whole process, which other code may use or change.
template <class F, std::size_t N>
F kernel_of(const F (&table)[N]) {
  if constexpr (N == 1) {
    return table[0];
  } else {
    const std::size_t index = detail::kernel_index.load(std::memory_order_relaxed);
    return table[index != 0 ? index : detail::choose_kernel_index()];
  }
}

/// The same for a family that this processor can run.
template <class F, std::size_t N>
F kernel_of(const F (&table)[N], KernelFamily family) {
  return table[N == 1 ? 0 : detail::kernel_index_of(family)];
}

/// What the function of the family in use returns, asked once: chosen<HWY_DISPATCH_TABLE(f)>(), where f() returns a
/// reference to that family's kernels.
template <const auto& kTable>
const auto& chosen() {
  static const auto& kernels = kernel_of(kTable)();
  return kernels;
}

}  // namespace tapegrad
