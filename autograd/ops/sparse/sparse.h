// Products with sparse matrices.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

// --- sparse matrices in compressed rows (autograd/ops/sparse/sparse.cpp), floating ---
// A matrix [m, k] is given by `offsets` [m + 1] and `columns` [n], int64: the elements of row i are those at offsets[i]
// .. offsets[i + 1] - 1 of `columns` and `values` [n], in any order. A column may repeat; its values then add up.

/// The sparse matrix times dense [k, c] or [k] -> [m, c] or [m]: the weighted sum of neighbours in a graph. Gradients
/// of values and dense. Each sum is in the order of the elements.
Tensor sparse_matmul(const Tensor& offsets, const Tensor& columns, const Tensor& values, const Tensor& dense);
/// left [m, c] times right [k, c] transposed, only at the places of the sparse matrix -> values [n]. The gradient of
/// the values of sparse_matmul, and the scores of attention over the edges of a graph.
Tensor sampled_matmul(const Tensor& offsets, const Tensor& columns, const Tensor& left, const Tensor& right);

}  // namespace tapegrad
