// Special functions of rows of float32.
#pragma once

#include <tapegrad/autograd/ops/detail/map.h>

namespace tapegrad::special {

/// One kernel for each function, of one operand. A result is computed in double, to 2^-41 of it, and rounded once.
struct FloatKernels {
  MapKernel lgamma, digamma, erfc, erfinv, i0, i1, i0e, i1e;
};
const FloatKernels& float_kernels();

}  // namespace tapegrad::special
