// Whole files: read in one call, and replaced completely or not at all.
#pragma once

#include <tapegrad/autograd/io/destination.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace tapegrad {

/// The bytes of a regular file, which has at most `most` of them. Error "[file] ..." if it cannot be read or is longer,
/// and at once for a pipe, a socket or a device, which may have no end.
std::string read_file(const std::string& path, uint64_t most = std::numeric_limits<uint64_t>::max());

/// The bytes of a file, or of a pipe (a FIFO, /dev/stdin, what a shell makes of `<(program)`) or a terminal, whose end
/// is awaited, and which have at most `most` of them. Of devices, only /dev/null is read.
std::string read_file_or_pipe(const std::string& path, uint64_t most);
/// The same of an open descriptor, which errors call `name`.
std::string read_stream(int descriptor, const std::string& name, uint64_t most);

/// The first `count` bytes of a regular file, fewer if it has fewer. Errors as for read_file.
std::string read_start_of_file(const std::string& path, std::size_t count);

/// What is at `path`, after symbolic links. Error "[file] ..." where the system does not say: a folder without
/// permission, a name that is too long.
enum class FileKind { none, file, folder, other };  // other: a device, a pipe, a socket
/// See FileKind.
FileKind kind_of_file(const std::string& path);
/// Whether there is anything at `path`, of any kind.
inline bool is_there(const std::string& path) { return kind_of_file(path) != FileKind::none; }

/// A new file that takes its place when it is complete: at every moment, also after a loss of power, the destination
/// has either its old contents or the new ones.
///
/// The bytes go into a temporary file in the same folder, `.tapegrad-<16 hexadecimal digits>.new`. Its name is chosen
/// at random and the file is created (O_EXCL, O_NOFOLLOW), so that no file and no symbolic link that somebody has put
/// there can be written through. Temporary files that killed processes have left in the folder are removed.
///
/// A symbolic link at a path is followed: the file that it names is replaced, in its own folder, or created. A file
/// that is replaced keeps its permissions. A link at a name in a folder (see Destination), and anything else than a
/// regular file (a folder, a device, a pipe, a socket), throws Error, and is kept. The folder is opened once: moving or
/// replacing it does not change where the file goes.
///
/// Every function throws an Error "[file] ..." with the path and the system's reason.
class AtomicFile : NonCopyable {
 public:
  explicit AtomicFile(const Destination& to);
  /// Removes the temporary file unless commit() was called.
  ~AtomicFile();

  /// Appends.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Overwrites bytes that were written before, from `offset` on.
  void overwrite(uint64_t offset, std::string_view text);
  /// Makes sure that the file can grow to `bytes` bytes.
  void reserve(int64_t bytes);
  /// Makes the bytes durable and gives the file its name.
  void commit();

 private:
  void put(uint64_t offset, std::span<const std::byte> bytes);
  std::string path_, name_, temporary_;  // path_: for messages; name_, temporary_: in folder_
  int folder_ = -1, descriptor_ = -1;
  uint64_t size_ = 0;
};

/// Error if replace_file(to, ...) could not write: to find out before hours of work.
void check_replaceable(const Destination& to);

/// Replaces the file, or creates it.
void replace_file(const Destination& to, std::span<const std::byte> bytes);
void replace_file(const Destination& to, std::string_view text);

/// Creates a folder and its parents, unless they exist. Error if that fails.
void create_folder(const std::filesystem::path& folder);

/// The characters of `text` as bytes, which are not copied: they must outlive the result.
inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

}  // namespace tapegrad
