// Chooses the kernel family, its index in Highway's tables of kernels, and what computes products.
#include <tapegrad/autograd/kernels/family.h>

#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <hwy/targets.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>

#include <tapegrad/autograd/internal/fail.h>

namespace tapegrad {
namespace {

struct Family {
  KernelFamily family;
  std::string_view name;
  int64_t target;  // Highway's name for the instruction set
};

// From the narrowest vectors to the widest.
#if HWY_ARCH_X86
constexpr Family kFamilies[] = {{KernelFamily::portable, "portable", HWY_SSE4},
                                {KernelFamily::avx2, "avx2", HWY_AVX2},
                                {KernelFamily::avx512, "avx512", HWY_AVX3}};
constexpr std::string_view kLeast = "a processor with x86-64-v2 and AES (SSE4.2) or later";
#else
constexpr Family kFamilies[] = {{KernelFamily::neon, "neon", HWY_NEON}};
constexpr std::string_view kLeast = "an ARMv8-A processor with NEON and AES";
#endif

// Those of a set of Highway's targets.
std::vector<KernelFamily> families_of(int64_t targets) {
  std::vector<KernelFamily> families;
  for (const Family& one : kFamilies) {
    if ((targets & one.target) != 0) families.push_back(one.family);
  }
  return families;
}

std::string names_of(const std::vector<KernelFamily>& families) {
  std::string names;
  for (const KernelFamily family : families) names += (names.empty() ? "" : ", ") + std::string(name(family));
  return names;
}

constexpr std::string_view kBuildsAll = "-D TAPEGRAD_TARGETS=all builds the kernels of every instruction set";

}  // namespace

std::string_view name(KernelFamily family) {
  for (const Family& one : kFamilies) {
    if (one.family == family) return one.name;
  }
  return "?";
}

std::vector<KernelFamily> available_kernel_families() {
  static const int64_t supported = hwy::SupportedTargets();
  return families_of(supported & HWY_TARGETS);
}

std::string names_of_available_families() { return names_of(available_kernel_families()); }

KernelFamily detail::choose_family(std::string_view wanted, const std::vector<KernelFamily>& built,
                                   const std::vector<KernelFamily>& supported) {
  std::vector<KernelFamily> available;
  std::set_intersection(built.begin(), built.end(), supported.begin(), supported.end(), std::back_inserter(available));
  if (available.empty()) {
    if (supported.empty()) fail("kernels", fmt::format("expected {}", kLeast));
    fail("kernels", fmt::format("expected a processor with {}, got one with {} ({})", names_of(built),
                                names_of(supported), kBuildsAll));
  }
  if (wanted.empty()) return available.back();
  for (const KernelFamily family : available) {
    if (name(family) == wanted) return family;
  }
  const bool left_out = std::any_of(supported.begin(), supported.end(), [&](auto f) { return name(f) == wanted; });
  fail("kernels", fmt::format("expected TAPEGRAD_KERNELS to be one of {}, got \"{}\"{}", names_of(available), wanted,
                              left_out ? fmt::format(", which this build lacks ({})", kBuildsAll) : ""));
}

KernelFamily kernel_family() {
  static const KernelFamily family = [] {
    const char* wanted = std::getenv("TAPEGRAD_KERNELS");
    return detail::choose_family(wanted != nullptr ? wanted : "", families_of(HWY_TARGETS),
                                 families_of(hwy::SupportedTargets()));
  }();
  return family;
}

std::string_view name(Products products) {
  switch (products) {
    case Products::automatic: return "auto";
    case Products::blis: return "blis";
    case Products::own: return "own";
  }
  return "?";
}

Products products() {
  static const Products chosen = [] {
    const char* wanted = std::getenv("TAPEGRAD_PRODUCTS");
    if (wanted == nullptr || *wanted == '\0') return Products::automatic;
#ifndef TAPEGRAD_BLIS
    require(wanted != name(Products::blis), "products",
            "expected TAPEGRAD_PRODUCTS to be auto or own, got \"blis\" (this build has no BLIS)");
#endif
    for (const Products one : {Products::automatic, Products::blis, Products::own}) {
      if (name(one) == wanted) return one;
    }
    fail("products", "expected TAPEGRAD_PRODUCTS to be one of auto, blis, own, got \"{}\"", wanted);
  }();
  return chosen;
}

#if HWY_ARCH_X86
const bool detail::has_fma = [] {
  __builtin_cpu_init();
  return __builtin_cpu_supports("fma") != 0;
}();
#else
const bool detail::has_fma = false;
#endif

std::size_t detail::kernel_index_of(KernelFamily family) {
  hwy::ChosenTarget chosen;  // not the process-wide one
  for (const Family& one : kFamilies) {
    if (one.family == family) chosen.Update(one.target);
  }
  return chosen.GetIndex();
}

std::size_t detail::choose_kernel_index() {
  const std::size_t index = kernel_index_of(kernel_family());
  kernel_index.store(index, std::memory_order_relaxed);
  return index;
}

}  // namespace tapegrad
