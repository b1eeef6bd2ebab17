// What a folder can have besides regular files, and a folder that is soon full: for tests of readers and writers.
#pragma once

#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <tapegrad/tests/support/command_runner.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace tapegrad::tests {

inline struct stat status_of(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) std::abort();
  return status;
}

// Makes a folder, a pipe, a socket, links to them, and as root a device like /dev/null, in `folder`. A writer that
// replaced the machine's own /dev/null would break the machine: tests use this node.
class SpecialFiles {
 public:
  explicit SpecialFiles(const std::filesystem::path& folder) {
    const auto path = [&](const char* name) { return (folder / name).string(); };
    std::filesystem::create_directory(path("folder"));
    if (::mkfifo(path("pipe").c_str(), 0600) != 0) std::abort();
    socket_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    if (path("socket").size() >= sizeof address.sun_path) std::abort();
    std::strcpy(address.sun_path, path("socket").c_str());
    if (::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) std::abort();
    all_ = {{path("folder"), "a folder"}, {path("pipe"), "a pipe"}, {path("socket"), "a socket"}};
    // Only root can make a device: other users test the rest.
    if (::mknod(path("device").c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0)
      all_.emplace_back(path("device"), "a device");
    const auto kinds = all_;
    for (const auto& [target, what] : kinds) {
      std::filesystem::create_symlink(target, target + "-link");
      all_.emplace_back(target + "-link", what);
    }
  }
  ~SpecialFiles() { ::close(socket_); }
  SpecialFiles(const SpecialFiles&) = delete;
  SpecialFiles& operator=(const SpecialFiles&) = delete;

  // Paths, and what errors call them.
  const std::vector<std::pair<std::string, std::string>>& all() const { return all_; }

 private:
  int socket_ = -1;
  std::vector<std::pair<std::string, std::string>> all_;
};

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
