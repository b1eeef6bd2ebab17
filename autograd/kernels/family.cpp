// Chooses the kernel family, its index in Highway's tables of kernels, and what computes products.
#include <tapegrad/autograd/kernels/family.h>

#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <hwy/targets.h>

#include <cstdlib>
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
constexpr Family kFamilies[] = {{KernelFamily::portable, "portable", HWY_STATIC_TARGET},
                                {KernelFamily::avx2, "avx2", HWY_AVX2},
                                {KernelFamily::avx512, "avx512", HWY_AVX3}};
constexpr std::string_view kLeast = "a processor with x86-64-v2 and AES (SSE4.2) or later";
#else
constexpr Family kFamilies[] = {{KernelFamily::neon, "neon", HWY_STATIC_TARGET}};
constexpr std::string_view kLeast = "an ARMv8-A processor with NEON and AES";
#endif

KernelFamily choose() {
  const std::vector<KernelFamily> available = available_kernel_families();
  if (available.empty()) fail("kernels", "expected {}", kLeast);
  KernelFamily chosen = available.back();
  if (const char* wanted = std::getenv("TAPEGRAD_KERNELS"); wanted != nullptr && *wanted != '\0') {
    bool found = false;
    std::string names;
    for (const KernelFamily family : available) {
      if (name(family) == wanted) chosen = family, found = true;
      names += (names.empty() ? "" : ", ") + std::string(name(family));
    }
    if (!found) fail("kernels", "expected TAPEGRAD_KERNELS to be one of {}, got \"{}\"", names, wanted);
  }
  return chosen;
}

}  // namespace

std::string_view name(KernelFamily family) {
  for (const Family& one : kFamilies) {
    if (one.family == family) return one.name;
  }
  return "?";
}

std::vector<KernelFamily> available_kernel_families() {
  static const int64_t supported = hwy::SupportedTargets();
  std::vector<KernelFamily> families;
  for (const Family& one : kFamilies) {
    if ((supported & one.target) != 0) families.push_back(one.family);
  }
  return families;
}

KernelFamily kernel_family() {
  static const KernelFamily family = choose();
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
