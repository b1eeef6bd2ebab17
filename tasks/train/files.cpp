// Durable files on POSIX calls: write, sync, rename, and errors that name the path and the system's reason.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/tasks/train/checksum.h>
#include <tapegrad/tasks/train/files.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tapegrad::train {
namespace {

[[noreturn]] void fail_system(std::string_view action, const fs::path& path, int code) {
  fail("file", fmt::format("{} {}: {}", action, path.string(), std::strerror(code)));
}

// An open file descriptor, closed at the end of its life.
class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  ~Descriptor() {
    if (file_ >= 0) ::close(file_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return file_; }
  int release() { return std::exchange(file_, -1); }

 private:
  int file_;
};

void write_all(int file, std::span<const std::byte> bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail_system("cannot write to", path, written < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

// Some file systems cannot sync a folder, and say so by EINVAL: then there is nothing to be done.
void sync_folder(const fs::path& folder) {
  const Descriptor file(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.get() >= 0 && ::fsync(file.get()) != 0 && errno != EINVAL) fail_system("cannot sync", folder, errno);
}

}  // namespace

namespace detail {

fs::path temporary_for(const fs::path& path) {
  fs::path temporary = path;
  temporary.replace_filename(fmt::format(".{}.new", path.filename().string()));
  return temporary;
}

void commit(const fs::path& temporary, const fs::path& path) {
  {
    const Descriptor file(::open(temporary.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0 || ::fsync(file.get()) != 0) fail_system("cannot write", path, errno);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) fail_system("cannot replace", path, errno);
  sync_folder(path.parent_path());
}

void discard(const fs::path& temporary) noexcept { ::unlink(temporary.c_str()); }

}  // namespace detail

void replace_file(const fs::path& path, std::span<const std::byte> bytes) {
  replace_file_by(path, [&](const fs::path& temporary) {
    const Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.get() < 0) fail_system("cannot write", path, errno);
    write_all(file.get(), bytes, path);
  });
}

void replace_file(const fs::path& path, std::string_view text) { replace_file(path, bytes_of(text)); }

std::string read_file(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail_system("cannot read", path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail_system("cannot read", path, errno);
  if (S_ISDIR(status.st_mode)) fail_system("cannot read", path, EISDIR);
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t filled = 0;
  while (true) {
    if (filled == text.size()) text.resize(text.size() + 4096);  // a pipe, or a file that grows
    const ssize_t count = ::read(file.get(), text.data() + filled, text.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_system("cannot read", path, errno);
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  text.resize(filled);
  return text;
}

AppendFile::AppendFile(const fs::path& path)
    : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (file_ < 0) fail_system("cannot write", path, errno);
}

AppendFile::~AppendFile() { ::close(file_); }

void AppendFile::append(std::string_view text) { write_all(file_, bytes_of(text), path_); }

void AppendFile::truncate(int64_t bytes) {
  if (::ftruncate(file_, bytes) != 0) fail_system("cannot shorten", path_, errno);
}

void AppendFile::sync() {
  if (::fdatasync(file_) != 0 && errno != EINVAL) fail_system("cannot sync", path_, errno);
}

RunFolder::RunFolder(const fs::path& folder) : path_(folder) {
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) fail_system("cannot create the folder", folder, code.value());
  Descriptor taken(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (taken.get() < 0) fail_system("cannot use as a folder", folder, errno);
  if (::flock(taken.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    fail("file", fmt::format("another process is training in {} (choose another --out)", folder.string()));
  reserve(1);
  file_ = taken.release();
}

void RunFolder::reserve(int64_t bytes) const {
  const fs::path trial = path_ / fmt::format(".trial-{}", ::getpid());
  const Descriptor file(::open(trial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.get() < 0) fail_system("cannot write into", path_, errno);
  const int refused = ::posix_fallocate(file.get(), 0, bytes);
  ::unlink(trial.c_str());
  if (refused != 0)
    fail("file", fmt::format("cannot write {} bytes into {}: {}", bytes, path_.string(), std::strerror(refused)));
}

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
      while (fs::exists(path_ / fmt::format("previous-{}", number))) ++number;
      aside = path_ / fmt::format("previous-{}", number);
      if (::mkdir(aside.c_str(), 0777) != 0) fail_system("cannot create the folder", aside, errno);
    }
    if (::rename(from.c_str(), (aside / name).c_str()) != 0) fail_system("cannot move", from, errno);
  }
  if (!aside.empty()) sync_folder(path_);
  return aside;
}

void Checksum::take(uint64_t word) {
  // For a fixed word the step is a bijection of the sum, and for a fixed sum one of the word: a single difference
  // stays.
  sum_ = std::rotl(sum_ ^ word, 29) * 0xd6e8feb86659fd93u;
  sum_ ^= sum_ >> 32;
}

void Checksum::add(std::span<const std::byte> bytes) {
  uint64_t word = 0;
  while (held_bytes_ > 0 && held_bytes_ < 8 && !bytes.empty()) {
    held_[held_bytes_++] = bytes.front();
    bytes = bytes.subspan(1);
  }
  if (held_bytes_ == 8) {
    std::memcpy(&word, held_, 8);
    take(word);
    held_bytes_ = 0;
  }
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    std::memcpy(&word, bytes.data() + i, 8);
    take(word);
  }
  for (; i < bytes.size(); ++i) held_[held_bytes_++] = bytes[i];
}

uint64_t Checksum::value() {
  if (held_bytes_ > 0) {
    uint64_t word = 0;
    std::memcpy(&word, held_, std::exchange(held_bytes_, 0));
    take(word);
  }
  return sum_;
}

uint64_t checksum(std::span<const std::byte> bytes, uint64_t seed) {
  Checksum sum(bytes.size(), seed);
  sum.add(bytes);
  return sum.value();
}

}  // namespace tapegrad::train
