#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <tapegrad/autograd/error.h>
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

InputFile::InputFile(const std::string& path) : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  struct stat status {};
  int error = file_ < 0 || ::fstat(file_, &status) != 0 ? errno : 0;
  if (error == 0 && !S_ISREG(status.st_mode)) error = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
  size_ = static_cast<uint64_t>(status.st_size);
  if (error == 0) return;
  if (file_ >= 0) ::close(file_);
  fail_to_read(path, error);
}

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
