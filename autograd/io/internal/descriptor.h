// An open file of the system.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

namespace tapegrad {

// Closed at the end of its life.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

// Opens a regular file for reading. Error "[file] cannot read PATH: ..." for anything else, at once: neither a pipe
// without a writer nor an endless device is waited for. Sets `size`.
Descriptor open_regular_file(const std::string& path, uint64_t& size);

}  // namespace tapegrad
