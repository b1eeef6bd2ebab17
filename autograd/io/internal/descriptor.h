// File descriptors.
#pragma once

#include <tapegrad/autograd/io/destination.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace tapegrad {

// A file descriptor that the destructor closes; -1: none.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

// Opens a regular file for reading. Error "[file] cannot read PATH: ..." for anything else, at once: neither a pipe
// without a writer nor an endless device is waited for. Sets `size`.
Descriptor open_regular_file(const std::string& path, uint64_t& size);

// Opens the folder of a file that is to be written, only to work within it, and sets the file's name there. Symbolic
// links are followed only if `to` allows it. Error "[file] cannot write PATH: ..." if anything but a regular file has
// that name. Callers must not follow a link that takes the name afterwards.
Descriptor open_folder_of(const Destination& to, std::string& name);

// Reads the bytes of an open file from an offset on. Returns how many there are, fewer than `to` has only at the end of
// the file; -1 for an error, which is in errno.
int64_t read_at(int file, uint64_t offset, std::span<std::byte> to);

}  // namespace tapegrad
