// Bytes that are read in order: of a file, or of an entry of an archive.
#pragma once

#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/internal/descriptor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tapegrad::numpy {

// Error "[numpy] PATH: why".
[[noreturn]] void refuse(const std::string& path, std::string_view why);
template <class... T>
requires(sizeof...(T) > 0)
    [[noreturn]] void refuse(const std::string& path, fmt::format_string<T...> why, const T&... values) {
  refuse(path, std::string_view(fmt::vformat(why, fmt::make_format_args(values...))));
}

// A file, read at any position.
class File {
 public:
  // Error "[file] ..." unless it is a regular file that can be read.
  explicit File(const std::string& path) : path_(path), descriptor_(open_regular_file(path, size_)) {}
  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  // Error if the file has become shorter.
  void read(uint64_t offset, std::span<std::byte> to) const;

 private:
  std::string path_;
  uint64_t size_ = 0;
  Descriptor descriptor_;
};

class Source {
 public:
  virtual ~Source() = default;
  virtual uint64_t size() const = 0;  // the total number of bytes
  // Reads the next bytes. Error if there are fewer.
  virtual void read(std::span<std::byte> to) = 0;
};

}  // namespace tapegrad::numpy
