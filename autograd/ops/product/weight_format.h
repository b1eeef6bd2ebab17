// Weights in fewer bits, for models that only generate: the time per token is mostly spent on reading them. A format is
// one file in formats/ and one line in weight_format.cpp.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tapegrad {

struct RowsFormat;

/// A way to keep the matrix of a layer. Arithmetic with it is float32, or of integers for a QuantizedMatrix.
struct WeightFormat {
  std::string_view name;             ///< "int8": the value of --dtype, and the end of a tensor's name, weight_int8
  std::string_view memory;           ///< "a quarter": what it takes of the memory of float32
  std::optional<DType> dtype = {};   ///< of a matrix that stays a tensor [rows, columns]; none: a QuantizedMatrix
  const RowsFormat* rows = nullptr;  ///< the kernels

  double bytes_per_element() const;  ///< with scales
};

/// All of them, float32 first.
std::span<const WeightFormat* const> weight_formats();
/// Error for an unknown name, which lists the known ones.
const WeightFormat& weight_format(std::string_view name);
std::vector<std::string> weight_format_names();

/// A matrix [rows, columns] in a format that is not a tensor's type. Neighbouring elements of a row form a group, which
/// has its own scales; zeros follow the last column, up to a whole group.
struct QuantizedMatrix {
  const WeightFormat* format = nullptr;  ///< nullptr for a handle without a matrix
  Tensor values;  ///< int64 [rows, words]: the bytes of the groups of a row, the first in the lowest byte of an element
  Tensor scales;  ///< float32 [rows, scales of all groups]

  bool defined() const { return values.defined(); }
};

/// w, float32 [rows, columns], rounded as the format says. Error for NaN and infinity.
QuantizedMatrix quantize(const Tensor& w, const WeightFormat& format);
/// Zeros, to be overwritten: what quantize returns for a matrix of this size.
QuantizedMatrix quantized_zeros(int64_t rows, int64_t columns, const WeightFormat& format);
/// float32 [rows, columns]. Error unless `columns` has as many groups as the matrix.
Tensor dequantize(const QuantizedMatrix& matrix, int64_t columns);

/// linear(x, weight, bias) for a quantised weight [out, in]: x float32 [..., in] -> [..., out]. x is rounded to int8 in
/// the groups of the weight, s q with s the largest |x| / 127, and products are exact in integers; NaN for a row with
/// NaN or infinity. Error if a gradient is needed.
Tensor linear(const Tensor& x, const QuantizedMatrix& weight, const Tensor& bias = {});
/// embedding(table, ids) for a quantised table [V, columns]: ids int64 [...] -> float32 [..., columns].
Tensor embedding(const QuantizedMatrix& table, int64_t columns, const Tensor& ids);

/// The arguments of linear() apart from x: a weight as a tensor, or else quantised, and a bias or none.
struct LinearWeight {
  const Tensor& weight;       ///< [outputs, inputs]; empty if quantised
  QuantizedMatrix quantized;  ///< [outputs, inputs]; not defined for a tensor
  const Tensor& bias;         ///< [outputs], or empty
};
/// linear(x, ...) with each weight, to `results`. Weights that are read once are read in one loop.
void linear_each(const Tensor& x, std::span<const LinearWeight> weights, std::span<Tensor> results);

}  // namespace tapegrad
