// Pooling and interpolation as modules; none has parameters.
#pragma once

#include <tapegrad/autograd/pooling.h>
#include <tapegrad/nn/module.h>

namespace tapegrad::nn {

/// The largest element of each window of x [N, C, L] or [C, L]: max_pool1d.
struct MaxPool1d {
  explicit MaxPool1d(const PerAxis<int64_t>& kernel, const MaxPoolOptions& pooling = {})
      : kernel_size(kernel), options(pooling) {}
  Tensor operator()(const Tensor& x) const { return max_pool1d(x, kernel_size, options); }
  void visit(auto&&) {}

  PerAxis<int64_t> kernel_size;  ///< of a window
  MaxPoolOptions options;        ///< as given
};

/// The largest element of each window of x [N, C, H, W] or [C, H, W]: max_pool2d.
struct MaxPool2d {
  explicit MaxPool2d(const PerAxis<int64_t>& kernel, const MaxPoolOptions& pooling = {})
      : kernel_size(kernel), options(pooling) {}
  Tensor operator()(const Tensor& x) const { return max_pool2d(x, kernel_size, options); }
  void visit(auto&&) {}

  PerAxis<int64_t> kernel_size;  ///< {KH, KW}, or one number for both
  MaxPoolOptions options;        ///< as given
};

/// The largest element of each window of x [N, C, D, H, W] or [C, D, H, W]: max_pool3d.
struct MaxPool3d {
  explicit MaxPool3d(const PerAxis<int64_t>& kernel, const MaxPoolOptions& pooling = {})
      : kernel_size(kernel), options(pooling) {}
  Tensor operator()(const Tensor& x) const { return max_pool3d(x, kernel_size, options); }
  void visit(auto&&) {}

  PerAxis<int64_t> kernel_size;  ///< {KD, KH, KW}, or one number for all
  MaxPoolOptions options;        ///< as given
};

/// The average of each window of x [N, C, L] or [C, L]: avg_pool1d.
struct AvgPool1d {
  explicit AvgPool1d(const PerAxis<int64_t>& kernel, const AvgPoolOptions& pooling = {})
      : kernel_size(kernel), options(pooling) {}
  Tensor operator()(const Tensor& x) const { return avg_pool1d(x, kernel_size, options); }
  void visit(auto&&) {}

  PerAxis<int64_t> kernel_size;  ///< of a window
  AvgPoolOptions options;        ///< as given
};

/// The average of each window of x [N, C, H, W] or [C, H, W]: avg_pool2d.
struct AvgPool2d {
  explicit AvgPool2d(const PerAxis<int64_t>& kernel, const AvgPoolOptions& pooling = {})
      : kernel_size(kernel), options(pooling) {}
  Tensor operator()(const Tensor& x) const { return avg_pool2d(x, kernel_size, options); }
  void visit(auto&&) {}

  PerAxis<int64_t> kernel_size;  ///< {KH, KW}, or one number for both
  AvgPoolOptions options;        ///< as given
};

/// The average of each window of x [N, C, D, H, W] or [C, D, H, W]: avg_pool3d.
struct AvgPool3d {
  explicit AvgPool3d(const PerAxis<int64_t>& kernel, const AvgPoolOptions& pooling = {})
      : kernel_size(kernel), options(pooling) {}
  Tensor operator()(const Tensor& x) const { return avg_pool3d(x, kernel_size, options); }
  void visit(auto&&) {}

  PerAxis<int64_t> kernel_size;  ///< {KD, KH, KW}, or one number for all
  AvgPoolOptions options;        ///< as given
};

/// The averages of output_size windows of x [N, C, L] or [C, L]: adaptive_avg_pool1d.
struct AdaptiveAvgPool1d {
  explicit AdaptiveAvgPool1d(const PerAxis<int64_t>& size) : output_size(size) {}
  Tensor operator()(const Tensor& x) const { return adaptive_avg_pool1d(x, output_size); }
  void visit(auto&&) {}

  PerAxis<int64_t> output_size;  ///< number of windows
};

/// The averages of output_size windows of x [N, C, H, W] or [C, H, W]: adaptive_avg_pool2d.
struct AdaptiveAvgPool2d {
  explicit AdaptiveAvgPool2d(const PerAxis<int64_t>& size) : output_size(size) {}
  Tensor operator()(const Tensor& x) const { return adaptive_avg_pool2d(x, output_size); }
  void visit(auto&&) {}

  PerAxis<int64_t> output_size;  ///< {OH, OW}, or one number for both
};

/// The averages of output_size windows of x [N, C, D, H, W] or [C, D, H, W]: adaptive_avg_pool3d.
struct AdaptiveAvgPool3d {
  explicit AdaptiveAvgPool3d(const PerAxis<int64_t>& size) : output_size(size) {}
  Tensor operator()(const Tensor& x) const { return adaptive_avg_pool3d(x, output_size); }
  void visit(auto&&) {}

  PerAxis<int64_t> output_size;  ///< {OD, OH, OW}, or one number for all
};

/// The largest elements of output_size windows of x [N, C, L] or [C, L]: adaptive_max_pool1d.
struct AdaptiveMaxPool1d {
  explicit AdaptiveMaxPool1d(const PerAxis<int64_t>& size) : output_size(size) {}
  Tensor operator()(const Tensor& x) const { return adaptive_max_pool1d(x, output_size); }
  void visit(auto&&) {}

  PerAxis<int64_t> output_size;  ///< number of windows
};

/// The largest elements of output_size windows of x [N, C, H, W] or [C, H, W]: adaptive_max_pool2d.
struct AdaptiveMaxPool2d {
  explicit AdaptiveMaxPool2d(const PerAxis<int64_t>& size) : output_size(size) {}
  Tensor operator()(const Tensor& x) const { return adaptive_max_pool2d(x, output_size); }
  void visit(auto&&) {}

  PerAxis<int64_t> output_size;  ///< {OH, OW}, or one number for both
};

/// The largest elements of output_size windows of x [N, C, D, H, W] or [C, D, H, W]: adaptive_max_pool3d.
struct AdaptiveMaxPool3d {
  explicit AdaptiveMaxPool3d(const PerAxis<int64_t>& size) : output_size(size) {}
  Tensor operator()(const Tensor& x) const { return adaptive_max_pool3d(x, output_size); }
  void visit(auto&&) {}

  PerAxis<int64_t> output_size;  ///< {OD, OH, OW}, or one number for all
};

/// Resizes x [N, C, L], [N, C, H, W] or [N, C, D, H, W]: interpolate. Upsample({.scale_factor = 2}).
struct Upsample {
  explicit Upsample(const InterpolateOptions& interpolation) : options(interpolation) {}
  Tensor operator()(const Tensor& x) const { return interpolate(x, options); }
  void visit(auto&&) {}

  InterpolateOptions options;  ///< the new size or the factor, and the mode
};

}  // namespace tapegrad::nn
