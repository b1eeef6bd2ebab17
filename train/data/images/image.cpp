#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/io/internal/foreign.h>
#include <tapegrad/train/data/image.h>
#include <tapegrad/train/data/images/detail/pixels.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <span>

namespace tapegrad::data {

namespace {

using detail::Pixels;

// A format, whose codec is a file in detail.
struct ImageFormat {
  std::string_view name;                      // as image_formats() has it
  std::string_view library;                   // "libpng"; its Debian package is libpng-dev
  std::string_view start;                     // the first bytes of its files
  std::span<const std::string_view> endings;  // of their names, in lower case
  bool opacity;                               // whether images of 2 and 4 channels can be written
  const detail::ImageCodec& codec;
};
constexpr std::string_view kPngEndings[] = {".png"}, kJpegEndings[] = {".jpg", ".jpeg"};
constexpr ImageFormat kFormats[] = {
    {"PNG", "libpng", "\x89PNG\r\n\x1a\n", kPngEndings, true, detail::kPngCodec},
    {"JPEG", "libjpeg", "\xff\xd8\xff", kJpegEndings, false, detail::kJpegCodec},
};

constexpr int64_t kMostSide = 1 << 16;

std::string ending_of(const std::string& path) {
  const std::size_t dot = path.find_last_of("./");
  std::string ending = dot == std::string::npos || path[dot] == '/' ? "" : path.substr(dot);
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending;
}

// "PNG or JPEG".
std::string either(const std::vector<std::string_view>& names) {
  return fmt::format("{} or {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

// The format of these first bytes, or of this ending; Error if there is none.
const ImageFormat& format_of_file(const std::string& path, std::string_view file) {
  std::vector<std::string_view> names;
  for (const ImageFormat& format : kFormats) {
    if (file.starts_with(format.start)) return format;
    names.push_back(format.name);
  }
  const std::string kind = foreign_kind(file.substr(0, 512));
  fail("image", "{}: expected a {} file{}{}", path, either(names), kind.empty() ? "" : ", got ", kind);
}

const ImageFormat* find_format(const std::string& path) {
  const std::string ending = ending_of(path);
  for (const ImageFormat& format : kFormats)
    if (std::ranges::find(format.endings, ending) != format.endings.end()) return &format;
  return nullptr;
}

const ImageFormat& format_named(const std::string& path) {
  if (const ImageFormat* const format = find_format(path)) return *format;
  fail("image", "{}: expected a name that ends with {}", path, either(detail::endings_of_images()));
}

const detail::ImageCodec& codec_of(const std::string& path, const ImageFormat& format) {
  if (!format.codec.decode)
    fail("image", "{0}: tapegrad was built without {1} (Debian package {1}-dev)", path, format.library);
  return format.codec;
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
    fail("image", "{}: expected an image [C, H, W] or [H, W], got {}", path, given.shape());
  const Tensor image = (given.dim() == 2 ? given.unsqueeze(0) : given).detach().to(kFloat64).contiguous();
  Pixels pixels{.width = image.size(2), .height = image.size(1), .channels = image.size(0)};
  const int64_t area = pixels.width * pixels.height;
  const bool fits = pixels.width > 0 && pixels.height > 0 && pixels.width < kMostSide && pixels.height < kMostSide;
  if (pixels.channels < 1 || pixels.channels > 4 || !fits || area > detail::kMostPixels)
    fail("image", "{}: expected 1 to 4 channels and sides of 1 to {}, got {}", path, kMostSide - 1, given.shape());
  pixels.samples.resize(static_cast<std::size_t>(area * pixels.channels));
  const double* from = image.data<double>();
  for (int64_t c = 0; c < pixels.channels; ++c) {
    for (int64_t i = 0; i < area; ++i, ++from) {
      const double rounded = std::floor(*from + 0.5);
      if (!(rounded >= 0 && rounded <= 255))
        fail("image", "{}: expected numbers from 0 to 255, got {} in channel {}", path, *from, c);
      pixels.samples[static_cast<std::size_t>(i * pixels.channels + c)] = static_cast<unsigned char>(rounded);
    }
  }
  return pixels;
}

}  // namespace

bool detail::is_named_as_image(const std::string& path) { return find_format(path) != nullptr; }

std::vector<std::string_view> detail::endings_of_images() {
  std::vector<std::string_view> endings;
  for (const ImageFormat& format : kFormats)
    endings.insert(endings.end(), format.endings.begin(), format.endings.end());
  return endings;
}

Tensor load_image(const std::string& path, const LoadImageOptions& options) {
  if (!is_floating(options.dtype) && !is_integer(options.dtype)) {
    fail("image", "{}: expected float32, float64, uint8, int32 or int64, got {}", path, options.dtype);
  }
  if (options.channels < 0 || options.channels > 4)
    fail("image", "{}: expected 0 to 4 channels, got {}", path, options.channels);
  constexpr uint64_t kMostBytes = uint64_t{1} << 30;
  const std::string file = read_file(path, kMostBytes);
  Pixels pixels;
  const std::string why = codec_of(path, format_of_file(path, file)).decode(file, pixels);
  if (!why.empty()) fail("image", "{}: {}", path, why);
  return tensor_of(pixels, options);
}

void save_image(const std::string& path, const Tensor& image, const SaveImageOptions& options) {
  const ImageFormat& format = format_named(path);
  const Pixels pixels = pixels_of(path, image);
  if (!format.opacity && pixels.channels % 2 == 0)
    fail("image", "{}: expected 1 or 3 channels for {}, got {}", path, format.name, image.shape());
  if (options.quality < 1 || options.quality > 100)
    fail("image", "{}: expected a quality from 1 to 100, got {}", path, options.quality);
  std::string file;
  const std::string why = codec_of(path, format).encode(pixels, static_cast<int>(options.quality), file);
  if (!why.empty()) fail("image", "{}: {}", path, why);
  replace_file(path, file);
}

std::vector<std::string> image_formats() {
  std::vector<std::string> formats;
  for (const ImageFormat& format : kFormats)
    if (format.codec.decode) formats.emplace_back(format.name);
  return formats;
}

}  // namespace tapegrad::data
