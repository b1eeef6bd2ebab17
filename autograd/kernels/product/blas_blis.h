// The interface to BLIS.
#pragma once

#include <string>

#include <tapegrad/autograd/kernels/product/blas_kernels.h>
#include <tapegrad/autograd/kernels/product/engines.h>

namespace tapegrad::blas {

/// Held while BLIS runs: a fork waits until no thread holds it, because the child would inherit BLIS's locked mutexes;
/// other threads wait during the fork.
struct InsideBlis {
  InsideBlis();
  ~InsideBlis();
  InsideBlis(const InsideBlis&) = delete;
  InsideBlis& operator=(const InsideBlis&) = delete;
};

/// Computes a tile in the calling thread through bli_gemm, which packs the operands and calls its own innermost kernel,
/// or ours where it has none: BLIS has kernels for AVX2, and for float32 with AVX-512. Operands of strides that BLIS
/// does not take are copied.
template <class T>
void multiply_on_blis(const Tile<T>& tile);

/// The same through bli_gemm's path for operands that are not packed, whose handler is Kernels::multiply. Rows or
/// columns of A and B must be contiguous and must not overlap. All of these give the same bits, without dot products.
template <class T>
void multiply_in_place(const Tile<T>& tile);

/// Whose kernel multiply_on_blis runs, for float and double: Engine::blis or Engine::ours_in_blis.
template <class T>
Engine packing_engine();

/// "BLIS 0.9.0 with its own 12 x 32 kernel (avx512)": what multiply_on_blis runs for float32.
std::string blis_description();

}  // namespace tapegrad::blas
