// Faults of the system: a full disk and missing permission. Each is an Error of one line, and what was saved before
// stays as it was.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/train/checkpoint.h>
#include <tapegrad/tasks/train/files.h>
#include <tapegrad/tasks/train/metrics.h>
#include <tapegrad/tests/support/command_runner.h>
#include <tapegrad/tests/support/near.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>

namespace tapegrad::train {
namespace {

using tests::error_of;
using tests::slurp;
using tests::TemporaryFolder;

// A file system of 1 MB in memory, mounted in a folder.
class SmallDisk {
 public:
  SmallDisk() : path_(folder_ / "disk") {
    std::filesystem::create_directory(path_);
    mounted_ = ::mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=1m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount(path_.c_str());
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }
  const std::string& path() const { return path_; }
  void fill() const {
    try {
      AppendFile file(path_ + "/filler");
      while (true) file.append(std::string(4096, 'x'));
    } catch (const Error&) {
    }
  }

 private:
  TemporaryFolder folder_;
  std::string path_;
  bool mounted_ = false;
};

std::size_t files_in(const std::string& folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

TEST(FullDisk, EveryWriteIsAnErrorAndOldFilesStay) {
  const SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs is not permitted here: " << std::strerror(errno);
  const std::string path = disk.path() + "/checkpoint", metrics = disk.path() + "/metrics.jsonl";
  Checkpoint small;
  small.tensors.push_back({"x", ones({1000})});
  small.save(path);
  MetricsFile lines(metrics, 0, 10);
  const RunFolder folder(disk.path());
  const std::string before = slurp(path);
  disk.fill();
  const std::size_t files = files_in(disk.path());
  Checkpoint large;
  large.tensors.push_back({"x", ones({100'000})});
  EXPECT_EQ(error_of([&] { large.save(path); }), "[file] cannot write " + path + ": No space left on device");
  EXPECT_EQ(error_of([&] { replace_file(path, before); }), "[file] cannot write " + path + ": No space left on device");
  EXPECT_NE(error_of([&] { folder.reserve(100'000); }).find("No space left on device"), std::string::npos);
  const std::string said = error_of([&] {
    for (int64_t step = 1; step < 1000; ++step) lines.add(StepMetrics{.step = step});
  });
  EXPECT_EQ(said, "[file] cannot write to " + metrics + ": No space left on device");
  EXPECT_EQ(slurp(path), before);
  EXPECT_EQ(files_in(disk.path()), files) << "a temporary file stayed";
  EXPECT_EQ(Checkpoint::load(path).tensors[0].tensor.numel(), 1000);
}

// Runs f in a process of its own; its Error, or "no error".
std::string error_in_child(const std::function<void()>& f) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string said = error_of(f);
    ::_exit(::write(ends[1], said.data(), said.size()) < 0 ? 1 : 0);
  }
  ::close(ends[1]);
  std::string said(4096, '\0');
  const ssize_t count = ::read(ends[0], said.data(), said.size());
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  said.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return said;
}

TEST(Permission, AFolderThatMayNotBeWrittenTo) {
  const TemporaryFolder folder;
  const std::string path = folder / "checkpoint";
  tests::spill(path, "old");
  ::chmod(folder.path().c_str(), 0555);
  const auto as_nobody = [](const std::function<void()>& f) {
    return error_in_child([&] {
      if (::geteuid() == 0 && ::setuid(65534) != 0) fail("test", "cannot become another user");
      f();
    });
  };
  EXPECT_EQ(as_nobody([&] { replace_file(path, "new"); }), "[file] cannot write " + path + ": Permission denied");
  EXPECT_EQ(as_nobody([&] { Checkpoint().save(path); }), "[file] cannot write " + path + ": Permission denied");
  EXPECT_NE(as_nobody([&] { RunFolder run(folder.path()); }).find("Permission denied"), std::string::npos);
  EXPECT_NE(as_nobody([&] { RunFolder run(folder / "deeper"); }).find("Permission denied"), std::string::npos);
  EXPECT_EQ(slurp(path), "old");
  ::chmod(folder.path().c_str(), 0755);
}

TEST(AppendFile, DoesNotWriteThroughALink) {
  const TemporaryFolder folder;
  tests::spill(folder / "elsewhere", "precious");
  std::filesystem::create_symlink(folder / "elsewhere", folder / "metrics.jsonl");
  EXPECT_NE(error_of([&] { AppendFile file(folder / "metrics.jsonl"); }).find("symbolic links"), std::string::npos);
  EXPECT_EQ(slurp(folder / "elsewhere"), "precious");
}

}  // namespace
}  // namespace tapegrad::train
