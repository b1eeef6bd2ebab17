// Where a file is written.
#pragma once

#include <tapegrad/autograd/compiler.h>

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

namespace tapegrad {

/// Where a file is written: a path that somebody named, or a name that the program chose in a folder. A symbolic link
/// is followed by `replace_file("page.html", text)`, and rejected by `replace_file({"out", "page.html"}, text)`.
///
/// A folder may come from somebody else, and archives keep links: no part of a name in a folder is followed, so that
/// nothing outside of the folder is written. The folder itself was named, so links to it are followed.
class Destination {
 public:
  /// A path that somebody named.
  template <class Path>
  requires std::convertible_to<const Path&, std::string> Destination(const Path& path)  // NOLINT: a path is one
      : folder_(path) {}
  /// `name` in `folder`. The name may have folders of its own: "adapter/adapter_config.json".
  Destination(std::string folder, std::string_view name) : folder_(std::move(folder)), name_(name) {}
  /// `name` in this destination, which is a folder.
  Destination operator/(std::string_view name) const {
    return {folder_, name_.empty() ? std::string(name) : name_ + "/" + std::string(name)};
  }

  /// Whether symbolic links are followed.
  bool is_followed() const { return name_.empty(); }
  /// The folder of a name; otherwise the path.
  const std::string& folder() const { return folder_; }
  /// Empty where is_followed().
  const std::string& name() const { return name_; }
  /// The folder and the name, for messages.
  std::string path() const {
    return name_.empty() || folder_.empty() || folder_.back() == '/' ? folder_ + name_ : folder_ + "/" + name_;
  }

 private:
  std::string folder_, name_;
};

}  // namespace tapegrad
