// Chooses the kernel family, its index in Highway's tables of kernels, and who computes products.
#include <tapegrad/autograd/kernels/family.h>

#include <tapegrad/autograd/kernels/simd/simd_targets.h>

#include <hwy/targets.h>

#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include <tapegrad/autograd/error.h>

namespace tapegrad {
namespace {

constexpr KernelFamily kFamilies[] = {KernelFamily::portable, KernelFamily::avx2, KernelFamily::avx512};

// Highway's name for the instruction set.
int64_t target(KernelFamily family) {
  switch (family) {
    case KernelFamily::portable: return HWY_STATIC_TARGET;
    case KernelFamily::avx2: return HWY_AVX2;
    case KernelFamily::avx512: return HWY_AVX3;
  }
  return 0;
}

KernelFamily choose() {
  const std::vector<KernelFamily> available = available_kernel_families();
  if (available.empty()) fail("kernels", "expected a processor with x86-64-v2 and AES (SSE4.2) or later");
  KernelFamily chosen = available.back();
  if (const char* wanted = std::getenv("TAPEGRAD_KERNELS"); wanted != nullptr && *wanted != '\0') {
    bool found = false;
    std::string names;
    for (const KernelFamily family : available) {
      if (name(family) == wanted) chosen = family, found = true;
      names += (names.empty() ? "" : ", ") + std::string(name(family));
    }
    if (!found) fail("kernels", fmt::format("expected TAPEGRAD_KERNELS to be one of {}, got \"{}\"", names, wanted));
  }
  return chosen;
}

}  // namespace

std::string_view name(KernelFamily family) {
  switch (family) {
    case KernelFamily::portable: return "portable";
    case KernelFamily::avx2: return "avx2";
    case KernelFamily::avx512: return "avx512";
  }
  return "?";
}

std::vector<KernelFamily> available_kernel_families() {
  static const int64_t supported = hwy::SupportedTargets();
  std::vector<KernelFamily> families;
  for (const KernelFamily family : kFamilies) {
    if ((supported & target(family)) != 0) families.push_back(family);
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
    for (const Products one : {Products::automatic, Products::blis, Products::own}) {
      if (name(one) == wanted) return one;
    }
    fail("products", fmt::format("expected TAPEGRAD_PRODUCTS to be one of auto, blis, own, got \"{}\"", wanted));
  }();
  return chosen;
}

std::size_t detail::choose_kernel_index() {
  hwy::ChosenTarget chosen;  // not the process-wide one
  chosen.Update(target(kernel_family()));
  kernel_index.store(chosen.GetIndex(), std::memory_order_relaxed);
  return chosen.GetIndex();
}

}  // namespace tapegrad
