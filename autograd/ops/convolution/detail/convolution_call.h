// Convolutions of tensors: their shapes, checks of their operands, and the depths of volumes as channels of images.
#pragma once

#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/ops/convolution/detail/convolution_shape.h>
#include <tapegrad/autograd/spatial.h>
#include <tapegrad/autograd/tensor.h>

#include <string>
#include <string_view>

namespace tapegrad {

/// A convolution of tensors; ConvShape does not know whether they have rows and a batch.
struct Convolution {
  ConvShape shape;
  int axes = 1;
  bool batched = false;    // [N, ..]
  bool of_volume = false;  // planes of a volume, as images

  bool volumes() const { return axes == 3; }
  int64_t batch() const { return shape.n / shape.depth.out; }
  /// Counts the images and channels of volumes as ConvShape does, once its axes are set.
  void count_images() {
    shape.n *= shape.depth.out;
    shape.c *= shape.depth.kernel;
  }
  /// Depthwise: each plane of a volume as an image.
  Convolution planes_of_channels() const {
    Convolution planes{shape, 2, true, true};
    planes.shape.depth = {};
    planes.shape.c = 1;
    return planes;
  }

  Shape shape_of(int64_t channels, int64_t depths, int64_t rows, int64_t cols) const {
    Shape result;
    if (batched) result.push_back(batch());
    result.push_back(channels);
    if (volumes()) result.push_back(depths);
    if (axes > 1) result.push_back(rows);
    result.push_back(cols);
    return result;
  }
  Shape x_shape() const {
    return shape_of(shape.groups * shape.c / shape.depth.kernel, shape.depth.size, shape.rows.size, shape.cols.size);
  }
  Shape y_shape() const { return shape_of(shape.groups * shape.o, shape.depth.out, shape.rows.out, shape.cols.out); }
  Shape weight_shape() const {
    Shape result{shape.groups * shape.o, shape.c / shape.depth.kernel};
    if (volumes()) result.push_back(shape.depth.kernel);
    if (axes > 1) result.push_back(shape.rows.kernel);
    result.push_back(shape.cols.kernel);
    return result;
  }
};

/// The settings that all operations have in common.
struct ConvSettings {
  const PerAxis<int64_t>&stride, &padding, &dilation;
  int64_t groups;
};

/// The name of an operation, for errors.
struct ConvName {
  std::string_view name;
  int axes;
  bool transposed;

  [[noreturn]] void fail(const std::string& message) const { tapegrad::fail(name, message); }
  std::string x() const { return axes == 1 ? "L" : axes == 2 ? "H, W" : "D, H, W"; }
  std::string weight() const;
};

/// Checks the operands; sets all but the sizes along the axes. Transposed: the weight's first axis has x's channels.
Convolution require_operands(const ConvName& op, const Tensor& x, const Tensor& weight, const Tensor& bias,
                             const ConvSettings& settings);

/// x [N, C, size, H, W] -> images of its windows of depths, [N * out, C * kernel, H, W].
Tensor depth_windows(const Tensor& x, const ConvAxis& depth);
/// The transpose: adds windows [N * out, C * kernel, H, W] to zeros [N, C, size, H, W].
Tensor depths_added(const Tensor& windows, const ConvAxis& depth);
/// x [N, C, D, H, W] -> [N, D, C, H, W], contiguous.
Tensor depths_swapped(const Tensor& x);

}  // namespace tapegrad
