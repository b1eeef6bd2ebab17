// A file mapped into memory for reading: its pages are read when they are looked at, and given back when others need
// the room.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace tapegrad::data {

class MappedFile {
 public:
  explicit MappedFile(const std::string& path);  // Error when it cannot be read
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  MappedFile& operator=(MappedFile&&) = delete;

  std::string_view bytes() const { return {data_, size_}; }

 private:
  char* data_ = nullptr;  // nullptr for an empty file
  std::size_t size_ = 0;
};

}  // namespace tapegrad::data
