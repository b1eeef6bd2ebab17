// Loops of clipping over elements [begin, end) of contiguous gradients, on the calling thread.
#pragma once

#include <tapegrad/autograd/dtype.h>

#include <cstdint>

namespace tapegrad::optim {

/// Sums in double; the order depends only on the number of elements.
double sum_of_squares(DType dtype, const void* x, int64_t begin, int64_t end);
/// x *= factor.
void scale(DType dtype, void* x, double factor, int64_t begin, int64_t end);
/// Clamps x to [-limit, limit]; NaN stays.
void clamp(DType dtype, void* x, double limit, int64_t begin, int64_t end);

}  // namespace tapegrad::optim
