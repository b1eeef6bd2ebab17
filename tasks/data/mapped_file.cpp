// Files mapped by mmap.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/tasks/data/mapped_file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tapegrad::data {

MappedFile::MappedFile(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  int error = file < 0 || ::fstat(file, &status) != 0 ? errno : 0;
  if (error == 0 && !S_ISREG(status.st_mode)) error = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
  size_ = static_cast<std::size_t>(status.st_size);
  if (error == 0 && size_ > 0) {
    void* const data = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED) {
      error = errno;
    } else {
      data_ = static_cast<char*>(data);
    }
  }
  if (file >= 0) ::close(file);
  if (error != 0) fail("file", fmt::format("cannot read {}: {}", path, std::strerror(error)));
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(data_, size_);
}

}  // namespace tapegrad::data
