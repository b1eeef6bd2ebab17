// Special functions of rows of float32.
#pragma once

#include <tapegrad/autograd/ops/detail/map.h>

namespace tapegrad::special {

/// One kernel for each function, of one operand. Results are computed in double, with a relative error of 2^-41, and
/// rounded once; erfc and erfinv are computed in float, within 2.7 and 2.4 units in the last place.
struct FloatKernels {
  MapKernel lgamma, digamma, erfc, erfinv, i0, i1, i0e, i1e;
};
const FloatKernels& float_kernels();

/// The float functions of numbers.h, of one operand (trigamma: polygamma of order 1) and of two. `slope` is accurate to
/// float32; slope_of_doubles takes float64 operands.
struct GammaKernels {
  MapKernel trigamma, igamma, igammac, density, slope, slope_of_doubles;
};
const GammaKernels& gamma_kernels();

}  // namespace tapegrad::special
