// Small grey images, such as digits, side by side.
#pragma once

#include <tapegrad/autograd/tensor.h>
#include <tapegrad/train/drawing/svg.h>

#include <string>
#include <vector>

namespace tapegrad::drawing {

/// Images of one size in rows of `columns`.
struct Images {
  std::string title = {};  ///< above the images
  Tensor images = {};      ///< floating [N, H, W] or [N, 1, H, W], from 0 (blank) to 1 (full colour); not finite: grey
  int columns = 10;        ///< images per row
  double pixel = 4;        ///< size of a pixel of an image, in pixels
  double gap = 6;          ///< between images
  std::vector<std::string> captions = {};  ///< below the images, one per image; empty: none
  std::vector<bool> marked = {};           ///< images with a coloured frame; empty: none
  bool is_signed = false;                  ///< values from -1 to 1: blue below zero, red above
};
/// Error for another shape, for fewer than one column, and if `captions` or `marked` is not empty and does not have one
/// entry per image.
Drawing draw(const Images& images);

}  // namespace tapegrad::drawing
