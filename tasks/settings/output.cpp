// Writes to standard output and checks it.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/tasks/settings/status.h>
#include <tapegrad/train/drawing/terminal.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace tapegrad::tasks {
namespace {

constexpr std::string_view kLayout = "\n\t";  // control characters that text has

[[noreturn]] void fail_to_write(int code) {
  throw OutputError(error_text("output", fmt::format("cannot write to standard output: {}", std::strerror(code))));
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
  const StatusHidden hidden(text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) < text.size() || std::fflush(stdout) != 0) fail_to_write(errno);
}

void print_text(std::string_view text) { print_now(drawing::painted_page(printable(text, kLayout), stdout)); }

void print_mark(std::string_view text, bool good) {
  const drawing::Paint paint = good ? drawing::Paint::good : drawing::Paint::bad;
  print_now(drawing::painted(printable(text, kLayout), paint, stdout));
}

void print_generated(std::string_view text) {
  print_now(::isatty(STDOUT_FILENO) == 1 ? printable(text, kLayout) : std::string(text));
}

void check_output() {
  if (std::fflush(stdout) != 0) fail_to_write(errno);
  // A flush that failed earlier has emptied the buffer, and only its mark stays.
  if (std::ferror(stdout) != 0)
    throw OutputError(error_text("output", "some of the output could not be written to standard output"));
}

bool output_has_no_reader() {
  pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

void print_note(std::string_view text) {
  const std::string shown = printable(text, kLayout);
  const StatusHidden hidden("");
  std::fwrite(shown.data(), 1, shown.size(), stderr);
}

}  // namespace tapegrad::tasks
