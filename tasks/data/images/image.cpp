#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/tasks/data/image.h>
#include <tapegrad/tasks/data/images/detail/pixels.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace tapegrad::data {
namespace {

using detail::Pixels;

constexpr std::string_view kPngStart = "\x89PNG\r\n\x1a\n", kJpegStart = "\xff\xd8\xff";
constexpr int64_t kMostSide = 1 << 16;

[[noreturn]] void refuse_image(const std::string& path, std::string_view why) {
  fail("image", fmt::format("{}: {}", path, why));
}

// The sample of a pixel in the channel of an image with another number of channels.
double sample_of(const unsigned char* pixel, int64_t from, int64_t to, int64_t channel) {
  const bool opacity = to % 2 == 0 && channel == to - 1;
  if (opacity) return from % 2 == 0 ? pixel[from - 1] : 255;
  if (from <= 2) return pixel[0];
  if (to >= 3) return pixel[channel];
  return (299 * pixel[0] + 587 * pixel[1] + 114 * pixel[2] + 500) / 1000;  // whole numbers
}

Tensor tensor_of(const Pixels& pixels, const LoadImageOptions& options) {
  const int64_t channels = options.channels == 0 ? pixels.channels : options.channels;
  const int64_t area = pixels.width * pixels.height;
  const Tensor out = Tensor::empty({channels, pixels.height, pixels.width}, options.dtype);
  with_stored_type(options.dtype, [&](auto t) {
    using T = decltype(t);
    T* to = out.mutable_data<T>();
    for (int64_t c = 0; c < channels; ++c) {
      const unsigned char* pixel = pixels.samples.data();
      for (int64_t i = 0; i < area; ++i, pixel += pixels.channels)
        *to++ = static_cast<T>(sample_of(pixel, pixels.channels, channels, c));
    }
  });
  return out;
}

Pixels pixels_of(const std::string& path, const Tensor& given) {
  if (given.dim() != 2 && given.dim() != 3)
    refuse_image(path, fmt::format("expected an image [C, H, W] or [H, W], got {}", str(given.shape())));
  const Tensor image = (given.dim() == 2 ? given.unsqueeze(0) : given).detach().to(kFloat64).contiguous();
  Pixels pixels{.width = image.size(2), .height = image.size(1), .channels = image.size(0)};
  const int64_t area = pixels.width * pixels.height;
  const bool fits = pixels.width > 0 && pixels.height > 0 && pixels.width < kMostSide && pixels.height < kMostSide;
  if (pixels.channels < 1 || pixels.channels > 4 || !fits || area > detail::kMostPixels)
    refuse_image(
        path, fmt::format("expected 1 to 4 channels and sides of 1 to {}, got {}", kMostSide - 1, str(given.shape())));
  pixels.samples.resize(static_cast<std::size_t>(area * pixels.channels));
  const double* from = image.data<double>();
  for (int64_t c = 0; c < pixels.channels; ++c) {
    for (int64_t i = 0; i < area; ++i, ++from) {
      const double rounded = std::floor(*from + 0.5);
      if (!(rounded >= 0 && rounded <= 255))
        refuse_image(path, fmt::format("expected numbers from 0 to 255, got {} in channel {}", *from, c));
      pixels.samples[static_cast<std::size_t>(i * pixels.channels + c)] = static_cast<unsigned char>(rounded);
    }
  }
  return pixels;
}

std::string ending_of(const std::string& path) {
  const std::size_t dot = path.find_last_of("./");
  std::string ending = dot == std::string::npos || path[dot] == '/' ? "" : path.substr(dot);
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending;
}

}  // namespace

Tensor load_image(const std::string& path, const LoadImageOptions& options) {
  if (!is_floating(options.dtype) && !is_integer(options.dtype)) {
    refuse_image(path, fmt::format("expected float32, float64, uint8, int32 or int64, got {}", name(options.dtype)));
  }
  if (options.channels < 0 || options.channels > 4)
    refuse_image(path, fmt::format("expected 0 to 4 channels, got {}", options.channels));
  constexpr uint64_t kMostBytes = uint64_t{1} << 30;
  const std::string file = read_file(path, kMostBytes);
  Pixels pixels;
  std::string why = "expected a PNG or JPEG file";
  if (file.starts_with(kPngStart)) why = detail::decode_png(file, pixels);
  if (file.starts_with(kJpegStart)) why = detail::decode_jpeg(file, pixels);
  if (!why.empty()) refuse_image(path, why);
  return tensor_of(pixels, options);
}

void save_image(const std::string& path, const Tensor& image, const SaveImageOptions& options) {
  const std::string ending = ending_of(path);
  const bool png = ending == ".png", jpeg = ending == ".jpg" || ending == ".jpeg";
  if (!png && !jpeg) refuse_image(path, "expected a name that ends with .png, .jpg or .jpeg");
  const Pixels pixels = pixels_of(path, image);
  if (jpeg && pixels.channels % 2 == 0)
    refuse_image(path, fmt::format("expected 1 or 3 channels for JPEG, got {}", str(image.shape())));
  if (options.quality < 1 || options.quality > 100)
    refuse_image(path, fmt::format("expected a quality from 1 to 100, got {}", options.quality));
  std::string file;
  const std::string why =
      png ? detail::encode_png(pixels, file) : detail::encode_jpeg(pixels, static_cast<int>(options.quality), file);
  if (!why.empty()) refuse_image(path, why);
  replace_file(path, file);
}

std::vector<std::string> image_formats() {
  std::vector<std::string> formats;
  if (detail::has_png()) formats.emplace_back("PNG");
  if (detail::has_jpeg()) formats.emplace_back("JPEG");
  return formats;
}

}  // namespace tapegrad::data
