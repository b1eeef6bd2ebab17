// JPEG by libjpeg-turbo. It leaves its functions by longjmp at an error: functions here that call setjmp have no
// variables with destructors.
// build: alone
#include <tapegrad/train/data/images/detail/pixels.h>

#ifdef TAPEGRAD_JPEG

#include <fmt/format.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
// After <cstdio>, whose types they use:
#include <jerror.h>
#include <jpeglib.h>

namespace tapegrad::data::detail {
namespace {

struct JpegErrors {
  jpeg_error_mgr manager;  // the first member: libjpeg knows its address alone
  std::jmp_buf back;
  char why[JMSG_LENGTH_MAX] = "";
};

[[noreturn]] void on_jpeg_error(j_common_ptr jpeg) {
  auto& errors = *reinterpret_cast<JpegErrors*>(jpeg->err);
  jpeg->err->format_message(jpeg, errors.why);
  std::longjmp(errors.back, 1);
}

// Missing or wrong values are warnings to libjpeg, which makes grey of them; here they are errors.
void on_jpeg_message(j_common_ptr jpeg, int level) {
  const int code = jpeg->err->msg_code;
  if (level < 0 &&
      (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE || code == JWRN_MUST_RESYNC))
    on_jpeg_error(jpeg);
}

// A struct of libjpeg, and its errors.
template <class Struct, void (*destroy)(Struct*)>
struct JpegHandle {
  Struct jpeg{};
  JpegErrors errors{};
  JpegHandle() {
    jpeg.err = jpeg_std_error(&errors.manager);
    errors.manager.error_exit = on_jpeg_error;
    errors.manager.emit_message = on_jpeg_message;
  }
  JpegHandle(const JpegHandle&) = delete;
  JpegHandle& operator=(const JpegHandle&) = delete;
  ~JpegHandle() { destroy(&jpeg); }
};

using JpegReader = JpegHandle<jpeg_decompress_struct, jpeg_destroy_decompress>;

struct JpegWriter : JpegHandle<jpeg_compress_struct, jpeg_destroy_compress> {
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // the type of jpeg_mem_dest
  ~JpegWriter() { std::free(bytes); }
};

bool read_jpeg_header(JpegReader& reader, std::string_view file, Pixels& pixels) {
  jpeg_decompress_struct& jpeg = reader.jpeg;
  if (setjmp(reader.errors.back) != 0) return false;
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&jpeg, TRUE);
  pixels.width = jpeg.image_width;
  pixels.height = jpeg.image_height;
  pixels.channels = jpeg.num_components == 1 ? 1 : 3;
  if (jpeg.num_components == 4) return true;
  jpeg.out_color_space = pixels.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  return true;
}

// Whether the file can hold as many pixels as it says. A Huffman code is a bit or more for each block of 8 x 8
// elements, and a component has an element for every 16 pixels or fewer. (Arithmetic coding has no such bound.)
bool may_hold_pixels(const JpegReader& reader, std::string_view file, const Pixels& pixels) {
  const auto blocks = static_cast<uint64_t>(pixels.width * pixels.height) / (64 * 16);
  return reader.jpeg.arith_code || blocks / 8 <= file.size();
}

bool read_jpeg_rows(JpegReader& reader, Pixels& pixels) {
  jpeg_decompress_struct& jpeg = reader.jpeg;
  if (setjmp(reader.errors.back) != 0) return false;
  jpeg_start_decompress(&jpeg);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = pixels.samples.data() + jpeg.output_scanline * pixels.width * pixels.channels;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

bool write_jpeg(JpegWriter& writer, const Pixels& pixels, int quality) {
  jpeg_compress_struct& jpeg = writer.jpeg;
  if (setjmp(writer.errors.back) != 0) return false;
  jpeg_create_compress(&jpeg);
  jpeg_mem_dest(&jpeg, &writer.bytes, &writer.size);
  jpeg.image_width = static_cast<JDIMENSION>(pixels.width);
  jpeg.image_height = static_cast<JDIMENSION>(pixels.height);
  jpeg.input_components = static_cast<int>(pixels.channels);
  jpeg.in_color_space = pixels.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, quality, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(pixels.samples.data()) + jpeg.next_scanline * pixels.width * pixels.channels;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  return true;
}

Refusal decode_jpeg(std::string_view file, Pixels& pixels) {
  JpegReader reader;
  if (read_jpeg_header(reader, file, pixels)) {
    if (reader.jpeg.num_components == 4) return "expected grey or colours, got CMYK";
    if (pixels.width * pixels.height > kMostPixels) return fmt::format("it has more than {} pixels", kMostPixels);
    if (!may_hold_pixels(reader, file, pixels)) {
      return "libjpeg cannot read it: it is too short for its pixels (truncated?)";
    }
    pixels.samples.resize(static_cast<std::size_t>(pixels.width * pixels.height * pixels.channels));
    if (read_jpeg_rows(reader, pixels)) return {};
  }
  return fmt::format("libjpeg cannot read it: {}", reader.errors.why);
}

Refusal encode_jpeg(const Pixels& pixels, int quality, std::string& file) {
  JpegWriter writer;
  if (!write_jpeg(writer, pixels, quality)) return fmt::format("libjpeg cannot write it: {}", writer.errors.why);
  file.assign(reinterpret_cast<const char*>(writer.bytes), writer.size);
  return {};
}

}  // namespace

const ImageCodec kJpegCodec{decode_jpeg, encode_jpeg};

}  // namespace tapegrad::data::detail

#else

const tapegrad::data::detail::ImageCodec tapegrad::data::detail::kJpegCodec{};

#endif
