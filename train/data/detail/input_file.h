// A file that several threads read concurrently, at any position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tapegrad::data::detail {

class InputFile {
 public:
  explicit InputFile(const std::string& path);  // Error unless it is a regular file that can be read
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Reads up to `count` bytes from `offset` on, fewer only at the end of the file. Returns how many.
  std::size_t read(uint64_t offset, std::size_t count, char* out) const;
  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }  // when it was opened

 private:
  std::string path_;
  uint64_t size_ = 0;
  int file_ = -1;
};

}  // namespace tapegrad::data::detail
