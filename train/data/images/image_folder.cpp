#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/pooling.h>
#include <tapegrad/train/data/dataset.h>
#include <tapegrad/train/data/image.h>
#include <tapegrad/train/data/image_folder.h>
#include <tapegrad/train/data/images/detail/pixels.h>

#include <algorithm>
#include <filesystem>

namespace tapegrad::data {
namespace {

namespace fs = std::filesystem;

// The entries of a folder whose names do not begin with a dot, sorted by their paths.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (!at->path().filename().string().starts_with('.')) entries.push_back(at->path());
  if (error) fail("image_folder", "{}: cannot be read: {}", folder.string(), error.message());
  std::ranges::sort(entries);
  return entries;
}

// Adds the images in a folder and in its subfolders, but for links to folders, which may lead in a circle.
void add_images(const fs::path& folder, std::vector<std::string>& paths) {
  for (const fs::path& entry : entries_of(folder)) {
    std::error_code none;  // what cannot be looked at is no image
    if (fs::is_regular_file(entry, none)) {
      if (detail::is_named_as_image(entry.string())) paths.push_back(entry.string());
    } else if (fs::is_directory(fs::symlink_status(entry, none))) {
      add_images(entry, paths);
    }
  }
}

}  // namespace

Tensor ImageFolderOptions::load(const std::string& path) const {
  Tensor image = load_image(path, {.channels = channels});
  if (height > 0 && (image.size(1) != height || image.size(2) != width))
    image =
        interpolate(image.unsqueeze(0), {.size = {height, width}, .mode = Interpolation::bilinear, .antialias = true})
            .squeeze(0);
  return transform ? transform(image) : image;
}

ImageFolder::ImageFolder(const std::string& folder, ImageFolderOptions options) : options_(std::move(options)) {
  if (options_.height < 0 || options_.width < 0 || (options_.height == 0) != (options_.width == 0))
    fail("image_folder", "expected a height and a width, both positive or both 0, got {} and {}", options_.height,
         options_.width);
  List list;
  for (const fs::path& entry : entries_of(folder)) {
    std::error_code none;  // what cannot be looked at is no subfolder
    if (!fs::is_directory(entry, none)) continue;
    std::vector<std::string> paths;
    add_images(entry, paths);
    if (paths.empty())
      fail("image_folder", "{}: expected an image ({}) of this class, got none", entry.string(),
           fmt::join(detail::endings_of_images(), ", "));
    for (std::string& path : paths) list.files.push_back({std::move(path), static_cast<int64_t>(list.classes.size())});
    list.classes.push_back(entry.filename().string());
  }
  if (list.classes.empty()) fail("image_folder", "{}: expected one subfolder of images per class, got none", folder);
  list_ = std::make_shared<const List>(std::move(list));
}

const ImageFolder::File& ImageFolder::file(int64_t i) const {
  detail::check_indices({&i, 1}, size());
  return list_->files[static_cast<std::size_t>(i)];
}

std::pair<Tensor, int64_t> ImageFolder::operator[](int64_t i) const {
  return {options_.load(file(i).path), file(i).label};
}

}  // namespace tapegrad::data
