// What reading and writing of safetensors files have in common: messages about a file, and the file's descriptor.
#pragma once

#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace tapegrad::safetensors {

static_assert(std::endian::native == std::endian::little, "the format is little-endian, and so is all that follows");

inline constexpr std::string_view kMetadata = "__metadata__";
inline constexpr uint64_t kMaxHeader = 100'000'000;

// Messages of one file.
class File {
 public:
  explicit File(const std::string& path) : path_(path) {}
  template <class... T>
  [[noreturn]] void refuse(fmt::format_string<const T&...> text, const T&... values) const {
    std::string message = path_ + ": " + fmt::vformat(text, fmt::make_format_args(values...));
    for (char& c : message) {
      if (static_cast<unsigned char>(c) < ' ') c = '?';  // names from a file may hold anything, a message is one line
    }
    fail("safetensors", message);
  }
  [[noreturn]] void refuse_system(std::string_view action, int code) const {
    refuse("{}: {}", action, std::string_view(std::strerror(code)));
  }
  const std::string& path() const { return path_; }

 private:
  const std::string& path_;
};

// An open file, closed at the end of its life.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

}  // namespace tapegrad::safetensors
