// Options of grid_sample.
#pragma once

#include <tapegrad/autograd/compiler.h>

namespace tapegrad {

/// How a value between the elements of x is computed.
enum class GridMode {
  bilinear,  ///< between the 4 elements around a position, or the 8 of a volume
  nearest,   ///< the nearest element; of two, the one with the even index
  bicubic,   ///< cubic convolution of 4 x 4 elements of an image, with the parameter -0.75. Keys 1981
};
/// What is read outside of x.
enum class GridPadding {
  zeros,       ///< elements outside of the image are 0
  border,      ///< they are the elements at its edge
  reflection,  ///< the image is reflected at its edges
};
struct GridSampleOptions {
  GridMode mode = GridMode::bilinear;        ///< between the elements
  GridPadding padding = GridPadding::zeros;  ///< outside of x
  /// True: -1 and 1 are the centres of the first and last elements of an axis, false: their outer edges.
  bool align_corners = false;
};

}  // namespace tapegrad
