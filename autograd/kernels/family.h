// Which family of kernels runs: chosen once from the processor's features, or by TAPEGRAD_KERNELS.
#pragma once

#include <string_view>
#include <vector>

namespace tapegrad {

enum class KernelFamily { portable, avx2, avx512 };

/// "portable", "avx2" or "avx512".
std::string_view name(KernelFamily family);

/// The families that this processor runs, plainest first.
std::vector<KernelFamily> available_kernel_families();

/// The family in use, for Highway's dispatch and for BLIS alike. The first call settles it for the process:
/// the value of TAPEGRAD_KERNELS, or else the last one available. Error when that variable names nothing that
/// this processor runs. Whatever dispatches kernels comes after a first call; the storage pool and the matrix
/// products see to that.
KernelFamily kernel_family();

}  // namespace tapegrad
