// Atomic files: written completely or not at all, never through links, and without leftover temporary files.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/tests/support/command_runner.h>
#include <tapegrad/tests/support/near.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <set>
#include <string>

namespace tapegrad {
namespace {

namespace fs = std::filesystem;
using tests::error_of;
using tests::slurp;
using tests::spill;
using tests::TemporaryFolder;

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

TEST(AtomicFile, ReplacesAFileWhenItIsCommitted) {
  const TemporaryFolder folder;
  const std::string path = folder / "a";
  spill(path, "old");
  {
    AtomicFile file(path);
    file.write("new ?ontents");
    file.overwrite(4, "c");
    EXPECT_EQ(slurp(path), "old");
    EXPECT_EQ(names_in(folder.path()).size(), 2u);
    file.commit();
    EXPECT_EQ(slurp(path), "new contents");
  }
  { AtomicFile(path).write("lost"); }
  EXPECT_EQ(slurp(path), "new contents");
  EXPECT_EQ(names_in(folder.path()), (std::set<std::string>{"a"}));
}

TEST(AtomicFile, DoesNotFollowLinks) {
  const TemporaryFolder folder;
  const std::string path = folder / "checkpoint", other = folder / "elsewhere";
  spill(other, "precious");
  for (const char* name : {".checkpoint.new", ".tapegrad-0123456789abcdef.new", "checkpoint"})
    fs::create_symlink(other, folder / name);
  replace_file(path, "state");
  EXPECT_EQ(slurp(other), "precious");
  EXPECT_EQ(slurp(path), "state");
  EXPECT_FALSE(fs::is_symlink(path)) << "the link itself is replaced";
}

TEST(AtomicFile, NamesOfTemporaryFilesAreDrawnAtRandom) {
  const TemporaryFolder folder;
  const AtomicFile one(folder / "a"), other(folder / "a");
  const std::set<std::string> names = names_in(folder.path());
  ASSERT_EQ(names.size(), 2u);
  for (const std::string& name : names) {
    EXPECT_TRUE(name.starts_with(".tapegrad-") && name.ends_with(".new")) << name;
    EXPECT_EQ(name.size(), std::string(".tapegrad-0123456789abcdef.new").size());
  }
}

TEST(AtomicFile, RemovesFilesOfKilledProcesses) {
  const TemporaryFolder folder;
  spill(folder / ".tapegrad-0123456789abcdef.new", "left behind");
  spill(folder / ".tapegrad-notes.new", "not ours");
  const AtomicFile writing(folder / "b");  // in use: not removed
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file(folder / "c");
    file.write("half");
    ::raise(SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(names_in(folder.path()).size(), 3u) << "the child removed one and left one";
  replace_file(folder / "a", "x");
  const std::set<std::string> names = names_in(folder.path());
  EXPECT_EQ(names.size(), 3u);
  EXPECT_TRUE(names.contains("a") && names.contains(".tapegrad-notes.new"));
}

TEST(AtomicFile, ErrorsNameTheCause) {
  const TemporaryFolder folder;
  const std::string deeper = folder / "none/a";
  EXPECT_EQ(error_of([&] { replace_file(deeper, ""); }),
            "[file] cannot write " + deeper + ": No such file or directory");
  const std::string vanished = folder / "gone/a";
  fs::create_directory(folder / "gone");
  EXPECT_EQ(error_of([&] {
              AtomicFile file(vanished);
              fs::remove_all(folder / "gone");
              file.write("x");
              file.commit();
            }),
            "[file] cannot replace " + vanished + ": No such file or directory");
  const std::string full = folder / "full";
  fs::create_directories(full + "/x");
  EXPECT_EQ(error_of([&] { replace_file(full, ""); }), "[file] cannot replace " + full + ": Is a directory");
  EXPECT_EQ(error_of([&] { replace_file("/dev/full/a", ""); }), "[file] cannot write /dev/full/a: Not a directory");
}

TEST(ReadFile, HasABound) {
  const TemporaryFolder folder;
  const std::string path = folder / "a";
  spill(path, "12345");
  EXPECT_EQ(read_file(path, 5), "12345");
  EXPECT_EQ(error_of([&] { read_file(path, 4); }),
            "[file] " + path + " has more than 4 bytes, the most that is allowed here");
  EXPECT_EQ(error_of([&] { read_file("/dev/zero", 10000); }),
            "[file] /dev/zero has more than 10000 bytes, the most that is allowed here");
  EXPECT_EQ(error_of([&] { read_file(folder.path()); }),
            "[file] cannot read " + folder.path().string() + ": Is a directory");
}

}  // namespace
}  // namespace tapegrad
