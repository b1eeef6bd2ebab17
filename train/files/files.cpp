// The files of a run, by POSIX calls.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/internal/descriptor.h>
#include <tapegrad/train/files.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tapegrad::train {
namespace {

[[noreturn]] void fail_system(std::string_view action, const fs::path& path, int code) {
  fail("file", "{} {}: {}", action, path.string(), std::strerror(code));
}

void write_all(int file, std::span<const std::byte> bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail_system("cannot write to", path, written < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

// Some file systems cannot sync a folder, and return EINVAL: that is not an error.
void sync_folder(const fs::path& folder) {
  const Descriptor file(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.get() >= 0 && ::fsync(file.get()) != 0 && errno != EINVAL) fail_system("cannot sync", folder, errno);
}

}  // namespace

AppendFile::AppendFile(const Destination& to) : path_(to.path()) {
  for (struct stat status{}; file_ < 0;) {
    std::string name;
    const Descriptor folder = open_folder_of(to, name);
    constexpr int kFlags = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    Descriptor file(::openat(folder.get(), name.c_str(), kFlags, 0666));
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0) fail_system("cannot write", path_, errno);
    if (!S_ISREG(status.st_mode)) fail("file", "cannot write {}: expected a regular file", path_);
    if (status.st_nlink > 1)
      replace_file(to, read_stream(file.get(), path_, 0));
    else
      file_ = file.release();
  }
}

AppendFile::~AppendFile() { ::close(file_); }

std::string AppendFile::contents() const {
  if (::lseek(file_, 0, SEEK_SET) != 0) fail_system("cannot read", path_, errno);
  return read_stream(file_, path_, 0);
}

void AppendFile::append(std::string_view text) { write_all(file_, bytes_of(text), path_); }

void AppendFile::truncate(int64_t bytes) {
  if (::ftruncate(file_, bytes) != 0) fail_system("cannot shorten", path_, errno);
}

void AppendFile::sync() {
  if (::fdatasync(file_) != 0 && errno != EINVAL) fail_system("cannot sync", path_, errno);
}

RunFolder::RunFolder(const fs::path& folder, Use use) : path_(folder) {
  if (use == Use::reads) return;
  if (use == Use::writes) create_folder(folder);
  Descriptor taken(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (taken.get() < 0) fail_system("cannot use as a folder", folder, errno);
  if (use == Use::writes && ::flock(taken.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    fail("file", "another process is training in {} (choose another folder)", folder.string());
  if (use == Use::writes) reserve(1);
  file_ = taken.release();
}

fs::path RunFolder::now() const {
  struct stat own {};
  struct stat there {};
  if (file_ < 0 || ::fstat(file_, &own) != 0) return path_;
  const auto is_own = [&](const fs::path& path) {
    return ::stat(path.c_str(), &there) == 0 && there.st_dev == own.st_dev && there.st_ino == own.st_ino;
  };
  if (is_own(path_)) return path_;
  const bool replaced = is_there(path_.string());
  std::error_code unknown;  // the system has no /proc
  const fs::path moved = fs::read_symlink(fmt::format("/proc/self/fd/{}", file_), unknown);
  if (!unknown && is_own(moved)) return moved;
  if (replaced)
    fail("file",
         "{} is no longer the folder in which this run began, which was moved or removed (the files of the other run "
         "are unchanged)",
         path_.string());
  return path_;  // it was removed: writing will say so
}

void RunFolder::reserve(int64_t bytes) const { AtomicFile({path_, "trial"}).reserve(bytes); }

RunFolder::~RunFolder() {
  if (file_ >= 0) ::close(file_);
}

fs::path RunFolder::put_aside(std::span<const std::string_view> names) const {
  fs::path aside;
  for (const std::string_view name : names) {
    const fs::path from = path_ / name;
    if (!fs::exists(fs::symlink_status(from))) continue;
    if (aside.empty()) {
      int number = 1;
      while (fs::exists(fs::symlink_status(path_ / fmt::format("previous-{}", number)))) ++number;
      aside = path_ / fmt::format("previous-{}", number);
      if (::mkdir(aside.c_str(), 0777) != 0) fail_system("cannot create the folder", aside, errno);
    }
    if (::rename(from.c_str(), (aside / name).c_str()) != 0) fail_system("cannot move", from, errno);
  }
  if (!aside.empty()) sync_folder(path_);
  return aside;
}

}  // namespace tapegrad::train
