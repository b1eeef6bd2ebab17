// Faults of the system: a full disk, missing permission, failed allocations, SIGTERM. Each is an Error of one line, and
// saved files are not changed.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/data/tokenizer_files.h>
#include <tapegrad/tasks/train/checkpoint.h>
#include <tapegrad/tasks/train/files.h>
#include <tapegrad/tasks/train/metrics.h>
#include <tapegrad/test_paths.h>
#include <tapegrad/tests/support/command_runner.h>
#include <tapegrad/tests/support/near.h>
#include <tapegrad/tests/support/tiny_run.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>

namespace tapegrad::train {
namespace {

using tests::Arguments;
using tests::error_of;
using tests::joined;
using tests::slurp;
using tests::TemporaryFolder;
using tests::tiny_run;

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

TEST(FullDisk, EveryWriteIsAnErrorAndOldFilesAreKept) {
  const SmallDisk disk;
  // A full disk needs its own file system, and mounting one needs root: other users skip this.
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

// A run on a full disk ends with one line; when there is space again, it continues to the same bytes.
TEST(FullDisk, ARunContinuesWhenThereIsSpaceAgain) {
  const SmallDisk disk;
  // A full disk needs its own file system, and mounting one needs root: other users skip this.
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs is not permitted here: " << std::strerror(errno);
  const TemporaryFolder folder;
  const Arguments small{"--hidden-size", "8", "--intermediate-size", "8"};
  ASSERT_EQ(tests::run_command(tiny_run("copy", folder / "whole", small), {.folder = folder.path()}).code, 0);
  const std::string run = disk.path() + "/run";
  disk.fill();
  tests::expect_error(tests::run_command(tiny_run("copy", run, small), {.folder = folder.path()}), 2,
                      {"--out", "No space left on device"});
  std::filesystem::remove(disk.path() + "/filler");
  ASSERT_EQ(::mount("tmpfs", disk.path().c_str(), "tmpfs", MS_REMOUNT, "size=16m"), 0);
  const tests::Ran ran =
      tests::run_command(tiny_run("copy", run, joined(small, {"--resume"})), {.folder = folder.path()});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(slurp(run + "/model.safetensors"), slurp(folder / "whole/model.safetensors"));
}

// Data sets that do not fit are an error of one line, and those that are there stay whole.
TEST(FullDisk, DataSetsAreKept) {
  const SmallDisk disk;
  // A full disk needs its own file system, and mounting one needs root: other users skip this.
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs is not permitted here: " << std::strerror(errno);
  const TemporaryFolder folder;
  tests::spill(folder / "x_Packages", "Package: a\nSection: net\nDescription: b\n A longer text.\n");
  const std::string lists = folder.path().string(), out = disk.path() + "/data";
  tests::expect_error(tests::run_command({"data", "debian", "--lists", lists, "--out", out}), 2,
                      {"[--out]", "No space left on device"});
  EXPECT_FALSE(std::filesystem::exists(out + "/classify.train.jsonl"));
  ASSERT_EQ(tests::run_command({"data", "sample", "--out", out}).code, 0);
  const std::string before = slurp(out + "/answer.train.jsonl");
  const std::size_t files = files_in(out);
  disk.fill();
  tests::expect_error(tests::run_command({"data", "sample", "--out", out}), 2, {"[--out]", "No space left on device"});
  EXPECT_EQ(slurp(out + "/answer.train.jsonl"), before);
  EXPECT_EQ(files_in(out), files) << "a temporary file stayed";
}

// Runs f in a child process; returns its Error, or "no error".
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

// The same as a user who may write nothing.
std::string as_nobody(const std::function<void()>& f) {
  return error_in_child([&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) fail("test", "cannot become another user");
    f();
  });
}

TEST(Permission, AFolderThatMayNotBeWrittenTo) {
  const TemporaryFolder folder;
  const std::string path = folder / "checkpoint";
  tests::spill(path, "old");
  ::chmod(folder.path().c_str(), 0555);
  EXPECT_EQ(as_nobody([&] { replace_file(path, "new"); }), "[file] cannot write " + path + ": Permission denied");
  EXPECT_EQ(as_nobody([&] { Checkpoint().save(path); }), "[file] cannot write " + path + ": Permission denied");
  EXPECT_NE(as_nobody([&] { RunFolder run(folder.path()); }).find("Permission denied"), std::string::npos);
  EXPECT_NE(as_nobody([&] { RunFolder run(folder / "deeper"); }).find("Permission denied"), std::string::npos);
  EXPECT_EQ(slurp(path), "old");
  ::chmod(folder.path().c_str(), 0755);
}

// What the system does not say is an error about the file, with the option that names it.
TEST(Permission, NamesThatCannotBeLookedAt) {
  const TemporaryFolder folder;
  const std::string file = folder / std::string(300, 'x');
  tests::spill(folder / "text.txt", "abc");
  const auto rejected = [&](const Arguments& words, const char* option) {
    tests::expect_error(tests::run_command(words, {.folder = folder.path()}), 2,
                        {std::string("[") + option + "] ", "File name too long", file});
  };
  rejected({"train", "gpt", "--out", file}, "--out");
  rejected({"train", "gpt", "--out", file, "--resume"}, "--out");
  rejected({"train", "copy", "--out", file, "--resume"}, "--out");
  rejected({"train", "gpt", "--out", folder / "run", "--text", file}, "--text");
  rejected({"train", "gpt", "--out", folder / "run", "--tokenizer", file}, "--tokenizer");
  rejected({"train", "gpt", "--out", folder / "run", "--save-hugging-face", file}, "--save-hugging-face");
  rejected({"test", "gpt", "--text", file}, "--text");
  rejected({"test", "gpt", "--text", folder / "text.txt", "--model", file}, "--model");
  rejected({"generate", "gpt", "--prompt", "a", "--model", file}, "--model");
  rejected({"test", "copy", "--model", file}, "--model");
  rejected({"attention", "copy", "--model", file}, "--model");
  rejected({"tokenize", "--text", file, "--tokenizer", folder.path()}, "--text");
  rejected({"tokenize", "--tokenizer", file}, "--tokenizer");
  rejected({"tokenize", "--train", "char", "--text", folder / "text.txt", "--out", file}, "--out");

  std::filesystem::create_directory(folder / "closed");
  ::chmod((folder / "closed").c_str(), 0);
  ::chmod(folder.path().c_str(), 0755);
  const std::string inside = folder / "closed/file";
  EXPECT_EQ(as_nobody([&] { kind_of_file(inside); }), "[file] cannot look at " + inside + ": Permission denied");
  EXPECT_EQ(as_nobody([&] { data::load_tokenizer(inside); }),
            "[file] cannot look at " + inside + ": Permission denied");
  EXPECT_EQ(as_nobody([&] { load_safetensors(inside); }), "[file] cannot look at " + inside + ": Permission denied");
  ::chmod((folder / "closed").c_str(), 0755);
}

TEST(AppendFile, DoesNotWriteThroughALink) {
  const TemporaryFolder folder;
  tests::spill(folder / "elsewhere", "precious");
  std::filesystem::create_symlink(folder / "elsewhere", folder / "metrics.jsonl");
  EXPECT_NE(error_of([&] { AppendFile file(folder / "metrics.jsonl"); }).find("symbolic links"), std::string::npos);
  EXPECT_EQ(slurp(folder / "elsewhere"), "precious");
}

// Starts the command with the given limits and signals; returns its exit code and standard error.
struct Ended {
  int code;
  std::string err;
};
Ended start(const Arguments& arguments, const std::string& err, const std::function<void()>& in_child,
            const std::function<void(pid_t)>& meanwhile) {
  const pid_t child = ::fork();
  if (child == 0) {
    in_child();
    if (!std::freopen("/dev/null", "w", stdout) || !std::freopen(err.c_str(), "w", stderr)) ::_exit(99);
    std::vector<char*> argv;
    Arguments words = joined({tests::kCommand}, arguments);
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(99);
  }
  meanwhile(child);
  int status = 0;
  ::waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), slurp(err)};
}

TEST(Memory, FailedAllocationIsAnErrorOfOneLine) {
  const TemporaryFolder folder;
  const auto limit = [] {
    const rlimit most{rlim_t{600} << 20, rlim_t{600} << 20};
    ::setrlimit(RLIMIT_AS, &most);
  };
  const Ended ended = start({"train", "copy", "--out", folder / "run", "--no-progress", "--threads", "1",
                             "--hidden-size", "4096", "--intermediate-size", "16384", "--num-attention-heads", "1"},
                            folder / "err", limit, [](pid_t) {});
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_NE(ended.err.find("memory"), std::string::npos) << ended.err;
  EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
}

// A system that shuts down sends SIGTERM: as with Ctrl-C, the run ends after its step, with a checkpoint.
TEST(Signals, ATerminatedRunIsContinuedToTheSameBytes) {
  const TemporaryFolder folder;
  const Arguments more{"--num-epochs", "40", "--checkpoint-every", "100000"};
  ASSERT_EQ(tests::run_command(tiny_run("copy", folder / "whole", more), {.folder = folder.path()}).code, 0);
  const std::string metrics = folder / "run/metrics.jsonl";
  const Ended ended = start(
      tiny_run("copy", folder / "run", more), folder / "err", [] {},
      [&](pid_t child) {
        while (slurp(metrics).empty() && ::waitpid(child, nullptr, WNOHANG) == 0) ::usleep(2000);
        ::kill(child, SIGTERM);
      });
  EXPECT_EQ(ended.code, 1);
  EXPECT_NE(ended.err.find("interrupted after step"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("(use --resume --out " + (folder / "run") + ")"), std::string::npos) << ended.err;
  ASSERT_EQ(
      tests::run_command(tiny_run("copy", folder / "run", joined(more, {"--resume"})), {.folder = folder.path()}).code,
      0);
  EXPECT_EQ(slurp(folder / "run/model.safetensors"), slurp(folder / "whole/model.safetensors"));
}

}  // namespace
}  // namespace tapegrad::train
