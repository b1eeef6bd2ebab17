// The interface to BLIS.
#pragma once

#include <string>

#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/autograd/kernels/product/blas_kernels.h>

namespace tapegrad::blas {

/// Whether this build has BLIS's micro-kernels (TAPEGRAD_BLIS), and BLIS has one for the instruction set in use and T.
template <class T>
bool has_blis_kernel();

/// Whether BLIS computes whatever it can: TAPEGRAD_PRODUCTS=blis.
template <class T>
bool always_on_blis() {
  return products() == Products::blis && has_blis_kernel<T>();
}

/// Computes a tile in the calling thread by BLIS's micro-kernel, from packed copies of the operands; `tile.slivers` and
/// `tile.panels` are not used. Needs has_blis_kernel and a beta of 0 or 1. The results are those of Kernels::multiply.
template <class T>
void multiply_on_blis(const Tile<T>& tile);

/// "BLIS 1.1 with its 32 x 12 kernel (avx512)": what multiply_on_blis runs for float32; or why there is nothing to run.
std::string blis_description();

}  // namespace tapegrad::blas
