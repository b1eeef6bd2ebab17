// Whole files: read in one call, and replaced completely or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace tapegrad {

/// The bytes of the file, which has at most `most` of them. Error "[file] ..." when it cannot be read or is longer.
std::string read_file(const std::string& path, uint64_t most = std::numeric_limits<uint64_t>::max());

/// What is at `path`, after symbolic links. Error "[file] ..." where the system does not say: a folder without
/// permission, a name that is too long.
enum class FileKind { none, file, folder, other };  // other: a device, a pipe, a socket
FileKind kind_of_file(const std::string& path);
inline bool is_there(const std::string& path) { return kind_of_file(path) != FileKind::none; }

/// A new file that takes the place of `path` when it is complete: at every moment, also after a loss of power, `path`
/// has either its old contents or the new ones.
///
/// The bytes go into a temporary file in the same folder, `.tapegrad-<16 hexadecimal digits>.new`. Its name is drawn at
/// random and the file is created (O_EXCL, O_NOFOLLOW), so that no file and no symbolic link that somebody has put
/// there can be written through. Temporary files that killed processes have left in the folder are removed.
///
/// Every function throws an Error "[file] ..." with the path and the system's reason.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  /// Removes the temporary file unless commit() was called.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Overwrites bytes that were written before, from `offset` on.
  void overwrite(uint64_t offset, std::string_view text);
  /// Makes sure that the file can grow to `bytes` bytes.
  void reserve(int64_t bytes);
  /// Makes the bytes durable and renames the temporary file to `path`. A symbolic link at `path` is replaced itself.
  void commit();

 private:
  void put(uint64_t offset, std::span<const std::byte> bytes);
  std::string path_, folder_, temporary_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

/// Replaces the file, or creates it.
void replace_file(const std::string& path, std::span<const std::byte> bytes);
void replace_file(const std::string& path, std::string_view text);

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

}  // namespace tapegrad
