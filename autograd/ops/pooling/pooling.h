// Pooling of signals, images and volumes, and their interpolation to other sizes.
//
// x is [N, C, H, W], [N, C, L] for operations that end in 1d, or [N, C, D, H, W] for those that end in 3d. Without the
// axis N, x and the result are a single one (interpolate always needs N). float32 and float64. N and C may be 0,
// spatial sizes may not. Gradients can be differentiated again. Options take one number for all spatial axes, or
// {height, width}, {depth, height, width}.
#pragma once

#include <tapegrad/autograd/spatial.h>
#include <tapegrad/autograd/tensor.h>

#include <optional>

namespace tapegrad {

// --- maxima (autograd/ops/pooling/max_pool.cpp) ---

struct MaxPoolOptions {
  PerAxis<int64_t> stride = {};  ///< distance between windows; default: the kernel size
  /// Rows and columns on each side that are never the maximum; at most half of the window.
  PerAxis<int64_t> padding = 0;
  PerAxis<int64_t> dilation = 1;  ///< distance between the elements of a window
  bool ceil_mode = false;         ///< true: the last window may extend beyond the padded axis
};
/// The maxima and where they are.
struct MaxPooled {
  Tensor values;   ///< in the type of x, with the sizes of the output
  Tensor indices;  ///< int64: positions of the values in the flattened image, row H * W or L, or D * H * W
};
/// The largest element of each window; NaN if any is NaN. The first of equal elements gets the gradient; of several
/// NaN, the last.
Tensor max_pool1d(const Tensor& x, const PerAxis<int64_t>& kernel_size, const MaxPoolOptions& options = {});
Tensor max_pool2d(const Tensor& x, const PerAxis<int64_t>& kernel_size, const MaxPoolOptions& options = {});
Tensor max_pool3d(const Tensor& x, const PerAxis<int64_t>& kernel_size, const MaxPoolOptions& options = {});
/// The same, with the positions of the maxima. The gradient flows through `values`.
MaxPooled max_pool1d_with_indices(const Tensor& x, const PerAxis<int64_t>& kernel_size,
                                  const MaxPoolOptions& options = {});
MaxPooled max_pool2d_with_indices(const Tensor& x, const PerAxis<int64_t>& kernel_size,
                                  const MaxPoolOptions& options = {});
MaxPooled max_pool3d_with_indices(const Tensor& x, const PerAxis<int64_t>& kernel_size,
                                  const MaxPoolOptions& options = {});
/// The largest elements of output_size windows of nearly equal size: window o of n covers the elements from floor(o
/// size / n) up to, but not including, ceil((o + 1) size / n). NaN and ties as in max_pool2d.
Tensor adaptive_max_pool1d(const Tensor& x, const PerAxis<int64_t>& output_size);
Tensor adaptive_max_pool2d(const Tensor& x, const PerAxis<int64_t>& output_size);
Tensor adaptive_max_pool3d(const Tensor& x, const PerAxis<int64_t>& output_size);
MaxPooled adaptive_max_pool1d_with_indices(const Tensor& x, const PerAxis<int64_t>& output_size);
MaxPooled adaptive_max_pool2d_with_indices(const Tensor& x, const PerAxis<int64_t>& output_size);
MaxPooled adaptive_max_pool3d_with_indices(const Tensor& x, const PerAxis<int64_t>& output_size);

// --- averages (autograd/ops/pooling/avg_pool.cpp) ---

struct AvgPoolOptions {
  PerAxis<int64_t> stride = {};                  ///< distance between windows; default: the kernel size
  PerAxis<int64_t> padding = 0;                  ///< zeros on each side; at most half of the window
  bool ceil_mode = false;                        ///< true: the last window may extend beyond the padded axis
  bool count_include_pad = true;                 ///< count the zeros of the padding in the average
  std::optional<int64_t> divisor_override = {};  ///< divide the sums by this number instead
};
/// The average of each window.
Tensor avg_pool1d(const Tensor& x, const PerAxis<int64_t>& kernel_size, const AvgPoolOptions& options = {});
Tensor avg_pool2d(const Tensor& x, const PerAxis<int64_t>& kernel_size, const AvgPoolOptions& options = {});
Tensor avg_pool3d(const Tensor& x, const PerAxis<int64_t>& kernel_size, const AvgPoolOptions& options = {});
/// The averages of the windows of adaptive_max_pool2d. A size of 1 is global average pooling.
Tensor adaptive_avg_pool1d(const Tensor& x, const PerAxis<int64_t>& output_size);
Tensor adaptive_avg_pool2d(const Tensor& x, const PerAxis<int64_t>& output_size);
Tensor adaptive_avg_pool3d(const Tensor& x, const PerAxis<int64_t>& output_size);

// --- interpolation (autograd/ops/pooling/interpolate.cpp) ---

/// How interpolate() computes an element whose position is between those of x.
enum class Interpolation {
  nearest,        ///< the element at floor(position)
  nearest_exact,  ///< the element whose centre is nearest
  linear,         ///< between two elements of [N, C, L]
  bilinear,       ///< between four elements of [N, C, H, W]
  trilinear,      ///< between eight elements of [N, C, D, H, W]
  bicubic,        ///< cubic convolution of 4 x 4 elements of [N, C, H, W]. Keys 1981
  area,           ///< the averages of adaptive_avg_pool
};
struct InterpolateOptions {
  PerAxis<int64_t> size = {};         ///< of the result
  PerAxis<double> scale_factor = {};  ///< instead of `size`: the result has floor(size * scale_factor) elements
  Interpolation mode = Interpolation::nearest;  ///< how an element between others is computed
  /// For linear, bilinear, trilinear and bicubic: true maps the centres of the first and last elements to each other,
  /// false their outer edges.
  bool align_corners = false;
  /// For bilinear and bicubic: where the result is smaller, the filter is as wide as the distance between its elements,
  /// as in PIL. The parameter of the cubic filter is then -0.5 instead of -0.75.
  bool antialias = false;
  /// For `scale_factor`: positions follow from the rounded sizes, as with `size`, not from the factors.
  bool recompute_scale_factor = false;
};
/// Resizes x [N, C, L], [N, C, H, W] or [N, C, D, H, W], with PyTorch's positions. Error unless exactly one of size and
/// scale_factor is given, and for options that the mode does not have.
Tensor interpolate(const Tensor& x, const InterpolateOptions& options);

}  // namespace tapegrad
