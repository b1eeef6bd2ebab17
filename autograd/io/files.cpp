// Reads and replaces files by POSIX calls.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/io/detail/descriptor.h>
#include <tapegrad/autograd/io/files.h>

#include <cerrno>
#include <cstring>

namespace tapegrad {
namespace {

[[noreturn]] void fail_system(std::string_view action, const std::string& path, int code) {
  fail("file", fmt::format("{} {}: {}", action, path, std::strerror(code)));
}

// The folder of a path, with a slash at its end; empty for a plain name.
std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

// ---- Temporary files ----

constexpr std::string_view kStart = ".tapegrad-", kEnd = ".new";
constexpr std::size_t kDigits = 16;

std::string random_name() {
  uint64_t number = 0;
  while (::getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  return fmt::format("{}{:0{}x}{}", kStart, number, kDigits, kEnd);
}

bool is_temporary(std::string_view name) {
  return name.size() == kStart.size() + kDigits + kEnd.size() && name.starts_with(kStart) && name.ends_with(kEnd);
}

// Removes temporary files that no process holds. A writer locks its file, so one that can be locked was left behind.
void remove_leftovers(const std::string& folder) {
  DIR* const open = ::opendir(folder.empty() ? "." : folder.c_str());
  if (!open) return;  // creating the file will say why
  while (const dirent* entry = ::readdir(open)) {
    if (!is_temporary(entry->d_name)) continue;
    const Descriptor file(::openat(::dirfd(open), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (file.get() >= 0 && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
        ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
      ::unlinkat(::dirfd(open), entry->d_name, 0);
    }
  }
  ::closedir(open);
}

}  // namespace

std::string read_file(const std::string& path, uint64_t most) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail_system("cannot read", path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail_system("cannot read", path, errno);
  if (S_ISDIR(status.st_mode)) fail_system("cannot read", path, EISDIR);
  const auto too_long = [&](uint64_t size) {
    if (size > most) fail("file", fmt::format("{} has more than {} bytes, the most that is allowed here", path, most));
  };
  too_long(static_cast<uint64_t>(status.st_size));
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t filled = 0;
  while (true) {
    if (filled == text.size()) text.resize(text.size() + 4096);  // a pipe, or a file that grows
    const ssize_t count = ::read(file.get(), text.data() + filled, text.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_system("cannot read", path, errno);
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
    too_long(filled);
  }
  text.resize(filled);
  return text;
}

FileKind kind_of_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return FileKind::none;
    fail_system("cannot look at", path, errno);
  }
  if (S_ISREG(status.st_mode)) return FileKind::file;
  return S_ISDIR(status.st_mode) ? FileKind::folder : FileKind::other;
}

AtomicFile::AtomicFile(const std::string& path) : path_(path), folder_(folder_of(path)) {
  remove_leftovers(folder_);
  while (descriptor_ < 0) {
    temporary_ = folder_ + random_name();
    Descriptor file(::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (file.get() < 0 && errno == EEXIST) continue;
    if (file.get() < 0) fail_system("cannot write", path_, errno);
    struct stat status {};
    // Between its creation and its lock somebody may have taken it for a leftover: then another one.
    if (::flock(file.get(), LOCK_EX) == 0 && ::fstat(file.get(), &status) == 0 && status.st_nlink == 0) continue;
    descriptor_ = file.release();
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::unlink(temporary_.c_str());
  ::close(descriptor_);
}

void AtomicFile::put(uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail_system("cannot write", path_, count < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  put(size_, bytes);
  size_ += bytes.size();
}

void AtomicFile::write(std::string_view text) { write(bytes_of(text)); }

void AtomicFile::overwrite(uint64_t offset, std::string_view text) { put(offset, bytes_of(text)); }

void AtomicFile::reserve(int64_t bytes) {
  const int code = ::posix_fallocate(descriptor_, 0, bytes);
  if (code != 0) fail_system(fmt::format("cannot write {} bytes to", bytes), path_, code);
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) fail_system("cannot write", path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_system("cannot replace", path_, errno);
  ::close(std::exchange(descriptor_, -1));
  // The name must survive a loss of power, too. Some file systems cannot sync a folder and say so by EINVAL.
  const Descriptor folder(::open(folder_.empty() ? "." : folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() >= 0 && ::fsync(folder.get()) != 0 && errno != EINVAL) fail_system("cannot sync", folder_, errno);
}

void replace_file(const std::string& path, std::span<const std::byte> bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void replace_file(const std::string& path, std::string_view text) { replace_file(path, bytes_of(text)); }

}  // namespace tapegrad
