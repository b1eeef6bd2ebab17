// Faults of the system: a full disk, missing permission, special files, failed allocations, SIGTERM. Each is an Error
// of one line, and saved files are not changed. Without further threads, everything works.
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tapegrad/tests/support/no_threads.h>
#include <tapegrad/tests/support/runs/tiny_run.h>
#include <tapegrad/tests/support/special_files.h>
#include <tapegrad/tests/support/testing.h>
#include <tapegrad/train.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace tapegrad::train {
namespace {

using namespace tests;

class FullDisk : public testing::Test {
 protected:
  void SetUp() override {
    // A full disk needs its own file system, and mounting one needs root: other users skip this.
    if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs is not permitted here: " << std::strerror(errno);
  }
  const SmallDisk disk;
  const TemporaryFolder folder;
};

TEST_F(FullDisk, EveryWriteIsAnErrorAndOldFilesAreKept) {
  const std::string path = disk.path() + "/checkpoint", metrics = disk.path() + "/metrics.jsonl";
  Checkpoint small;
  small.tensors.push_back({"x", ones({1000})});
  small.save(path);
  MetricsFile lines(metrics, 0, 10);
  const RunFolder run_folder(disk.path());
  const std::string before = slurp(path);
  disk.fill();
  const std::size_t files = files_in(disk.path());
  Checkpoint large;
  large.tensors.push_back({"x", ones({100'000})});
  EXPECT_EQ(error_of([&] { large.save(path); }), "[file] cannot write " + path + ": No space left on device");
  EXPECT_EQ(error_of([&] { replace_file(path, before); }), "[file] cannot write " + path + ": No space left on device");
  EXPECT_NE(error_of([&] { run_folder.reserve(100'000); }).find("No space left on device"), std::string::npos);
  const std::string said = error_of([&] {
    for (int64_t step = 1; step < 1000; ++step) lines.add(StepMetrics{.step = step});
  });
  EXPECT_EQ(said, "[file] cannot write to " + metrics + ": No space left on device");
  EXPECT_EQ(slurp(path), before);
  EXPECT_EQ(files_in(disk.path()), files) << "a temporary file stayed";
  EXPECT_EQ(Checkpoint::load(path).tensors[0].tensor.numel(), 1000);
}

TEST_F(FullDisk, ARunContinuesWhenThereIsSpaceAgain) {
  const Arguments small{"--hidden-size", "8", "--intermediate-size", "8"};
  train_tiny(folder, "copy", "whole", small);
  const std::string run = disk.path() + "/run";
  disk.fill();
  expect_error(run_command(tiny_run("copy", run, small), folder), 2, {"--out", "No space left on device"});
  std::filesystem::remove(disk.path() + "/filler");
  ASSERT_EQ(::mount("tmpfs", disk.path().c_str(), "tmpfs", MS_REMOUNT, "size=16m"), 0);
  successful(run_command(tiny_run("copy", run, joined(small, {"--resume"})), folder));
  EXPECT_EQ(slurp(run + "/model.safetensors"), slurp(folder / "whole/model.safetensors"));
}

TEST_F(FullDisk, DataSetsAreKept) {
  const std::string out = disk.path() + "/data";
  successful(run_command({"data", "sample", "--out", out}));
  const std::string before = slurp(out + "/answer.train.jsonl");
  const std::size_t files = files_in(out);
  disk.fill();
  expect_error(run_command({"data", "sample", "--out", out}), 2, {"[--out]", "No space left on device"});
  EXPECT_EQ(slurp(out + "/answer.train.jsonl"), before);
  EXPECT_EQ(files_in(out), files) << "a temporary file stayed";
}

// Runs f in a child process, as a user who may write nothing; returns its Error, or "no error".
std::string as_nobody(const std::function<void()>& f) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    const bool other = ::geteuid() != 0 || ::setuid(65534) == 0;
    const std::string said = other ? error_of(f) : "cannot become another user";
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
  spill(path, "old");
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
  spill(folder / "text.txt", "abc");
  expect_errors("tasks/errors/files.txt", "names that are too long", folder, [&](Arguments words) {
    std::replace(words.begin(), words.end(), std::string("LONG"), file);
    return run_command(words, folder);
  });

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

// --- devices, pipes and links in the place of files ---

using FilesThatAreNone = InAFolder;

TEST_F(FilesThatAreNone, TheWritersOfRunsAndTokenizersKeepThem) {
  spill(folder / "text.txt", "abc");
  const auto tokenizer = data::make_character_tokenizer("abc");
  const std::vector<std::pair<const char*, std::function<void(const std::string&)>>> writers{
      {"checkpoint", [](const std::string& path) { Checkpoint().save(path); }},
      {"lines", [](const std::string& path) { AppendFile(path).append("x"); }},
      {"metrics", [](const std::string& path) { MetricsFile(path, 0, 10).add(StepMetrics{.step = 1}); }},
      {"tokens", [&](const std::string& path) { data::write_token_file(*tokenizer, folder / "text.txt", path); }}};
  std::filesystem::create_directory(folder / "special");
  const SpecialFiles special(folder / "special");
  for (const auto& [name, write] : writers) {
    SCOPED_TRACE(name);
    for (const auto& [path, what] : special.all()) {
      const struct stat before = status_of(path);
      const std::string said = error_of([&, &write = write, &path = path] { write(path); });
      EXPECT_TRUE(said.starts_with("[file] cannot write " + path)) << said;
      const struct stat after = status_of(path);
      EXPECT_TRUE(before.st_ino == after.st_ino && before.st_mode == after.st_mode) << path;
    }
    const std::string link = folder / name, target = link + ".target";  // links are followed, to no file yet and to one
    std::filesystem::create_symlink(target, link);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(error_of([&, &write = write] { write(link); }), "no error");
    EXPECT_TRUE(std::filesystem::is_symlink(link) && std::filesystem::is_regular_file(target));
    EXPECT_FALSE(slurp(target).empty());
    std::filesystem::create_symlink(link + ".round", link + ".round");
    EXPECT_NE(error_of([&, &write = write] { write(link + ".round"); }).find("symbolic links"), std::string::npos);
  }
}

// Expects that the call with a pipe at `path` fails before it has computed anything, and keeps the pipe.
void expect_kept(const TemporaryFolder& folder, const std::string& path, const Arguments& words) {
  SCOPED_TRACE(testing::PrintToString(words));
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const Ran ran = run_command(words, {.folder = folder.path(), .kill_after_seconds = 60});
  EXPECT_TRUE(ran.code == 1 || ran.code == 2) << ran.code << ran.err;
  EXPECT_NE(ran.err.find(path + ": expected a regular file"), std::string::npos) << ran.err;
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), ran.err.starts_with("Resuming") ? 2 : 1) << ran.err;
  EXPECT_EQ(ran.out.find("==="), std::string::npos) << "computed, or printed, before it failed";
  EXPECT_TRUE(std::filesystem::is_fifo(path));
}

TEST_F(FilesThatAreNone, TheVerbsKeepThem) {
  const auto at = [&](const char* name) { return folder / name; };
  spill(at("text.txt"), "abc");
  const Arguments make{"tokenize", "--train", "char", "--text", at("text.txt"), "--out", at("tok")};
  expect_kept(folder, at("tok/tokenizer.json"), make);
  std::filesystem::remove(at("tok/tokenizer.json"));
  successful(run_command(make));
  const Arguments run = tiny_run("copy", at("run")), resumed = joined(run, {"--resume"});
  successful(run_command(run, folder));
  for (const auto& [name, call] : pairs_of_lines("tasks/errors/files.txt", "writers"))
    expect_kept(folder, folder / name, words_of(call, folder));
  // A run that starts again moves what is there away.
  const std::string model = at("run/model.safetensors"), whole = slurp(model);
  for (const char* name : {"run/report.html", "run/model.safetensors"}) {
    const std::string saved = slurp(at(name));
    expect_kept(folder, at(name), resumed);
    std::filesystem::remove(at(name));
    spill(at(name), saved);
  }
  std::filesystem::remove(model);
  ASSERT_EQ(::mkfifo(model.c_str(), 0600), 0);
  successful(run_command(run, folder));
  EXPECT_TRUE(std::filesystem::is_fifo(at("run/previous-1/model.safetensors")));
  EXPECT_TRUE(slurp(model) == whole);
}

// Neither a pipe without a writer nor an endless device in the place of a file is waited for.
TEST_F(FilesThatAreNone, TheReadersOfTheCommandRejectThem) {
  namespace fs = std::filesystem;
  const auto at = [&](const std::string& name) { return folder / name; };
  for (const char* name : {"llama", "two"}) fs::copy(data_path("llama2_tiny"), at(name));
  fs::copy(data_path("hugging_face_gpt2"), at("gpt2"), fs::copy_options::recursive);
  fs::copy(at("gpt2/adapter"), at("adapter"));
  spill(at("text.txt"), "abc");
  fs::create_directory(at("vocabulary"));
  spill(at("vocabulary/merges.txt"), "");
  successful(run_command({"data", "sample", "--out", at("data")}));
  train_tiny(folder, "copy", "run");
  for (const auto& [name, call] : pairs_of_lines("tasks/errors/files.txt", "readers")) {
    const Arguments words = words_of(call, folder);
    SCOPED_TRACE(name + ": " + call);
    const std::string path = at(name), aside = at("aside");
    fs::create_directories(fs::path(path).parent_path());
    const bool there = fs::exists(path);
    if (there) fs::rename(path, aside);
    for (const bool endless : {false, true}) {
      if (endless) {
        fs::create_symlink("/dev/zero", path);
      } else {
        EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
      }
      const Ran ran = run_command(words, {.folder = folder.path(), .kill_after_seconds = 60});
      EXPECT_TRUE(ran.code == 1 || ran.code == 2) << ran.code << ran.err;
      expect_parts(ran.err, {fs::path(path).filename(), "regular file"});
      fs::remove(path);
    }
    if (there) fs::rename(aside, path);
  }
}

TEST(Memory, FailedAllocationIsAnErrorOfOneLine) {
  const TemporaryFolder folder;
  const auto limit = [] {
    const rlimit most{rlim_t{600} << 20, rlim_t{600} << 20};
    ::setrlimit(RLIMIT_AS, &most);
  };
  const Arguments large{
      "train", "copy",          "--out", folder / "run",        "--no-progress", "--threads",
      "1",     "--hidden-size", "4096",  "--intermediate-size", "16384",         "--num-attention-heads",
      "1"};
  expect_error(run_command(large, {.in_child = limit}), 1, {"memory"});
}

// A container's limit of processes, for example.
TEST(Threads, OneDoesWhereTheSystemMakesNoOther) {
  const TemporaryFolder folder;
  const auto without_threads = [] {
    if (!refuse_threads()) ::_exit(98);
  };
  const auto run = [&](const Arguments& arguments) { return run_command(arguments, {.in_child = without_threads}); };
  const Ran version = run({"--version"});
  if (version.code == 98) GTEST_SKIP() << "the system has no seccomp filters";
  EXPECT_EQ(version.code, 0) << version.err;
  for (const Arguments& threads : {Arguments{}, Arguments{"--threads", "1"}}) {
    successful(run(tiny_run("copy", folder / "run", threads)));
    train_tiny(folder, "copy", "whole");
    EXPECT_EQ(slurp(folder / "run/model.safetensors"), slurp(folder / "whole/model.safetensors"));
    std::filesystem::remove_all(folder / "run");
    std::filesystem::remove_all(folder / "whole");
  }
}

// A system that shuts down sends SIGTERM: as with Ctrl-C, the run ends after its step, with a checkpoint.
TEST(Signals, ATerminatedRunIsContinuedToTheSameBytes) {
  const TemporaryFolder folder;
  const Arguments more{"--num-epochs", "40", "--checkpoint-every", "100000"};
  train_tiny(folder, "copy", "whole", more);
  const std::string metrics = folder / "run/metrics.jsonl";
  const auto terminate = [&](int child) {
    for (int i = 0; i < 10'000 && slurp(metrics).empty(); ++i) ::usleep(2000);
    ::kill(child, SIGTERM);
  };
  const Ran ended = run_command(tiny_run("copy", folder / "run", more), {.meanwhile = terminate});
  EXPECT_EQ(ended.code, 1);
  expect_parts(ended.err, {"interrupted after step", "(use --resume --out " + (folder / "run") + ")"});
  train_tiny(folder, "copy", "run", joined(more, {"--resume"}));
  EXPECT_EQ(slurp(folder / "run/model.safetensors"), slurp(folder / "whole/model.safetensors"));
}

}  // namespace
}  // namespace tapegrad::train
