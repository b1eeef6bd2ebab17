// Atomic files: written completely or not at all, in the place of regular files alone, and without leftover temporary
// files. Readers that never wait for what has no end.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tapegrad/tests/support/special_files.h>
#include <tapegrad/tests/support/testing.h>
#include <unistd.h>

#include <csignal>

namespace tapegrad::tests {
namespace {

namespace fs = std::filesystem;

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

using AtomicFiles = InAFolder;

TEST_F(AtomicFiles, ReplacesAFileWhenItIsCommitted) {
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

TEST_F(AtomicFiles, KeepsThePermissionsOfTheFile) {
  const std::string path = folder / "a";
  struct stat status {};
  const auto mode_of = [&](const std::string& file) {
    EXPECT_EQ(::stat(file.c_str(), &status), 0);
    return status.st_mode & 07777;
  };
  for (const mode_t mode : {0600, 0640, 0444, 0755, 02750}) {
    spill(path, "old");
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    AtomicFile file(path);
    for (const std::string& name : names_in(folder.path()))
      EXPECT_EQ(mode_of(folder / name), mode) << "also while it is written";
    file.commit();
    EXPECT_EQ(mode_of(path), mode);
    fs::remove(path);
  }
  spill(path, "old");
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  fs::create_symlink(path, folder / "link");
  replace_file(folder / "link", "new");
  EXPECT_EQ(mode_of(path), 0600U) << "of the file that a link names";
  if (::geteuid() == 0) {  // others may not give files away
    ASSERT_EQ(::chown(path.c_str(), 1234, 4321), 0);
    replace_file(path, "new");
    EXPECT_EQ(mode_of(path), 0600U);
    EXPECT_EQ(status.st_uid, 1234U);
    EXPECT_EQ(status.st_gid, 4321U);
  }
  const mode_t mask = ::umask(027);
  replace_file(folder / "fresh", "new");
  ::umask(mask);
  EXPECT_EQ(mode_of(folder / "fresh"), 0640U);
}

TEST_F(AtomicFiles, DoesNotWriteThroughLinksOfTemporaryNames) {
  const std::string path = folder / "checkpoint", other = folder / "elsewhere";
  spill(other, "precious");
  for (const char* name : {".checkpoint.new", ".tapegrad-0123456789abcdef.new"})
    fs::create_symlink(other, folder / name);
  replace_file(path, "state");
  EXPECT_EQ(slurp(other), "precious");
  EXPECT_EQ(slurp(path), "state");
}

// The writers of this folder.
struct Writer {
  const char* name;
  std::function<void(const std::string& path)> write;
};
const std::vector<Writer>& writers() {
  static const std::vector<Writer> all{{"replace_file", [](const std::string& path) { replace_file(path, "new"); }},
                                       {"check_replaceable", [](const std::string& path) { check_replaceable(path); }},
                                       {"save_safetensors",
                                        [](const std::string& path) {
                                          save_safetensors(path, {{"x", ones({2})}});
                                        }},
                                       {"write_trace", [](const std::string& path) { Profiler().write_trace(path); }}};
  return all;
}

TEST_F(AtomicFiles, FollowsLinks) {
  for (const Writer& writer : writers()) {
    SCOPED_TRACE(writer.name);
    const bool writes = std::string(writer.name) != "check_replaceable";
    const TemporaryFolder folder;
    fs::create_directory(folder / "disk");
    spill(folder / "disk/model", "old");
    fs::create_symlink("disk/model", folder / "second");  // relative to its own folder
    fs::create_symlink(folder / "second", folder / "first");
    writer.write(folder / "first");
    EXPECT_TRUE(fs::is_symlink(folder / "first") && fs::is_symlink(folder / "second"));
    EXPECT_EQ(slurp(folder / "disk/model") != "old", writes);
    EXPECT_EQ(names_in(folder.path()), (std::set<std::string>{"disk", "first", "second"}));
    EXPECT_EQ(names_in(folder / "disk"), (std::set<std::string>{"model"})) << "the temporary file was there";

    fs::remove(folder / "disk/model");  // the links dangle
    writer.write(folder / "first");
    EXPECT_EQ(fs::is_regular_file(folder / "disk/model"), writes);
    EXPECT_TRUE(fs::is_symlink(folder / "first"));
    fs::remove_all(folder / "disk");
    EXPECT_ERROR(writer.write(folder / "first"));
    fs::create_symlink("round", folder / "round");
    EXPECT_ERROR(writer.write(folder / "round"));
  }
}

// Names in a folder, which may come from somebody else.
TEST_F(AtomicFiles, DoesNotFollowLinksInAFolder) {
  fs::create_directories(folder / "disk");
  fs::create_directories(folder / "run/own");
  spill(folder / "disk/model", "old");
  fs::create_symlink("../disk/model", folder / "run/model");
  fs::create_symlink("../disk/none", folder / "run/dangling");
  fs::create_symlink("../disk", folder / "run/inner");
  fs::create_directory_symlink("run", folder / "named");
  const auto refused = [&](const std::string& name, const std::string& link, const std::string& target) {
    const std::string path = (folder / "named/") + link;
    const std::string expected =
        "[file] cannot write " + path + ": expected a regular file or none there, got a link to " + target +
        " (links in a folder are not written through: remove it, or choose another folder with "
        "--out)";
    EXPECT_EQ(error_of([&] { replace_file({folder / "named", name}, "new"); }), expected);
    EXPECT_EQ(error_of([&] { check_replaceable({folder / "named/", name}); }), expected);
    EXPECT_EQ(error_of([&] { save_safetensors({folder / "named", name}, {{"x", ones({2})}}); }), expected);
    EXPECT_EQ(error_of([&] { Profiler().write_trace({folder / "named", name}); }), expected);
  };
  refused("model", "model", "../disk/model");
  refused("dangling", "dangling", "../disk/none");
  refused("inner/model", "inner", "../disk");
  refused("inner/new", "inner", "../disk");
  EXPECT_EQ(slurp(folder / "disk/model"), "old");
  EXPECT_EQ(names_in(folder / "disk"), (std::set<std::string>{"model"}));
  replace_file({folder / "named", "page"}, "1");
  replace_file(Destination(folder / "named", "own") / "page", "2");
  EXPECT_EQ(slurp(folder / "run/page") + slurp(folder / "run/own/page"), "12");
  EXPECT_ERROR(replace_file({folder / "run", "page/page"}, "3"));
  // The folder stays the one that was opened.
  AtomicFile file({folder / "run", "late"});
  fs::rename(folder / "run", folder / "moved");
  fs::create_symlink("disk", folder / "run");
  file.commit();
  EXPECT_TRUE(fs::exists(folder / "moved/late") && !fs::exists(folder / "disk/late"));
}

TEST_F(AtomicFiles, KeepsWhatIsNotAFile) {
  const SpecialFiles special(folder.path());
  for (const auto& entry : special.all()) {
    const std::string &path = entry.first, &what = entry.second;
    const struct stat before = status_of(path);
    for (const Writer& writer : writers()) {
      SCOPED_TRACE(std::string(writer.name) + " at " + path);
      EXPECT_EQ(error_of([&] { writer.write(path); }),
                "[file] cannot write " + path + ": expected a regular file or none there, got " + what +
                    (what == "a folder" ? " (name a file in it)" : " (write a file, then copy it there)"));
      const struct stat after = status_of(path);
      EXPECT_TRUE(before.st_ino == after.st_ino && before.st_mode == after.st_mode);
    }
  }
  for (const std::string& name : names_in(folder.path())) EXPECT_FALSE(name.starts_with(".tapegrad-")) << name;
}

// What appears at the path while the file is written is kept, too.
TEST_F(AtomicFiles, KeepsWhatAppearsMeanwhile) {
  AtomicFile pipe(folder / "pipe"), link(folder / "link");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  fs::create_symlink("elsewhere", folder / "link");
  EXPECT_NE(error_of([&] { pipe.commit(); }).find("got a pipe"), std::string::npos);
  EXPECT_ERROR(link.commit());
  EXPECT_TRUE(fs::is_fifo(folder / "pipe") && fs::is_symlink(folder / "link"));
}

// /proc has links to open files, some of which have no name.
TEST_F(AtomicFiles, OpenFilesWithoutANameAreRejected) {
  const std::string path = folder / "gone";
  spill(path, "x");
  const int file = ::open(path.c_str(), O_RDWR);
  fs::remove(path);
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  EXPECT_EQ(error_of([&] { replace_file(link, "y"); }),
            "[file] cannot write " + link +
                ": expected a regular file or none there, got a link to a file without a name (name a file in a "
                "folder)");
  ::close(file);
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST_F(AtomicFiles, SeveralThreadsReplaceOneFile) {
  const std::string path = folder / "a";
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) EXPECT_EQ(error_of([&] { replace_file(path, "contents"); }), "no error");
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(slurp(path), "contents");
}

TEST_F(AtomicFiles, NamesOfTemporaryFilesAreDrawnAtRandom) {
  const AtomicFile one(folder / "a"), other(folder / "a");
  const std::set<std::string> names = names_in(folder.path());
  ASSERT_EQ(names.size(), 2u);
  for (const std::string& name : names) {
    EXPECT_TRUE(name.starts_with(".tapegrad-") && name.ends_with(".new")) << name;
    EXPECT_EQ(name.size(), std::string(".tapegrad-0123456789abcdef.new").size());
  }
}

TEST_F(AtomicFiles, RemovesFilesOfKilledProcesses) {
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

TEST_F(AtomicFiles, ErrorsNameTheCause) {
  EXPECT_ERROR(replace_file(folder / "none/a", ""));
  fs::create_directory(folder / "gone");
  EXPECT_TEXT(error_of([&] {
    AtomicFile file(folder / "gone/a");
    fs::remove_all(folder / "gone");
    file.write("x");
    file.commit();
  }));
  const std::string full = folder / "full";
  fs::create_directories(full + "/x");
  EXPECT_ERROR(replace_file(full, ""));
  EXPECT_EQ(error_of([&] { replace_file("/dev/full/a", ""); }), "[file] cannot write /dev/full/a: Not a directory");
}

using ReadFiles = InAFolder;

TEST_F(ReadFiles, HasABound) {
  const std::string path = folder / "a";
  spill(path, "12345");
  EXPECT_EQ(read_file(path, 5), "12345");
  EXPECT_ERROR(read_file(path, 4));
  EXPECT_ERROR(read_file(folder.path()));
}

// Neither a pipe without a writer nor an endless device is waited for.
TEST_F(ReadFiles, RejectsWhatMayHaveNoEnd) {
  fs::create_symlink("/dev/zero", folder / "zero");
  const SpecialFiles special(folder.path());
  std::vector<std::pair<std::string, std::string>> all = special.all();
  all.emplace_back(folder / "zero", "a device");
  for (const auto& entry : all) {
    const std::string &path = entry.first, &what = entry.second;
    SCOPED_TRACE(path);
    const std::string expected = what == "a folder" ? ": Is a directory" : ": expected a regular file, got " + what;
    EXPECT_EQ(error_of([&] { read_file(path); }), "[file] cannot read " + path + expected);
    EXPECT_EQ(error_of([&] { read_start_of_file(path, 4); }), "[file] cannot read " + path + expected);
    if (what == "a folder") continue;
    EXPECT_NE(error_of([&] { load_safetensors(path); }), "no error");
    fs::create_symlink(path, path + ".index.json");
    expect_parts(error_of([&] { load_safetensors(path + ".index.json"); }), {"expected a regular file"});
  }
}

TEST_F(ReadFiles, ReadsPipesWhereTheyAreTexts) {
  const std::string path = folder / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const std::string text(300'000, 'x');
  std::thread writer([&] { spill(path, text); });
  EXPECT_EQ(read_file_or_pipe(path, text.size()), text);
  writer.join();
  EXPECT_EQ(read_file_or_pipe("/dev/null", 0), "");
  EXPECT_ERROR(read_file_or_pipe("/dev/zero", 1000));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "12345", 5), 5);
  EXPECT_ERROR(read_stream(ends[0], "the pipe", 4));
  spill(folder / "file", text);
  EXPECT_EQ(read_file_or_pipe(folder / "file", 4), text);  // a file has an end
  for (const int end : ends) ::close(end);
}

}  // namespace
}  // namespace tapegrad::tests
