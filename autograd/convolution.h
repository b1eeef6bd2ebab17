// Convolutions of signals and images, and their transposes.
//
// x is [N, C, L] for the operations that end in 1d, [N, C, H, W] for those that end in 2d; without the axis N it is one
// signal or image, and so is the result. float32 and float64, all operands of one type. N may be 0. NaN and infinity
// reach the elements whose window contains them. Every gradient can be differentiated again, to any order. Options take
// one number for both spatial axes, or {height, width}. Dumoulin, Visin 2016.
#pragma once

#include <tapegrad/autograd/spatial.h>
#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

struct ConvOptions {
  PerAxis<int64_t> stride = 1;    ///< from one window to the next
  PerAxis<int64_t> padding = 0;   ///< zeros on each side; other paddings by pad() before
  PerAxis<int64_t> dilation = 1;  ///< from one element of a window to the next
  int64_t groups = 1;             ///< group g of the outputs sees group g of the channels only; C: depthwise
};
/// y[n, o, i] = bias[o] + the sum over c and p of weight[o, c, p] x[n, c, i stride + p dilation - padding], which is
/// cross-correlation as in PyTorch; of images, the same over two axes. weight [O, C / groups, K] or [O, C / groups, KH,
/// KW], bias [O] or an empty handle. The result has (L + 2 padding - dilation (K - 1) - 1) / stride + 1 elements along
/// an axis, rounded down. Error unless groups divides C and O, and where a window does not fit into the padded axis.
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const ConvOptions& options = {});
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const ConvOptions& options = {});

struct ConvTransposeOptions {
  PerAxis<int64_t> stride = 1;          ///< of the convolution that is transposed, as are the next ones
  PerAxis<int64_t> padding = 0;         ///< elements that are left out on each side of the result
  PerAxis<int64_t> output_padding = 0;  ///< elements that are added at the end of each axis of the result
  PerAxis<int64_t> dilation = 1;
  int64_t groups = 1;
};
/// The gradient of conv1d (conv2d) for its input, as an operation: x[n, c, i] weight[c, o, p] is added to y[n, o, i
/// stride + p dilation - padding], and bias[o] to all. weight [C, O / groups, K] or [C, O / groups, KH, KW], bias [O]
/// or an empty handle. The result has (L - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1 elements along
/// an axis. Error unless output_padding is smaller than stride or dilation.
Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTransposeOptions& options = {});
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTransposeOptions& options = {});

}  // namespace tapegrad
