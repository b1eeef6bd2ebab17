// Images: the pixels that Pillow reads, what is written and read again, and the errors of damaged files.
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train/data/image.h>

namespace tapegrad::data {
namespace {

using namespace tests;
using Numbers = std::vector<int64_t>;

bool has(const std::string& format) { return std::ranges::count(image_formats(), format) > 0; }

class ImageFiles : public testing::Test {
 protected:
  Tensor load(const std::string& bytes, const LoadImageOptions& options = {}) const {
    spill(path_, bytes);
    return load_image(path_, options);
  }
  template <class F>
  std::string said(const std::string& path, const F& f) const {
    const std::string error = error_of(f), start = "[image] " + path + ": ";
    EXPECT_EQ(error.find('\n'), std::string::npos);
    return error.starts_with(start) ? error.substr(start.size()) : error;
  }
  std::string load_error(const std::string& bytes) const {
    return said(path_, [&] { load(bytes); });
  }
  // A picture without sharp edges: [channels, 20, 30].
  static Tensor smooth(int64_t channels) {
    const Tensor x = arange(0, 30, 1, kFloat32), y = arange(0, 20, 1, kFloat32).reshape({20, 1});
    const Tensor c = arange(0, static_cast<double>(channels), 1, kFloat32).reshape({channels, 1, 1});
    return floor(x * 4 + y * 3 + c * 17);
  }
  const Json stored_ = stored("images.json");
  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "image";
};

TEST_F(ImageFiles, HaveThePixelsThatPillowReads) {
  for (const auto& [name, file] : stored_["files"].items()) {
    if (!has(name.starts_with("JPEG") ? "JPEG" : "PNG")) continue;
    Shape shape;
    for (const auto& size : file["shape"]) shape.push_back(size.get<int64_t>());
    const std::string bytes = bytes_of_digits(file["bytes"]);
    for (const DType dtype : {kFloat32, kFloat64, kInt64}) {
      const Tensor image = load(bytes, {.dtype = dtype});
      EXPECT_EQ(image.dtype(), dtype);
      ASSERT_EQ(image.shape(), shape) << name;
      EXPECT_EQ(image.to(kInt64).to_vector<int64_t>(), file["values"].get<Numbers>()) << name;
    }
  }
}

TEST_F(ImageFiles, PngKeepsEveryPixel) {
  // libpng is optional: without it there is no PNG to read or write, which is an error that another test expects.
  if (!has("PNG")) GTEST_SKIP() << "built without libpng";
  for (int64_t channels = 1; channels <= 4; ++channels) {
    const std::string path = folder_ / "x.PNG";
    const Tensor image = smooth(channels);
    save_image(path, image);
    EXPECT_TRUE(same_bits(load_image(path), image));
    save_image(path, image.to(kInt64).transpose(1, 2));
    EXPECT_TRUE(same_bits(load_image(path, {.dtype = kInt64}), image.to(kInt64).transpose(1, 2)));
  }
  save_image(folder_ / "flat.png", tensor({{0.4, 254.6}, {-0.4, 255.4}}));
  EXPECT_EQ(load_image(folder_ / "flat.png").to_vector<float>(), (std::vector<float>{0, 255, 0, 255}));
}

TEST_F(ImageFiles, JpegKeepsSmoothPictures) {
  // libjpeg is optional, as libpng is.
  if (!has("JPEG")) GTEST_SKIP() << "built without libjpeg";
  for (const int64_t channels : {1, 3}) {
    for (const char* name : {"x.jpg", "x.jpeg"}) {
      const Tensor image = smooth(channels);
      save_image(folder_ / name, image);
      const double at_95 = largest_difference(load_image(folder_ / name), image);
      EXPECT_LE(at_95, 6);
      const auto size = std::filesystem::file_size(folder_ / name);
      save_image(folder_ / name, image, {.quality = 20});
      EXPECT_LT(std::filesystem::file_size(folder_ / name), size);
      EXPECT_GT(largest_difference(load_image(folder_ / name), image), at_95);
    }
  }
}

TEST_F(ImageFiles, Channels) {
  // libpng is optional: without it there is no PNG to read or write, which is an error that another test expects.
  if (!has("PNG")) GTEST_SKIP() << "built without libpng";
  const std::string path = folder_ / "x.png";
  const auto converted = [&](const Numbers& pixel, int64_t channels) {
    save_image(path, tensor(pixel, {static_cast<int64_t>(pixel.size()), 1, 1}));
    return load_image(path, {.dtype = kInt64, .channels = channels}).to_vector<int64_t>();
  };
  EXPECT_EQ(converted({9}, 3), (Numbers{9, 9, 9}));
  EXPECT_EQ(converted({9}, 4), (Numbers{9, 9, 9, 255}));
  EXPECT_EQ(converted({9, 8}, 1), (Numbers{9}));
  EXPECT_EQ(converted({9, 8}, 4), (Numbers{9, 9, 9, 8}));
  EXPECT_EQ(converted({100, 200, 50}, 1), (Numbers{153}));  // 29.9 + 117.4 + 5.7
  EXPECT_EQ(converted({100, 200, 50, 7}, 2), (Numbers{153, 7}));
  EXPECT_EQ(converted({1, 2, 3, 7}, 3), (Numbers{1, 2, 3}));
  EXPECT_EQ(converted({1, 2, 3}, 4), (Numbers{1, 2, 3, 255}));
  EXPECT_EQ(converted({1, 2, 3}, 0), (Numbers{1, 2, 3}));
}

TEST_F(ImageFiles, DamagedFiles) {
  EXPECT_EQ(load_error(""), "expected a PNG or JPEG file");
  EXPECT_EQ(load_error("GIF89a"), "expected a PNG or JPEG file");
  for (const auto& [name, file] : stored_["files"].items()) {
    const bool jpeg = name.starts_with("JPEG");
    if (!has(jpeg ? "JPEG" : "PNG")) continue;
    const std::string good = bytes_of_digits(file["bytes"]),
                      start = jpeg ? "libjpeg cannot read it: " : "libpng cannot read it: ";
    for (std::size_t size = 8; size + 2 < good.size(); size += 3)
      EXPECT_TRUE(load_error(good.substr(0, size)).starts_with(start)) << name << " of " << size << " bytes";
    for (std::size_t i = 0; i < good.size(); i += 2) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 0x55);
      load_error(bad);  // an Error of one line, or other pixels: JPEG has no checksums
    }
  }
  if (has("JPEG")) {
    EXPECT_EQ(load_error(bytes_of_digits(stored_["CMYK"])), "expected grey or colours, got CMYK");
  }
  if (!has("PNG")) return;
  std::string png = bytes_of_digits(stored_["files"]["grey"]["bytes"]);
  EXPECT_EQ(load_error(png.substr(0, 50)), "libpng cannot read it: it ends too early (truncated?)");
  png[20] = 1;  // a byte of the height, and so of its checksum's data
  EXPECT_EQ(load_error(png), "libpng cannot read it: IHDR: CRC error");
}

// A file of a kilobyte does not take the memory of the 120 million pixels that it says it has.
TEST_F(ImageFiles, FilesThatClaimMorePixelsThanTheyHold) {
  // libjpeg is optional.
  if (!has("JPEG")) GTEST_SKIP() << "built without libjpeg";
  const auto claiming = [](std::string bytes, int side) {
    std::size_t frame = bytes.find("\xff\xc0");
    if (frame == std::string::npos) frame = bytes.find("\xff\xc2");
    EXPECT_NE(frame, std::string::npos);
    for (const std::size_t at : {frame + 5, frame + 7}) {  // the height, the width
      bytes[at] = static_cast<char>(side >> 8);
      bytes[at + 1] = static_cast<char>(side & 255);
    }
    return bytes;
  };
  int files = 0;
  for (const auto& [name, file] : stored_["files"].items()) {
    if (!name.starts_with("JPEG")) continue;
    ++files;
    const std::string bytes = bytes_of_digits(file["bytes"]);
    EXPECT_EQ(load_error(claiming(bytes, 11000)), "libjpeg cannot read it: it is too short for its pixels (truncated?)")
        << name;
    const std::string error = load_error(claiming(bytes, 200));  // which so many bytes could hold
    EXPECT_TRUE(error.starts_with("libjpeg cannot read it: ")) << name << error;
    EXPECT_EQ(error.find("too short"), std::string::npos) << name;
  }
  EXPECT_GT(files, 0);
  const std::string path = folder_ / "white.jpg";  // hardly any bits per block
  save_image(path, full({2000, 3000}, 255));
  EXPECT_EQ(load_image(path).shape(), (Shape{1, 2000, 3000}));
}

TEST_F(ImageFiles, WhatCannotBeReadOrWritten) {
  const std::string png = folder_ / "x.png", jpg = folder_ / "x.jpg";
  const auto save_error = [&](const std::string& path, const Tensor& image, const SaveImageOptions& options = {}) {
    return said(path, [&] { save_image(path, image, options); });
  };
  EXPECT_EQ(save_error(folder_ / "png", ones({1, 1, 1})), "expected a name that ends with .png, .jpg or .jpeg");
  EXPECT_EQ(save_error(folder_ / "x.gif", ones({1, 1, 1})), "expected a name that ends with .png, .jpg or .jpeg");
  EXPECT_EQ(save_error(png, ones({3})), "expected an image [C, H, W] or [H, W], got [3]");
  EXPECT_EQ(save_error(png, ones({5, 2, 2})), "expected 1 to 4 channels and sides of 1 to 65535, got [5, 2, 2]");
  EXPECT_EQ(save_error(png, ones({1, 0, 2})), "expected 1 to 4 channels and sides of 1 to 65535, got [1, 0, 2]");
  EXPECT_EQ(save_error(jpg, ones({4, 2, 2})), "expected 1 or 3 channels for JPEG, got [4, 2, 2]");
  EXPECT_EQ(save_error(jpg, ones({2, 2}), {.quality = 0}), "expected a quality from 1 to 100, got 0");
  EXPECT_EQ(save_error(png, tensor({{{255.5}}})), "expected numbers from 0 to 255, got 255.5 in channel 0");
  EXPECT_EQ(save_error(png, tensor({{{1.0}}, {{-1.0}}})), "expected numbers from 0 to 255, got -1 in channel 1");
  EXPECT_EQ(save_error(png, tensor({{{std::nan("")}}})), "expected numbers from 0 to 255, got nan in channel 0");
  EXPECT_FALSE(std::filesystem::exists(png));
  EXPECT_EQ(said(png, [&] { load_image(png, {.dtype = kBool}); }),
            "expected float32, float64, uint8, int32 or int64, got bool");
  EXPECT_EQ(said(png, [&] { load_image(png, {.channels = 5}); }), "expected 0 to 4 channels, got 5");
  EXPECT_EQ(error_of([&] { load_image(png); }), "[file] cannot read " + png + ": No such file or directory");
  if (!has("PNG")) {
    EXPECT_EQ(save_error(png, ones({1, 1, 1})), "tapegrad was built without libpng (Debian package libpng-dev)");
    EXPECT_EQ(load_error("\x89PNG\r\n\x1a\n"), "tapegrad was built without libpng (Debian package libpng-dev)");
  }
  if (!has("JPEG")) {
    EXPECT_EQ(save_error(jpg, ones({1, 1, 1})), "tapegrad was built without libjpeg (Debian package libjpeg-dev)");
    EXPECT_EQ(load_error("\xff\xd8\xff"), "tapegrad was built without libjpeg (Debian package libjpeg-dev)");
  }
}

}  // namespace
}  // namespace tapegrad::data
