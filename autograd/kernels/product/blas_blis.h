// The interface to BLIS.
#pragma once

#include <string>

#include <tapegrad/autograd/kernels/product/blas_kernels.h>

namespace tapegrad::blas {

/// Held while BLIS runs: a fork waits until no thread holds it, because the child would inherit BLIS's locked mutexes;
/// other threads wait during the fork.
struct InsideBlis {
  InsideBlis();
  ~InsideBlis();
  InsideBlis(const InsideBlis&) = delete;
  InsideBlis& operator=(const InsideBlis&) = delete;
};

/// Whose innermost kernel BLIS calls. BLIS's own ones exist for AVX2, and for float32 with AVX-512; otherwise it
/// always calls ours.
enum class BlisKernel { blis, ours };

/// Does a tile in the calling thread through bli_gemm, for operands of any strides; those that BLIS does not take are
/// copied. The same bits as Kernels::multiply without dot products, with either kernel.
template <class T>
void multiply_on_blis(const Tile<T>& tile, BlisKernel kernel = BlisKernel::blis);

/// "BLIS 0.9.0 with its own 12 x 32 kernel (avx512)": what multiply_on_blis runs for float32.
std::string blis_description();

}  // namespace tapegrad::blas
