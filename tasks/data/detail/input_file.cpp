#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/io/internal/descriptor.h>
#include <tapegrad/tasks/data/detail/input_file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tapegrad::data::detail {
namespace {

[[noreturn]] void fail_to_read(const std::string& path, int error) {
  fail("file", fmt::format("cannot read {}: {}", path, std::strerror(error)));
}

}  // namespace

InputFile::InputFile(const std::string& path) : path_(path), file_(open_regular_file(path, size_).release()) {}

InputFile::~InputFile() { ::close(file_); }

std::size_t InputFile::read(uint64_t offset, std::size_t count, char* out) const {
  std::size_t done = 0;
  while (done < count) {
    const ssize_t now = ::pread(file_, out + done, count - done, static_cast<off_t>(offset + done));
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) fail_to_read(path_, errno);
    if (now == 0) break;
    done += static_cast<std::size_t>(now);
  }
  return done;
}

}  // namespace tapegrad::data::detail
