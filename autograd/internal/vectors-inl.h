// The vectors of kernels, for kernels of the layers above; to be included as autograd/kernels/simd/simd.h describes.
#include <tapegrad/autograd/kernels/simd/simd_targets.h>  // first: it compiles the file for all targets but one

#include <tapegrad/autograd/kernels/simd/simd.h>
