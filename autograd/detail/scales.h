// How to see whether gradients of rows are mixed: scale the gradient of each row's result by a number of its own.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad::detail {

/// [count]: powers of two between 1/8 and 8, in an irregular order. Products with them are exact.
Tensor powers_of_two(int64_t count, DType dtype);

/// The first row of once [B, ...] that `scaled` does not have times its scale, up to rounding; -1 if there is none.
int64_t first_not_scaled(const Tensor& once, const Tensor& scaled, const Tensor& scales);

}  // namespace tapegrad::detail
