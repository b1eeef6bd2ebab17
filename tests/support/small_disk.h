// A file system that is soon full.
#pragma once

#include <sys/mount.h>
#include <tapegrad/tests/support/command_runner.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tapegrad::tests {

// A file system of 1 MB in memory, mounted in a folder. Mounting needs root.
class SmallDisk {
 public:
  SmallDisk() : path_(folder_ / "disk") {
    std::filesystem::create_directory(path_);
    mounted_ = ::mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=1m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount(path_.c_str());
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }
  const std::string& path() const { return path_; }
  // Writes the file "filler" until nothing fits.
  void fill() const {
    std::ofstream file(path_ + "/filler", std::ios::binary | std::ios::app);
    while (file.write(std::string(4096, 'x').data(), 4096).flush()) {
    }
  }

 private:
  TemporaryFolder folder_;
  std::string path_;
  bool mounted_ = false;
};

inline std::size_t files_in(const std::string& folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

}  // namespace tapegrad::tests
