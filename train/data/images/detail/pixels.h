// Decoded images, and the formats that decode and encode them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::data::detail {

// Rows from the top; each pixel has its channels next to each other.
struct Pixels {
  int64_t width = 0, height = 0, channels = 0;
  std::vector<unsigned char> samples = {};
};

inline constexpr int64_t kMostPixels = int64_t{1} << 27;

// Why decoding or encoding failed; empty: it succeeded.
using Refusal = std::string;

// The functions of an image library; none if this build does not have the library.
struct ImageCodec {
  Refusal (*decode)(std::string_view file, Pixels& pixels) = nullptr;
  Refusal (*encode)(const Pixels& pixels, int quality, std::string& file) = nullptr;  // quality: 1 to 100
};

extern const ImageCodec kPngCodec, kJpegCodec;

// Whether a file is an image by its name, in any of the formats, and the endings of such names: ".png", ".jpg" ...
bool is_named_as_image(const std::string& path);
std::vector<std::string_view> endings_of_images();

}  // namespace tapegrad::data::detail
