// Pooling and interpolation as modules; none has parameters.
#pragma once

#include <tapegrad/autograd/pooling.h>
#include <tapegrad/nn/module.h>

namespace tapegrad::nn {

namespace detail {

// A module that pools windows by `pool`, an operation.
template <class Options, Tensor (*pool)(const Tensor&, const PerAxis<int64_t>&, const Options&)>
struct WindowPool {
  explicit WindowPool(const PerAxis<int64_t>& kernel, const Options& pooling = {})
      : kernel_size(kernel), options(pooling) {}
  Tensor operator()(const Tensor& x) const { return pool(x, kernel_size, options); }
  void visit(auto&&) {}

  PerAxis<int64_t> kernel_size;  ///< {KD, KH, KW}, {KH, KW}, or one number for all axes
  Options options;               ///< as given
};

// A module that pools as many windows as the result has elements.
template <Tensor (*pool)(const Tensor&, const PerAxis<int64_t>&)>
struct AdaptivePool {
  explicit AdaptivePool(const PerAxis<int64_t>& size) : output_size(size) {}
  Tensor operator()(const Tensor& x) const { return pool(x, output_size); }
  void visit(auto&&) {}

  PerAxis<int64_t> output_size;  ///< {OD, OH, OW}, {OH, OW}, or one number for all axes
};

}  // namespace detail

/// The largest element of each window of x [N, C, L] or [C, L]: max_pool1d.
struct MaxPool1d : detail::WindowPool<MaxPoolOptions, max_pool1d> {
  using WindowPool::WindowPool;
};

/// The largest element of each window of x [N, C, H, W] or [C, H, W]: max_pool2d.
struct MaxPool2d : detail::WindowPool<MaxPoolOptions, max_pool2d> {
  using WindowPool::WindowPool;
};

/// The largest element of each window of x [N, C, D, H, W] or [C, D, H, W]: max_pool3d.
struct MaxPool3d : detail::WindowPool<MaxPoolOptions, max_pool3d> {
  using WindowPool::WindowPool;
};

/// The average of each window of x [N, C, L] or [C, L]: avg_pool1d.
struct AvgPool1d : detail::WindowPool<AvgPoolOptions, avg_pool1d> {
  using WindowPool::WindowPool;
};

/// The average of each window of x [N, C, H, W] or [C, H, W]: avg_pool2d.
struct AvgPool2d : detail::WindowPool<AvgPoolOptions, avg_pool2d> {
  using WindowPool::WindowPool;
};

/// The average of each window of x [N, C, D, H, W] or [C, D, H, W]: avg_pool3d.
struct AvgPool3d : detail::WindowPool<AvgPoolOptions, avg_pool3d> {
  using WindowPool::WindowPool;
};

/// The averages of output_size windows of x [N, C, L] or [C, L]: adaptive_avg_pool1d.
struct AdaptiveAvgPool1d : detail::AdaptivePool<adaptive_avg_pool1d> {
  using AdaptivePool::AdaptivePool;
};

/// The averages of output_size windows of x [N, C, H, W] or [C, H, W]: adaptive_avg_pool2d.
struct AdaptiveAvgPool2d : detail::AdaptivePool<adaptive_avg_pool2d> {
  using AdaptivePool::AdaptivePool;
};

/// The averages of output_size windows of x [N, C, D, H, W] or [C, D, H, W]: adaptive_avg_pool3d.
struct AdaptiveAvgPool3d : detail::AdaptivePool<adaptive_avg_pool3d> {
  using AdaptivePool::AdaptivePool;
};

/// The largest elements of output_size windows of x [N, C, L] or [C, L]: adaptive_max_pool1d.
struct AdaptiveMaxPool1d : detail::AdaptivePool<adaptive_max_pool1d> {
  using AdaptivePool::AdaptivePool;
};

/// The largest elements of output_size windows of x [N, C, H, W] or [C, H, W]: adaptive_max_pool2d.
struct AdaptiveMaxPool2d : detail::AdaptivePool<adaptive_max_pool2d> {
  using AdaptivePool::AdaptivePool;
};

/// The largest elements of output_size windows of x [N, C, D, H, W] or [C, D, H, W]: adaptive_max_pool3d.
struct AdaptiveMaxPool3d : detail::AdaptivePool<adaptive_max_pool3d> {
  using AdaptivePool::AdaptivePool;
};

/// Resizes x [N, C, L], [N, C, H, W] or [N, C, D, H, W]: interpolate. Upsample({.scale_factor = 2}).
struct Upsample {
  explicit Upsample(const InterpolateOptions& interpolation) : options(interpolation) {}
  Tensor operator()(const Tensor& x) const { return interpolate(x, options); }
  void visit(auto&&) {}

  InterpolateOptions options;  ///< the new size or the factor, and the mode
};

}  // namespace tapegrad::nn
