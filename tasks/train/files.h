// Files that survive: replaced whole or not at all, appended in whole lines, and checked before a run relies on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace tapegrad::train {

namespace fs = std::filesystem;

// What a run leaves in its folder.
inline constexpr std::string_view kModelFile = "model.safetensors", kCheckpointFile = "checkpoint",
                                  kMetricsFile = "metrics.jsonl", kReportFile = "report.html";

// Puts `bytes` in the place of `path`: a temporary file beside it is written, synced and renamed, so that at every
// moment the old or the new contents stand there. Error when the system refuses; the old file is untouched then.
void replace_file(const fs::path& path, std::span<const std::byte> bytes);
void replace_file(const fs::path& path, std::string_view text);

// The same for a file that `write` makes at the path it is given.
template <class Write>
void replace_file_by(const fs::path& path, const Write& write);

// The whole file. Error when it cannot be read.
std::string read_file(const fs::path& path);

// A file that grows at its end. What was appended survives the process; sync() makes it survive the machine.
class AppendFile {
 public:
  explicit AppendFile(const fs::path& path);  // created where it is missing
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  void append(std::string_view text);
  void truncate(int64_t bytes);
  void sync();

 private:
  fs::path path_;
  int file_;
};

// A folder that this process alone may write a run into, until the end of the object's life.
class RunFolder {
 public:
  // Creates the folder where it is missing, and takes it. Error when it cannot be written to, or another process has
  // it.
  explicit RunFolder(const fs::path& folder);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const fs::path& path() const { return path_; }
  // Makes sure that so many bytes can be written into the folder now. Error otherwise.
  void reserve(int64_t bytes) const;
  // Moves the named files, where they exist, into a new subfolder previous-1, previous-2 ... in the order given.
  // Returns that subfolder, or an empty path when there was nothing to move.
  fs::path put_aside(std::span<const std::string_view> names) const;

 private:
  fs::path path_;
  int file_ = -1;
};

// Depends on every byte and its place; one byte changed always changes it. A detector of damage, not of intent.
uint64_t checksum(std::span<const std::byte> bytes, uint64_t seed = 0);

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

// ---------------------------------------------------------------------------------------------------------------------

namespace detail {
fs::path temporary_for(const fs::path& path);
void commit(const fs::path& temporary, const fs::path& path);  // syncs and renames
void discard(const fs::path& temporary) noexcept;
}  // namespace detail

template <class Write>
void replace_file_by(const fs::path& path, const Write& write) {
  const fs::path temporary = detail::temporary_for(path);
  try {
    write(temporary);
    detail::commit(temporary, path);
  } catch (...) {
    detail::discard(temporary);
    throw;
  }
}

}  // namespace tapegrad::train
