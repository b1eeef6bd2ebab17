// ImageFolder: classes and files in sorted order, sizes and transforms, and the errors of folders that are no data.
#include <tapegrad/tests/support/patterns.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train.h>
#include <unistd.h>

namespace tapegrad::data {
namespace {

using namespace tests;
namespace fs = std::filesystem;

class ImageFolders : public testing::Test {
 protected:
  void SetUp() override {
    // libpng is optional: without it there is no PNG to write.
    if (std::ranges::count(image_formats(), "PNG") == 0) GTEST_SKIP() << "built without libpng";
  }
  // An image of one colour.
  void save(const std::string& name, double value, const Shape& shape = {1, 4, 6}) const {
    const fs::path path = top_ / name;
    fs::create_directories(path.parent_path());
    save_image(path.string(), full(shape, value));
  }
  std::string error(const ImageFolderOptions& options = {}) const {
    return Pattern(folder_ / "").replaced(error_of([&] { ImageFolder(top_.string(), options); }), "");
  }
  const TemporaryFolder folder_;
  const fs::path top_ = folder_ / "data";
};

TEST_F(ImageFolders, ClassesAndFilesAreSorted) {
  save("rose/b.png", 1), save("rose/a.PNG", 2), save("aster/late/1.png", 3), save("aster/early.png", 4);
  save("aster/.hidden.png", 5), save(".thumbnails/x.png", 6), save("loose.png", 7);
  spill((top_ / "rose/notes.txt").string(), "not an image");
  fs::create_directory_symlink(top_, top_ / "aster/circle");
  const ImageFolder images(top_.string(), {.channels = 1});
  EXPECT_EQ(images.classes(), (std::vector<std::string>{"aster", "rose"}));
  ASSERT_EQ(images.size(), 4);
  std::string found;
  for (int64_t i = 0; i < images.size(); ++i) {
    const auto [image, label] = images[i];
    EXPECT_EQ(image.shape(), (Shape{1, 4, 6}));
    EXPECT_EQ(label, images.file(i).label);
    found += fmt::format("{} {} {}\n", fs::relative(images.file(i).path, top_).string(), label, amax(image).item());
  }
  EXPECT_EQ(found, "aster/early.png 0 4\naster/late/1.png 0 3\nrose/a.PNG 1 2\nrose/b.png 1 1\n");
}

TEST_F(ImageFolders, ImagesHaveOneSizeAndATransform) {
  save("a/1.png", 100, {1, 8, 8}), save("b/1.png", 200, {3, 5, 9});
  EXPECT_EQ(ImageFolder(top_.string())[0].first.shape(), (Shape{3, 8, 8}));  // three channels by default
  EXPECT_EQ(ImageFolder(top_.string(), {.channels = 0})[0].first.shape(), (Shape{1, 8, 8}));
  const ImageFolderOptions options{
      .channels = 1, .height = 4, .width = 2, .transform = [](const Tensor& image) { return image / 100; }};
  const ImageFolder images(top_.string(), options);
  const DataLoader loader(images, {.batch_size = 2, .prefetch = 1});
  const auto [batch, labels] = *loader.begin().next();
  EXPECT_EQ(batch.shape(), (Shape{2, 1, 4, 2}));
  expect_near(batch.flatten(1).to(kFloat64), std::vector<double>{1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2});
  EXPECT_EQ(labels.to_vector<int64_t>(), (std::vector<int64_t>{0, 1}));
  EXPECT_TRUE(same_bits(options.load(images.file(1).path), images[1].first));
}

TEST_F(ImageFolders, ImagesAreReadWhenTheyAreNeeded) {
  save("a/1.png", 1), save("a/2.png", 2);
  const ImageFolder images(top_.string());
  spill((top_ / "a/2.png").string(), "damaged");
  fs::remove(top_ / "a/1.png");
  EXPECT_EQ(images.size(), 2);
  EXPECT_ERROR(images[0]);
  EXPECT_ERROR(images[1]);
  EXPECT_EQ(error_of([&] { images[2]; }), "[data] expected an index from 0 to 1 (the dataset has 2 examples), got 2");
}

TEST_F(ImageFolders, FoldersThatAreNoData) {
  EXPECT_EQ(error(), "[image_folder] data: cannot be read: No such file or directory");
  spill(top_.string(), "a file");
  EXPECT_EQ(error(), "[image_folder] data: cannot be read: Not a directory");
  fs::remove(top_);
  save("loose.png", 1);
  EXPECT_EQ(error(), "[image_folder] data: expected one subfolder of images per class, got none");
  save("b/1.png", 1);
  fs::create_directory(top_ / "a");
  EXPECT_EQ(error(), "[image_folder] data/a: expected an image (.png, .jpg, .jpeg) of this class, got none");
  EXPECT_EQ(error({.height = 3}), "[image_folder] expected a height and a width, both positive or both 0, got 3 and 0");
  EXPECT_EQ(error({.height = -1, .width = -1}),
            "[image_folder] expected a height and a width, both positive or both 0, got -1 and -1");
}

TEST_F(ImageFolders, FoldersWithoutPermission) {
  // The superuser may read every folder.
  if (geteuid() == 0) GTEST_SKIP() << "run by the superuser";
  save("a/1.png", 1);
  fs::permissions(top_ / "a", fs::perms::none);
  EXPECT_EQ(error(), "[image_folder] data/a: cannot be read: Permission denied");
  fs::permissions(top_ / "a", fs::perms::owner_all);
}

}  // namespace
}  // namespace tapegrad::data
