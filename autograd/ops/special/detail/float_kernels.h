// Special functions of rows of float32.
#pragma once

#include <tapegrad/autograd/ops/detail/map.h>

namespace tapegrad::special {

/// One kernel for each function, of one operand. A result is computed in double, to 2^-41 of it, and rounded once;
/// those of erfc and erfinv are computed in float, within 2.7 and 2.4 units in the last place.
struct FloatKernels {
  MapKernel lgamma, digamma, erfc, erfinv, i0, i1, i0e, i1e;
};
const FloatKernels& float_kernels();

/// The floats of numbers.h: of one operand (polygamma of order 1), and of two. `slope` has the digits of a float; its
/// second form is for float64 operands.
struct GammaKernels {
  MapKernel trigamma, igamma, igammac, density, slope, slope_of_doubles;
};
const GammaKernels& gamma_kernels();

}  // namespace tapegrad::special
