// ImageFolder: a folder with one subfolder of images per class, as a dataset.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tapegrad::data {

struct ImageFolderOptions {
  int64_t channels = 3;  ///< as LoadImageOptions::channels: 1 grey, 3 colours, 0 what each file has
  /// The size of all images: others are resized, bilinear and with antialiasing, to exactly this size. 0 and 0: images
  /// stay as they are, and batches need images of equal sizes.
  int64_t height = 0, width = 0;
  /// What is done with each image [C, H, W] whenever it is read: normalisation, augmentation. A DataLoader with
  /// prefetch calls it on its own thread.
  std::function<Tensor(const Tensor& image)> transform = {};

  /// Reads an image of any file as the dataset reads its own: for predictions. The Errors of load_image.
  Tensor load(const std::string& path) const;
};

/// A dataset of the images in the subfolders of a folder, such as flowers/rose/1.png; the name of the subfolder is the
/// class (torchvision's ImageFolder). The classes are numbered in the sorted order of their names. Images are the PNG
/// and JPEG files in a subfolder, at any depth, in the sorted order of their paths; other files, and names that begin
/// with a dot, are ignored. An image is read whenever it is needed. Copies share the list of files.
///
///     const data::ImageFolder images("flowers", {.channels = 1, .height = 32, .width = 32});
///     const data::DataLoader loader(images, {.batch_size = 32, .shuffle = true, .prefetch = 2});
class ImageFolder {
 public:
  /// Error for what is not a folder or cannot be read, for a folder without subfolders, for a subfolder without images,
  /// and for a negative size or only one of height and width.
  explicit ImageFolder(const std::string& folder, ImageFolderOptions options = {});

  int64_t size() const { return static_cast<int64_t>(list_->files.size()); }
  /// Image number i, float32 [C, H, W] from 0 to 255 unless `transform` changes it, and the number of its class. The
  /// Errors of load_image, and one for an index outside [0, size()).
  std::pair<Tensor, int64_t> operator[](int64_t i) const;
  /// The names of the classes 0, 1 ...
  const std::vector<std::string>& classes() const { return list_->classes; }
  /// The path and the class of image number i.
  struct File {
    std::string path;  ///< of the image
    int64_t label;     ///< its class, an index of classes()
  };
  const File& file(int64_t i) const;  ///< Error for an index outside [0, size())

 private:
  struct List {
    std::vector<std::string> classes;
    std::vector<File> files;
  };
  std::shared_ptr<const List> list_;
  ImageFolderOptions options_;
};

}  // namespace tapegrad::data
