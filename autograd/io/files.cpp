// Reads and replaces files by POSIX calls.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/io/internal/descriptor.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

namespace tapegrad {
namespace {

[[noreturn]] void fail_system(std::string_view action, const std::string& path, int code) {
  fail("file", "{} {}: {}", action, path, std::strerror(code));
}

// The folder of a path, with a slash at its end; empty for a plain name.
std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

// ---- Temporary files ----

constexpr std::string_view kStart = ".tapegrad-", kEnd = ".new";
constexpr std::size_t kNumberDigits = 16;

std::string random_name() {
  uint64_t number = 0;
  while (::getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  return fmt::format("{}{:0{}x}{}", kStart, number, kNumberDigits, kEnd);
}

bool is_temporary(std::string_view name) {
  return name.size() == kStart.size() + kNumberDigits + kEnd.size() && name.starts_with(kStart) && name.ends_with(kEnd);
}

// What is at a path that is not a regular file.
const char* name_of(mode_t mode) {
  return S_ISDIR(mode) ? "a folder" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

[[noreturn]] void refuse_to_read(const std::string& path, mode_t mode) {
  if (S_ISDIR(mode)) fail_system("cannot read", path, EISDIR);
  fail("file", "cannot read {}: expected a regular file, got {}", path, name_of(mode));
}

[[noreturn]] void refuse_length(const std::string& name, uint64_t most) {
  fail("file", "{} has more than {} bytes, the most that is allowed here", name, most);
}

// Reads up to `count` bytes, fewer at the end or where a pipe has fewer; 0 at the end.
std::size_t read_some(int file, const std::string& name, char* to, std::size_t count) {
  while (true) {
    const ssize_t done = ::read(file, to, count);
    if (done >= 0) return static_cast<std::size_t>(done);
    if (errno != EINTR) fail_system("cannot read", name, errno);
  }
}

std::string read_to_end(int file, const std::string& name, uint64_t expected, uint64_t most) {
  std::string text(static_cast<std::size_t>(expected), '\0');
  std::size_t filled = 0;
  while (true) {
    if (filled == text.size()) text.resize(text.size() + 4096);  // a pipe, or a file that grows
    const std::size_t count = read_some(file, name, text.data() + filled, text.size() - filled);
    if (count == 0) break;
    filled += count;
    if (filled > most) refuse_length(name, most);
  }
  text.resize(filled);
  return text;
}

[[noreturn]] void refuse_to_replace(const std::string& path, std::string_view what, std::string_view hint) {
  fail("file", "cannot write {}: expected a regular file or none there, got {} ({})", path, what, hint);
}

// Where the symbolic links at `path` lead, one after the other: the name under which a file is created or replaced.
std::string followed(std::string path) {
  constexpr int kMostLinks = 40;  // as Linux has it
  const std::string first = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    std::string target(4096, '\0');
    const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
    if (size < 0 && (errno == EINVAL || errno == ENOENT)) return path;  // no link, or nothing
    if (size < 0) fail_system("cannot write", first, errno);
    target.resize(static_cast<std::size_t>(size));
    path = target.starts_with('/') ? target : folder_of(path) + target;
  }
  fail_system("cannot write", first, ELOOP);
}

[[noreturn]] void refuse_to_replace(const std::string& path, mode_t mode) {
  refuse_to_replace(path, name_of(mode), S_ISDIR(mode) ? "name a file in it" : "write a file, then copy it there");
}

// Where the link `name` leads; nothing if it is no link.
std::optional<std::string> link_at(int folder, const std::string& name) {
  std::string target(4096, '\0');
  const ssize_t size = ::readlinkat(folder, name.c_str(), target.data(), target.size());
  if (size < 0) return {};
  target.resize(static_cast<std::size_t>(size));
  return target;
}

// Error unless there is a regular file or nothing at `name` in the folder, itself and not where a link leads.
void require_file_or_none(int folder, const std::string& name, const std::string& path) {
  if (const auto target = link_at(folder, name)) {
    refuse_to_replace(path, fmt::format("a link to {}", *target),
                      "links in a folder are not written through: remove it, or choose another folder with --out");
  }
  struct stat status {};
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    if (!S_ISREG(status.st_mode)) refuse_to_replace(path, status.st_mode);
  } else if (errno != ENOENT) {
    fail_system("cannot write", path, errno);
  }
}

// The file that takes the place of `path`, after symbolic links. Error unless it is a regular file or does not exist.
std::string replaceable(const std::string& path) {
  struct stat status {};
  const bool there = ::stat(path.c_str(), &status) == 0;
  if (!there && errno != ENOENT) fail_system("cannot write", path, errno);
  if (there && !S_ISREG(status.st_mode)) refuse_to_replace(path, status.st_mode);
  std::string target = followed(path);
  // An open file in /proc may have lost its name.
  if (there && ::lstat(target.c_str(), &status) != 0)
    refuse_to_replace(path, "a link to a file without a name", "name a file in a folder");
  return target;
}

// Gives a new file the permissions of the replaced file, and its owner where the system allows that.
void keep_permissions(int file, int folder, const std::string& replaced) {
  struct stat old {};
  if (::fstatat(folder, replaced.c_str(), &old, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(old.st_mode)) return;
  mode_t mode = old.st_mode & 07777;
  if (::fchown(file, old.st_uid, old.st_gid) != 0) {
    mode &= 0777;  // neither setuid nor setgid for somebody else; another group may do what all others may
    if (::fchown(file, static_cast<uid_t>(-1), old.st_gid) != 0) mode = (mode & 0707) | (mode & 07) << 3;
  }
  ::fchmod(file, mode);  // some file systems have no permissions
}

// Removes temporary files that no process holds. A writer locks its file, so one that can be locked was left behind.
void remove_leftovers(int folder) {
  DIR* const open = ::fdopendir(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!open) return;  // the folder may not be listed
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

Descriptor open_regular_file(const std::string& path, uint64_t& size) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  // A socket cannot be opened: what it is, is said before why.
  if (file.get() < 0 && errno == ENXIO && ::stat(path.c_str(), &status) == 0) refuse_to_read(path, status.st_mode);
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) fail_system("cannot read", path, errno);
  if (!S_ISREG(status.st_mode)) refuse_to_read(path, status.st_mode);
  size = static_cast<uint64_t>(status.st_size);
  return file;
}

int64_t read_at(int file, uint64_t offset, std::span<std::byte> to) {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t count = ::pread(file, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return static_cast<int64_t>(done);
}

std::string read_file(const std::string& path, uint64_t most) {
  uint64_t size = 0;
  const Descriptor file = open_regular_file(path, size);
  if (size > most) refuse_length(path, most);
  return read_to_end(file.get(), path, size, most);
}

std::string read_stream(int descriptor, const std::string& name, uint64_t most) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) fail_system("cannot read", name, errno);
  if (S_ISDIR(status.st_mode)) fail_system("cannot read", name, EISDIR);
  const bool null = S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);  // /dev/null, an empty text
  if (S_ISBLK(status.st_mode) || (S_ISCHR(status.st_mode) && !null && ::isatty(descriptor) == 0))
    fail("file", "cannot read {}: expected a file, a pipe or a terminal, got a device", name);
  const bool file = S_ISREG(status.st_mode);
  return read_to_end(descriptor, name, file ? static_cast<uint64_t>(status.st_size) : 0, file ? UINT64_MAX : most);
}

std::string read_file_or_pipe(const std::string& path, uint64_t most) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail_system("cannot read", path, errno);
  return read_stream(file.get(), path, most);
}

std::string read_start_of_file(const std::string& path, std::size_t count) {
  uint64_t size = 0;
  const Descriptor file = open_regular_file(path, size);
  std::string text(count, '\0');
  std::size_t filled = 0;
  while (const std::size_t more = read_some(file.get(), path, text.data() + filled, count - filled)) filled += more;
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

Descriptor open_folder_of(const Destination& to, std::string& name) {
  const std::string path = to.path(), target = to.is_followed() ? replaceable(path) : to.name();
  const std::string start = to.is_followed() ? folder_of(target) : to.folder();
  constexpr int kFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  Descriptor folder(::open(start.empty() ? "." : start.c_str(), kFlags));
  std::size_t at = to.is_followed() ? start.size() : 0;
  if (folder.get() < 0) fail_system("cannot write", path, errno);
  for (std::size_t end; (end = target.find('/', at)) != target.npos; at = end + 1) {
    const std::string part = target.substr(at, end - at);
    Descriptor next(::openat(folder.get(), part.c_str(), kFlags | O_NOFOLLOW));
    if (next.get() < 0) {
      const int code = errno;
      if (code == ENOTDIR) require_file_or_none(folder.get(), part, path.substr(0, path.size() - target.size() + end));
      fail_system("cannot write", path, code);
    }
    std::swap(folder, next);
  }
  name = target.substr(at);
  if (!to.is_followed()) require_file_or_none(folder.get(), name, path);
  return folder;
}

AtomicFile::AtomicFile(const Destination& to) : path_(to.path()) {
  Descriptor folder = open_folder_of(to, name_);
  remove_leftovers(folder.get());
  while (descriptor_ < 0) {
    temporary_ = random_name();
    constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    struct stat replaced {};  // whose permissions it gets: until then nobody else may open it
    const bool replaces = ::fstatat(folder.get(), name_.c_str(), &replaced, AT_SYMLINK_NOFOLLOW) == 0;
    Descriptor file(::openat(folder.get(), temporary_.c_str(), kFlags, replaces ? 0600 : 0666));
    if (file.get() < 0 && errno == EEXIST) continue;
    if (file.get() < 0) fail_system("cannot write", path_, errno);
    struct stat status {};
    // Between its creation and its lock somebody may have taken it for a leftover: then another one.
    if (::flock(file.get(), LOCK_EX) == 0 && ::fstat(file.get(), &status) == 0 && status.st_nlink == 0) continue;
    keep_permissions(file.get(), folder.get(), name_);
    descriptor_ = file.release();
  }
  folder_ = folder.release();
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) {
    ::unlinkat(folder_, temporary_.c_str(), 0);
    ::close(descriptor_);
  }
  ::close(folder_);
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
  if (link_at(folder_, name_)) fail("file", "cannot write {}: a link has taken its place", path_);
  require_file_or_none(folder_, name_, path_);
  if (::renameat(folder_, temporary_.c_str(), folder_, name_.c_str()) != 0) fail_system("cannot replace", path_, errno);
  ::close(std::exchange(descriptor_, -1));
  // The name must survive a loss of power, too. Some file systems cannot sync a folder and say so by EINVAL.
  const Descriptor folder(::openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() >= 0 && ::fsync(folder.get()) != 0 && errno != EINVAL)
    fail_system("cannot sync the folder of", path_, errno);
}

void check_replaceable(const Destination& to) { const AtomicFile trial(to); }

void replace_file(const Destination& to, std::span<const std::byte> bytes) {
  AtomicFile file(to);
  file.write(bytes);
  file.commit();
}

void replace_file(const Destination& to, std::string_view text) { replace_file(to, bytes_of(text)); }

void create_folder(const std::filesystem::path& folder) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) fail_system("cannot create the folder", folder, code.value());
}

}  // namespace tapegrad
