// Writes to standard output and checks it.
#include <fcntl.h>
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/tasks/settings/output.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace tapegrad::tasks {
namespace {

[[noreturn]] void fail_to_write(int code) {
  fail("output", fmt::format("cannot write to standard output: {}", std::strerror(code)));
}

}  // namespace

void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // Input and output are opened the wrong way round, so that reads and writes fail; messages go nowhere. open() takes
    // the lowest free number, which is this one.
    if (::open("/dev/null", stream == STDOUT_FILENO ? O_RDONLY : O_WRONLY) < 0) return;
  }
}

void print_now(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) < text.size() || std::fflush(stdout) != 0) fail_to_write(errno);
}

void check_output() {
  if (std::fflush(stdout) != 0) fail_to_write(errno);
  // A flush that failed earlier has emptied the buffer, and only its mark stays.
  if (std::ferror(stdout) != 0) fail("output", "some of the output could not be written to standard output");
}

}  // namespace tapegrad::tasks
