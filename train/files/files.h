// The files of a run: a file of lines, and a folder that is locked and checked before the run starts.
#pragma once

#include <tapegrad/autograd/io/files.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace tapegrad::train {

namespace fs = std::filesystem;

using tapegrad::create_folder;
using tapegrad::read_file;
using tapegrad::replace_file;

/// The files that a run writes into its folder.
inline constexpr std::string_view kModelFile = "model.safetensors", kCheckpointFile = "checkpoint",
                                  kMetricsFile = "metrics.jsonl", kReportFile = "report.html",
                                  kAdapterFolder = "adapter";

/// The file at `path`, whose folder somebody named and whose name the program chose.
inline Destination in_its_folder(const fs::path& path) { return {path.parent_path(), path.filename().string()}; }

/// A file that is appended to. Appended text survives the end of the process; after sync() also a loss of power.
class AppendFile {
 public:
  /// Creates the file where it is missing. One that has several names (hard links) is copied first, so that the others
  /// keep their contents. Error if it cannot be written, or is a device, a pipe, or a link at a name in a folder.
  explicit AppendFile(const Destination& to);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  /// As it was given.
  const std::string& path() const { return path_; }
  /// Everything that is in the file.
  std::string contents() const;
  /// Appends. Error if that fails, as on a full disk.
  void append(std::string_view text);
  /// Cuts the file to this size.
  void truncate(int64_t bytes);
  /// Returns when everything is on the disk.
  void sync();

 private:
  std::string path_;
  int file_ = -1;
};

/// A folder, locked for the runs of this process as long as the object exists.
class RunFolder {
 public:
  /// Of the processes that train together, the first one writes; the others read, and may write their shards of
  /// checkpoints into the folder that the first one has locked.
  enum class Use { writes, reads, shares };
  /// Creates the folder where it is missing, and locks it. Error if it cannot be written to, or another process has
  /// locked it. With `reads` and `shares`, it does neither.
  explicit RunFolder(const fs::path& folder, Use use = Use::writes);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  /// as it was given
  const fs::path& path() const { return path_; }
  /// Where the folder is now: path(), or the place to which it was moved, so that a run writes only into its own
  /// folder. Error if another folder has taken its place and its new place is not known.
  fs::path now() const;
  /// The destination of a file or folder of the run, which is never a link to another one.
  Destination file(std::string_view name) const { return {now(), name}; }
  /// Error unless that many bytes can be written into the folder now.
  void reserve(int64_t bytes) const;
  /// Moves the named files, where they exist, into a new subfolder previous-1, previous-2 ... in the order given.
  /// Returns that subfolder, or an empty path if there was nothing to move.
  fs::path put_aside(std::span<const std::string_view> names) const;

 private:
  fs::path path_;
  int file_ = -1;
};

}  // namespace tapegrad::train
