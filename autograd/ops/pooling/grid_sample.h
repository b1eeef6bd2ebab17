// Elements of images at positions that are given by a grid, and grids of affine maps.
#pragma once

#include <tapegrad/autograd/grid_options.h>
#include <tapegrad/autograd/tensor.h>

namespace tapegrad {

/// x [N, C, H, W] at the positions grid [N, OH, OW, 2], (x, y) from -1 to 1 -> [N, C, OH, OW]; or x [N, C, D, H, W] at
/// grid [N, OD, OH, OW, 3], (x, y, z) -> [N, C, OD, OH, OW]. float32 or float64. The gradient with respect to grid
/// ignores jumps: it is 0 for nearest, and outside of the image for border. A position of NaN, or an infinite one with
/// reflection, gives NaN, and adds nothing to the gradient of x. Gradients can be differentiated to any order. Error
/// for other shapes, for axes without elements, and for bicubic volumes. Jaderberg et al. 2015.
Tensor grid_sample(const Tensor& x, const Tensor& grid, const GridSampleOptions& options = {});

/// The grid for grid_sample of the affine maps theta [N, 2, 3] and a result of size {N, C, H, W}: [N, H, W, 2]; or of
/// [N, 3, 4] and {N, C, D, H, W}: [N, D, H, W, 3]. float32 or float64. Error for other shapes, and sizes below 1.
Tensor affine_grid(const Tensor& theta, const Shape& size, bool align_corners = false);

}  // namespace tapegrad
