// Runs the tapegrad command as a user would, without a shell, and keeps what it says.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tapegrad::tests {

using Arguments = std::vector<std::string>;
// `first` and then `more`.
Arguments joined(Arguments first, const Arguments& more);

struct Ran {
  int code = -1;  // exit code; -N when signal N ended it
  std::string out, err;
};

struct RunSetting {
  std::filesystem::path folder = {};  // the command's working folder; empty: ours
  int64_t largest_file = -1;          // a limit on the size of files it writes, or -1
  double kill_after_seconds = -1;     // SIGKILL then, or never
  std::string input = {};             // its standard input
};

Ran run_command(const Arguments& arguments, const RunSetting& setting = {});

// Expects this exit code, and one line on standard error that has all of `words`.
void expect_error(const Ran& ran, int code, const std::vector<std::string>& words);

// Expects no line longer than a terminal is wide; bytes that continue a character do not count.
void expect_narrow(const std::string& text);

// A fresh folder that is removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// The bytes of a file; an empty string where there is none.
std::string slurp(const std::filesystem::path& path);
void spill(const std::filesystem::path& path, const std::string& bytes);

}  // namespace tapegrad::tests
