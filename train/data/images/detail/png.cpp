// PNG by libpng. It leaves its functions by longjmp at an error: functions here that call setjmp have no variables with
// destructors.
// build: alone
#include <tapegrad/train/data/images/detail/pixels.h>

#ifdef TAPEGRAD_PNG

#include <fmt/format.h>
#include <png.h>

#include <cstring>
#include <exception>

namespace tapegrad::data::detail {
namespace {

// What the functions that libpng calls need.
struct PngState {
  std::string_view file = {};
  std::size_t at = 0;
  std::string* out = nullptr;
  char why[200] = "";
};

[[noreturn]] void on_png_error(png_structp png, png_const_charp why) {
  auto& state = *static_cast<PngState*>(png_get_error_ptr(png));
  std::strncpy(state.why, why, sizeof state.why - 1);
  png_longjmp(png, 1);
}

void on_png_warning(png_structp, png_const_charp) {}

void read_png_bytes(png_structp png, png_bytep to, std::size_t count) {
  auto& state = *static_cast<PngState*>(png_get_io_ptr(png));
  if (count > state.file.size() - state.at) png_error(png, "it ends too early (truncated?)");
  std::memcpy(to, state.file.data() + state.at, count);
  state.at += count;
}

void write_png_bytes(png_structp png, png_bytep from, std::size_t count) {
  bool done = false;
  try {
    static_cast<PngState*>(png_get_io_ptr(png))->out->append(reinterpret_cast<const char*>(from), count);
    done = true;
  } catch (const std::exception&) {
  }
  if (!done) png_error(png, "not enough memory");
}

struct PngReader {
  PngState state;
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state, on_png_error, on_png_warning);
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  PngReader() = default;
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
};

// Reads what precedes the pixels, and sets what becomes of them.
bool read_png_header(PngReader& reader, Pixels& pixels) {
  png_structp png = reader.png;
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_read_fn(png, &reader.state, read_png_bytes);
  png_set_user_limits(png, 1U << 24, 1U << 24);
  png_read_info(png, reader.info);
  pixels.width = png_get_image_width(png, reader.info);
  pixels.height = png_get_image_height(png, reader.info);
  if (pixels.width * pixels.height > kMostPixels) png_error(png, "it has more than 134217728 pixels");
  // Deflate makes at most 1,032 bytes of one.
  const uint64_t raw = static_cast<uint64_t>(png_get_rowbytes(png, reader.info)) * static_cast<uint64_t>(pixels.height);
  if (raw / 1100 > reader.state.file.size()) png_error(png, "it is too short for its pixels (truncated?)");
  png_set_expand(png);
  png_set_scale_16(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, reader.info);
  pixels.channels = png_get_channels(png, reader.info);
  return true;
}

bool read_png_rows(PngReader& reader, png_bytepp rows) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_read_image(reader.png, rows);
  png_read_end(reader.png, nullptr);
  return true;
}

struct PngWriter {
  PngState state;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &state, on_png_error, on_png_warning);
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  PngWriter() = default;
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;
  ~PngWriter() { png_destroy_write_struct(&png, &info); }
};

bool write_png(PngWriter& writer, const Pixels& pixels, png_bytepp rows) {
  constexpr int kKinds[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                            PNG_COLOR_TYPE_RGB_ALPHA};
  png_structp png = writer.png;
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_write_fn(png, &writer.state, write_png_bytes, nullptr);
  png_set_user_limits(png, 1U << 24, 1U << 24);
  png_set_IHDR(png, writer.info, static_cast<png_uint_32>(pixels.width), static_cast<png_uint_32>(pixels.height), 8,
               kKinds[pixels.channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, writer.info);
  png_write_image(png, rows);
  png_write_end(png, nullptr);
  return true;
}

std::vector<png_bytep> rows_of(const Pixels& pixels) {
  std::vector<png_bytep> rows;
  for (int64_t y = 0; y < pixels.height; ++y)
    rows.push_back(const_cast<png_bytep>(pixels.samples.data()) + y * pixels.width * pixels.channels);
  return rows;
}

Refusal decode_png(std::string_view file, Pixels& pixels) {
  PngReader reader;
  if (!reader.info) return "libpng cannot start";
  reader.state.file = file;
  if (read_png_header(reader, pixels)) {
    pixels.samples.resize(static_cast<std::size_t>(pixels.width * pixels.height * pixels.channels));
    std::vector<png_bytep> rows = rows_of(pixels);
    if (read_png_rows(reader, rows.data())) return {};
  }
  return fmt::format("libpng cannot read it: {}", reader.state.why);
}

Refusal encode_png(const Pixels& pixels, int /*quality*/, std::string& file) {
  PngWriter writer;
  if (!writer.info) return "libpng cannot start";
  writer.state.out = &file;
  std::vector<png_bytep> rows = rows_of(pixels);
  if (write_png(writer, pixels, rows.data())) return {};
  return fmt::format("libpng cannot write it: {}", writer.state.why);
}

}  // namespace

const ImageCodec kPngCodec{decode_png, encode_png};

}  // namespace tapegrad::data::detail

#else

const tapegrad::data::detail::ImageCodec tapegrad::data::detail::kPngCodec{};

#endif
