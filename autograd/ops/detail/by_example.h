// Sums over the rows of each example, for gradients per example (BackwardPass::examples).
#pragma once

#include <tapegrad/autograd/ops.h>

namespace tapegrad {

/// x [examples, rows, ...] -> [examples, ...]. Examples of one row share the memory of x.
inline Tensor sum_of_rows(const Tensor& x) { return x.size(1) == 1 ? x.squeeze(1) : sum(x, 1); }

}  // namespace tapegrad
