// The depths of volumes as channels of images, for convolutions.
#pragma once

#include <tapegrad/autograd/ops/convolution/detail/convolution_shape.h>
#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

/// x [N, C, size, H, W] -> images of its windows of depths, [N * out, C * kernel, H, W].
Tensor depth_windows(const Tensor& x, const ConvAxis& depth);
/// The transpose: adds windows [N * out, C * kernel, H, W] to zeros [N, C, size, H, W].
Tensor depths_added(const Tensor& windows, const ConvAxis& depth);
/// x [N, C, D, H, W] -> [N, D, C, H, W], contiguous.
Tensor depths_swapped(const Tensor& x);

}  // namespace tapegrad
