// What reading and writing of safetensors files have in common: messages about a file, and its checksums.
#pragma once

#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/io/internal/checksum.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tapegrad::safetensors {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

inline constexpr std::string_view kMetadata = "__metadata__";

// Errors about one file.
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

// ---- Checksums ----
//
// A file with checksums has "checksum":"xxh3-64:<H>:<T0><T1>..." in its metadata, 16 hexadecimal digits each: T0, T1
// ... of the bytes of the tensors in the order of the file; H of everything before the tensors' bytes, with H itself as
// zeros. So every byte of the file is covered, and damage is found with its place.

inline constexpr std::string_view kChecksum = "checksum", kXxh3 = "xxh3-64:";
inline constexpr std::size_t kDigits = 16;

inline std::string digits_of(uint64_t sum) { return fmt::format("{:016x}", sum); }

// Where the digits of H begin in the text of a header; npos without checksums. Quotes inside a JSON string follow a
// backslash, so what follows '{' or ',' is a key.
inline std::size_t find_checksum(std::string_view header) {
  const std::string start = fmt::format("\"{}\":\"{}", kChecksum, kXxh3);
  for (std::size_t at = 0; (at = header.find(start, at)) != std::string_view::npos; ++at) {
    const std::size_t digits = at + start.size();
    if (at > 0 && (header[at - 1] == '{' || header[at - 1] == ',') && header.size() >= digits + kDigits) return digits;
  }
  return std::string_view::npos;
}

// H of a header whose digits begin at `at`.
inline std::string checksum_of_header(std::string text, std::size_t at) {
  text.replace(at, kDigits, kDigits, '0');
  return digits_of(checksum(bytes_of(text), text.size()));
}

}  // namespace tapegrad::safetensors
