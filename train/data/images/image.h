// Images in PNG and JPEG files, as tensors.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tapegrad::data {

struct LoadImageOptions {
  DType dtype = kFloat32;  ///< or kFloat64, kUInt8, kInt32, kInt64
  /// 1: grey; 3: red, green and blue; 4: these and opacity; 2: grey and opacity; 0: what the file has. Colours become
  /// grey by (299 red + 587 green + 114 blue) / 1000, rounded; an opacity that the file does not have is 255.
  int64_t channels = 0;
};

/// The pixels of a PNG or JPEG file, which its first bytes identify: [C, H, W], whole numbers from 0 to 255. Palettes
/// become colours, samples of 1 to 4 bits are scaled to 8, those of 16 bits are rounded to 8. Corrections of gamma or
/// colour, and the orientation that a camera stored, are not applied.
///
/// Error "[image] PATH: ..." for other files, damaged ones, more than 2^27 pixels or than the size of the file allows,
/// JPEG in CMYK, and a format that this build of tapegrad does not have (image_formats).
Tensor load_image(const std::string& path, const LoadImageOptions& options = {});

struct SaveImageOptions {
  int64_t quality = 95;  ///< of JPEG, 1 to 100
};

/// Writes a tensor [C, H, W] or [H, W] of numbers from 0 to 255, which are rounded, as PATH.png (1 to 4 channels), or
/// as PATH.jpg or PATH.jpeg (1 or 3). The file is replaced whole or not at all (AtomicFile). Error for another name,
/// shape or number.
void save_image(const std::string& path, const Tensor& image, const SaveImageOptions& options = {});

/// The formats of this build, "PNG" and "JPEG": configuring looks for libpng and libjpeg.
std::vector<std::string> image_formats();

}  // namespace tapegrad::data
