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

// What decoding and encoding return: an error, or nothing.
using Refusal = std::string;

bool has_png();
bool has_jpeg();
Refusal decode_png(std::string_view file, Pixels& pixels);
Refusal encode_png(const Pixels& pixels, std::string& file);
Refusal decode_jpeg(std::string_view file, Pixels& pixels);
Refusal encode_jpeg(const Pixels& pixels, int quality, std::string& file);

}  // namespace tapegrad::data::detail
