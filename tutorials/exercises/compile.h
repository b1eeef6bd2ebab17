// Compiles a program against this tapegrad, and runs it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tapegrad::tasks::exercises {

/// Where the headers and libtapegrad.so of this command are: the folder of its build, or where it is installed.
struct Library {
  std::filesystem::path include, library;
};
/// BadRequest if they are not there.
Library library_of_command();

/// A new folder in the system's folder for temporary files, which is removed at the end.
class WorkFolder {
 public:
  WorkFolder();
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// How a process ended.
struct Ended {
  int code = 0;    ///< its exit code, -1 where a signal ended it
  int signal = 0;  ///< that signal; SIGXCPU: its time was up
};

/// Starts a program, which is looked for in PATH, with our standard streams, and waits for it. `seconds` limits the
/// processor time; 0: no limit. BadRequest about `where` if there is no such program.
Ended run_process(const std::string& where, const std::vector<std::string>& words, int seconds = 0);

/// Compiles the file `source` into the program `program`. BadRequest if there is no such compiler, or after the
/// compiler has written what is wrong.
void compile(const std::string& compiler, const std::string& source, const std::string& program);

}  // namespace tapegrad::tasks::exercises
