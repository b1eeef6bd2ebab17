// Convolutions of signals, images and volumes, and their transposes.
//
// x is [N, C, L] for operations that end in 1d, [N, C, H, W] for those that end in 2d, [N, C, D, H, W] for those that
// end in 3d. Without the axis N, x and the result are a single one. float32 or float64, the same for all operands. N
// may be 0. NaN and infinity in x propagate to the elements whose window contains them; those in a weight, to all
// elements for which it is multiplied, by the zeros of a convolution's padding, too. Gradients can be differentiated to
// any order. Options take one number for all spatial axes, or {height, width}, {depth, height, width}. Dumoulin, Visin
// 2016.
#pragma once

#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/spatial.h>
#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

/// No padding, or as much as gives the result the size of x: dilation (K - 1) elements along an axis, half of them
/// before x; if their number is odd, one more after it. `same` needs a stride of 1.
enum class Padding { valid, same };

/// Elements on each side of x: one number for all axes, `{height, width}`, or a Padding.
class ConvPadding : public PerAxis<int64_t> {
 public:
  using PerAxis<int64_t>::PerAxis;
  ConvPadding() = default;
  ConvPadding(const PerAxis<int64_t>& widths) : PerAxis<int64_t>(widths) {}               // NOLINT
  ConvPadding(Padding padding) : PerAxis<int64_t>(0), same_(padding == Padding::same) {}  // NOLINT
  /// Padding::same was given
  bool same() const { return same_; }

 private:
  bool same_ = false;
};

struct ConvOptions {
  PerAxis<int64_t> stride = 1;    ///< distance between windows
  ConvPadding padding = 0;        ///< elements added on each side, or Padding::same
  PerAxis<int64_t> dilation = 1;  ///< distance between the elements of a window
  int64_t groups = 1;             ///< group g of the outputs depends on group g of the channels; C: depthwise
  PadMode padding_mode = PadMode::constant;  ///< what is added: zeros, or what pad() adds in that mode
};
/// y[n, o, i] = bias[o] + the sum over c and p of weight[o, c, p] x[n, c, i stride + p dilation - padding], that is
/// cross-correlation, as in PyTorch; for images and volumes, the same over two and three axes. weight [O, C / groups,
/// K] or [O, C / groups, KH, KW], bias [O] or an empty handle. Along an axis the result has (L + 2 padding - dilation
/// (K - 1) - 1) / stride + 1 elements, where the division rounds down. Error unless groups divides C and O, if a window
/// is longer than the padded axis, and an Error of pad if x is too short for the mode.
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const ConvOptions& options = {});
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const ConvOptions& options = {});
/// As conv2d of images whose channels are the depths of a window. The gradient for x takes KD / stride times its
/// memory.
Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const ConvOptions& options = {});

struct ConvTransposeOptions {
  PerAxis<int64_t> stride = 1;          ///< of the transposed convolution, as are padding, dilation and groups
  PerAxis<int64_t> padding = 0;         ///< elements removed from each side of the result
  PerAxis<int64_t> output_padding = 0;  ///< elements added at the end of each axis of the result
  PerAxis<int64_t> dilation = 1;        ///< distance between the elements of a window
  int64_t groups = 1;                   ///< as ConvOptions::groups
};
/// The gradient of conv1d (conv2d, conv3d) for its input, as an operation: x[n, c, i] weight[c, o, p] is added to y[n,
/// o, i stride + p dilation - padding], and bias[o] to all. weight [C, O / groups, K] or [C, O / groups, KH, KW], bias
/// [O] or an empty handle. Along an axis the result has (L - 1) stride - 2 padding + dilation (K - 1) + output_padding
/// + 1 elements. Error unless output_padding is smaller than stride or dilation, and if the result would be empty.
Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTransposeOptions& options = {});
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTransposeOptions& options = {});
Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTransposeOptions& options = {});

}  // namespace tapegrad
