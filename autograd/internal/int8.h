// Matrices in int8: a quarter of the memory of float32.
#pragma once

#include <tapegrad/autograd/weight_format.h>

namespace tapegrad {

/// A float32 matrix [rows, columns] in eight bits per element: 64 neighbouring elements of a row share a scale,
/// w = scale q, where q is from -127 to 127 and scale is the largest |w| of them / 127.
///
/// values is int64 [rows, 8 * groups], so that in PyTorch `values.view(torch.int8)` is q; scales is [rows, groups].
using Int8Matrix = QuantizedMatrix;

/// q is rounded to nearest, ties to even. Error unless w is float32 [rows, columns] and finite.
inline Int8Matrix quantize_int8(const Tensor& w) { return quantize(w, weight_format("int8")); }
/// scale q, float32 [rows, columns]. Error unless `columns` has as many groups as the matrix.
inline Tensor dequantize_int8(const Int8Matrix& matrix, int64_t columns) { return dequantize(matrix, columns); }

}  // namespace tapegrad
