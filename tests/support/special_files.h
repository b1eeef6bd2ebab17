// What a folder can have besides regular files: for tests of readers and writers.
#pragma once

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
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

}  // namespace tapegrad::tests
