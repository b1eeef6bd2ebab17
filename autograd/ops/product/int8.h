// Matrices in int8, for models that only generate: a quarter of the memory of float32, which is what a token reads.
#pragma once

#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

/// A float32 matrix [rows, columns] in eight bits per element: 64 neighbouring elements of a row share a scale,
/// w = scale q, where q is from -127 to 127 and scale is the largest |w| of them / 127. Arithmetic with it is float32.
struct Int8Matrix {
  /// int64 [rows, 8 groups]: eight int8 per element, the first in the lowest byte, so that in PyTorch
  /// `values.view(torch.int8)` is q. groups = columns / 64, rounded up; zeros follow the last column.
  Tensor values;
  Tensor scales;  ///< float32 [rows, groups]

  bool defined() const { return values.defined(); }
};

/// q is rounded to nearest, ties to even. Error unless w is float32 [rows, columns] and finite.
Int8Matrix quantize_int8(const Tensor& w);
/// scale q, float32 [rows, columns]. Error unless `columns` has as many groups as the matrix.
Tensor dequantize_int8(const Int8Matrix& matrix, int64_t columns);
/// linear(x, weight, bias) for a weight [out, in] in int8: x float32 [..., in] -> [..., out]. The weight is read once.
/// Error if a gradient is needed.
Tensor linear(const Tensor& x, const Int8Matrix& weight, const Tensor& bias = {});
/// embedding(table, ids) for a table [V, columns] in int8: ids int64 [...] -> float32 [..., columns].
Tensor embedding(const Int8Matrix& table, int64_t columns, const Tensor& ids);

}  // namespace tapegrad
