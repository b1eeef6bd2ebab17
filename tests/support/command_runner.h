// Runs the tapegrad command as a user would, without a shell, and captures its output.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tests {

using Arguments = std::vector<std::string>;
// `first` and then `more`.
Arguments joined(Arguments first, const Arguments& more);

struct Ran {
  int code = -1;  // exit code; -N if signal N ended it
  std::string out, err;
};

struct RunSetting {
  std::filesystem::path folder = {};  // the command's working folder; empty: the test's
  int64_t largest_file = -1;          // limit on the size of files that it writes; -1: none
  double kill_after_seconds = -1;     // when to send SIGKILL; -1: never
  std::string input = {};             // its standard input
  // The file for its standard output, "closed" for none, "no reader" for a pipe that nobody reads; empty: Ran::out.
  std::string output = {};
  std::string errors = {};                  // the same for standard error and Ran::err
  bool closed_input = false;                // it has no standard input
  Arguments environment = {};               // "NAME=value", besides that of the test
  std::function<void()> in_child = {};      // called in its process before it starts
  std::function<void(int)> meanwhile = {};  // called with its process id while it runs
};

Ran run_command(const Arguments& arguments, const RunSetting& setting = {});
// The same for any program, which is looked for in PATH.
Ran run_program(const Arguments& program, const RunSetting& setting = {});
bool has_program(const std::string& name);

// The command with these words first: call(more) adds others.
struct CommandLine {
  Arguments first;
  RunSetting setting = {};
  Ran operator()(const Arguments& more = {}) const { return run_command(joined(first, more), setting); }
};

// `ran`, whose exit code must be 0: otherwise the test fails at the line of the call, and ends.
Ran successful(Ran ran, const char* file = __builtin_FILE(), int line = __builtin_LINE());

// Expects this exit code, and one line on standard error that has all of `words`.
void expect_error(const Ran& ran, int code, const std::vector<std::string>& words);
// "exit CODE: " and the one line that it printed on standard error, for EXPECT_TEXT.
std::string rejected(const Ran& ran);

// Whether the text is the pattern, in which each "…" stands for any text.
bool matches(std::string_view text, std::string_view pattern);

class TemporaryFolder;
// The words of a command line, in which {folder} is the folder and {tests} is tests/; those in quotes are JSON strings.
Arguments words_of(const std::string& line, const TemporaryFolder& folder);
// Expects the errors of a section of tests/FILE (pairs_of_lines): a command line without "tapegrad", and below it a
// pattern of the line that it prints on standard error. The exit code is 2, with nothing on standard output; or 1,
// if the pattern begins with "exit 1: ". Both have what words_of() fills in. The command runs in the folder; `run` runs
// the words in another way, such as with others before them.
void expect_errors(const std::string& file, const std::string& section, const TemporaryFolder& folder,
                   std::function<Ran(const Arguments&)> run = {});

// The text with the first `from`, which it must have, made `to`.
std::string replaced(std::string text, const std::string& from, const std::string& to);

// Expects lines of at most 80 characters (of UTF-8).
void expect_narrow(const std::string& text);

// A fresh folder that is removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  operator RunSetting() const { return {.folder = path_}; }  // NOLINT: run_command({...}, folder) works in it
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// A test in a fresh folder: using Suite = InAFolder.
class InAFolder : public testing::Test {
 protected:
  const TemporaryFolder folder;
};

std::vector<std::string> lines(const std::string& text);
// The bytes of a file; empty if there is no such file.
std::string slurp(const std::filesystem::path& path);
void spill(const std::filesystem::path& path, const std::string& bytes);

// The line "bits ..." that a run prints, without its line break; empty if there is none.
std::string printed_bits(const std::string& out);

}  // namespace tapegrad::tests
