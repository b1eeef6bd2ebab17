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

/// Does a tile in the calling thread through BLIS. Both operands must have rows or columns without gaps or overlap.
template <class T>
void multiply_on_blis(const Tile<T>& tile);

/// "BLIS 0.9.0, 6 x 16 kernel (avx2)": what multiply_on_blis runs for float32.
std::string blis_description();

}  // namespace tapegrad::blas
