// Processes by fork and exec, without a shell.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tutorials/exercises/compile.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace tapegrad::tasks::exercises {

namespace fs = std::filesystem;
namespace {

constexpr std::string_view kSharedLibrary = "libtapegrad.so";

// The folder below `lib` that has the library: lib itself, or that of the processor, as lib/x86_64-linux-gnu.
fs::path with_library(const fs::path& lib) {
  std::error_code none;
  if (fs::exists(lib / kSharedLibrary, none)) return lib;
  for (const auto& entry : fs::directory_iterator(lib, none))
    if (fs::exists(entry.path() / kSharedLibrary, none)) return entry.path();
  return {};
}

// In the child, which must not allocate: another thread may hold the lock of the heap. The reason for a failure goes
// into the pipe, which exec closes.
[[noreturn]] void become(const std::vector<char*>& words, int seconds, int pipe) {
  if (seconds > 0) {
    const rlimit limit{static_cast<rlim_t>(seconds), static_cast<rlim_t>(seconds) + 1};
    setrlimit(RLIMIT_CPU, &limit);
  }
  execvp(words[0], words.data());
  const int reason = errno;
  if (write(pipe, &reason, sizeof reason) < 0) _exit(126);
  _exit(127);
}

}  // namespace

Library library_of_command() {
  std::error_code none;
  const fs::path folder = fs::read_symlink("/proc/self/exe", none).parent_path(), prefix = folder.parent_path();
  const auto has_headers = [&](const fs::path& include) {
    return fs::exists(include / "tapegrad" / "tapegrad.h", none);
  };
  if (has_headers(folder / "include") && fs::exists(folder / kSharedLibrary, none)) return {folder / "include", folder};
  if (has_headers(prefix / "include")) {
    for (const char* const lib : {"lib", "lib64"})
      if (const fs::path found = with_library(prefix / lib); !found.empty()) return {prefix / "include", found};
  }
  bad_request("exercise", fmt::format("found no headers and {} of tapegrad next to {} (install them, or use the "
                                      "command in its build folder)",
                                      kSharedLibrary, folder.string()));
}

WorkFolder::WorkFolder() {
  std::string name = (fs::temp_directory_path() / "tapegrad-exercise-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    fail("exercise", fmt::format("cannot create a folder for the program: {}",
                                 std::error_code(errno, std::generic_category()).message()));
  }
  path_ = name;
}

WorkFolder::~WorkFolder() {
  std::error_code none;
  fs::remove_all(path_, none);
}

Ended run_process(const std::string& where, const std::vector<std::string>& words, int seconds) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("exercise", "cannot create another pipe");
  std::vector<std::string> copies = words;
  std::vector<char*> pointers;
  for (std::string& word : copies) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::fflush(nullptr);  // otherwise the child would write the same buffered text
  const pid_t pid = fork();
  if (pid == 0) become(pointers, seconds, ends[1]);
  close(ends[1]);
  int reason = 0;
  const bool failed = pid > 0 && read(ends[0], &reason, sizeof reason) == static_cast<ssize_t>(sizeof reason);
  close(ends[0]);
  if (pid < 0) fail("exercise", "cannot start another process");
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (failed) {
    const std::string why = std::error_code(reason, std::generic_category()).message();
    bad_request(where, fmt::format("cannot start \"{}\": {}", words[0], why));
  }
  if (WIFSIGNALED(status)) return {.code = -1, .signal = WTERMSIG(status)};
  return {.code = WEXITSTATUS(status)};
}

void compile(const std::string& compiler, const std::string& source, const std::string& program) {
  const auto [include, library] = library_of_command();
  const Ended ended =
      run_process("--compiler", {compiler, "-std=c++20", "-I" + include.string(), source, "-o", program,
                                 "-L" + library.string(), "-ltapegrad", "-Wl,-rpath," + library.string()});
  if (ended.code != 0) bad_request("exercise", fmt::format("{} cannot compile the file (see above)", compiler));
}

}  // namespace tapegrad::tasks::exercises
