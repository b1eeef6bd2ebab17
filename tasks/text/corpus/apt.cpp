// Runs apt-get and apt-helper.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tasks/text/corpus/apt.h>
#include <tapegrad/tasks/train/files.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

extern char** environ;

namespace tapegrad::tasks {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDataDebian = "data debian";
constexpr const char* kHelper = "/usr/lib/apt/apt-helper";

struct Finished {
  int code = 0;  // exit code; 127 where there is no such program
  std::string out;
};

// Runs a program with its standard output, and if wanted its standard error, in Finished::out; standard input is empty.
Finished run_program(const std::vector<std::string>& words, bool with_errors) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    fail(kDataDebian, fmt::format("cannot start {}: {}", words[0], std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  if (with_errors)
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  else
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  posix_spawnattr_t attributes;  // the program has signals that this command ignores
  posix_spawnattr_init(&attributes);
  sigset_t ignored;
  sigemptyset(&ignored);
  for (const int signal : {SIGPIPE, SIGXFSZ}) sigaddset(&ignored, signal);
  posix_spawnattr_setsigdefault(&attributes, &ignored);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const int failed = ::posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  Finished finished;
  char buffer[1 << 16];
  for (ssize_t n = 1; failed == 0 && n != 0;) {
    n = ::read(ends[0], buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    finished.out.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  if (failed == ENOENT) return {127, {}};
  if (failed != 0) fail(kDataDebian, fmt::format("cannot start {}: {}", words[0], std::strerror(failed)));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  finished.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  return finished;
}

// apt's complaint: its first line that begins with E: or W:.
std::string complaint(const std::string& output) {
  for (std::size_t at = 0; at < output.size();) {
    const std::size_t end = std::min(output.find('\n', at), output.size());
    const std::string_view line(output.data() + at, end - at);
    if (line.starts_with("E: ") || line.starts_with("W: ")) return std::string(line.substr(3));
    at = end + 1;
  }
  return "no reason given";
}

std::string file_name(const fs::path& path) { return path.filename().string(); }

std::string contents(const std::vector<fs::path>& files) {
  std::string all;
  std::vector<std::string> packed{kHelper, "cat-file"};
  for (const fs::path& file : files) {
    if (kind_of_file(file.string()) != FileKind::file)
      fail("file", fmt::format("expected a regular file, got {}", file.string()));
    const std::string suffix = file.extension().string();
    if (suffix == ".lz4" || suffix == ".gz" || suffix == ".xz" || suffix == ".zst" || suffix == ".bz2")
      packed.push_back(file.string());
    else
      all += read_file(file.string()) + "\n";
  }
  if (packed.size() == 2) return all;
  Finished read = run_program(packed, false);
  if (read.code == 127)
    fail(kDataDebian,
         fmt::format("{} is compressed, and there is no {} to read it (Debian package apt)", packed[2], kHelper));
  if (read.code != 0) fail(kDataDebian, fmt::format("{} cannot read {}", kHelper, packed[2]));
  return all + read.out;
}

}  // namespace

fs::path fetch_lists(const AptSource& source, const fs::path& folder) {
  const fs::path absolute = fs::absolute(folder), settings = absolute / "apt.conf";
  const fs::path sources = absolute / "sources.list", lists = absolute / "lists";
  for (const std::string_view option : {std::string_view(source.mirror), std::string_view(source.release)})
    require(!option.empty() && option.find_first_of(" \t\n[]#") == std::string_view::npos,
            option == source.mirror ? "--mirror" : "--release",
            fmt::format("expected a name without spaces and brackets, got \"{}\"", option));
  train::create_folder(lists / "partial");
  constexpr std::string_view kKeys = "/usr/share/keyrings/debian-archive-keyring.gpg";
  replace_file(sources.string(), fmt::format("deb [arch=amd64{}] {} {} main\n",
                                             fs::exists(kKeys) ? fmt::format(" signed-by={}", kKeys) : "",
                                             source.mirror, source.release));
  // Read after the system's settings: no hooks, no caches, no other user to load as.
  replace_file(settings.string(),
               fmt::format("#clear APT::Update::Pre-Invoke;\n#clear APT::Update::Post-Invoke;\n"
                           "#clear APT::Update::Post-Invoke-Success;\n\n"
                           "Dir::State::Lists \"{0}/lists\";\nDir::Etc::SourceList \"{0}/sources.list\";\n"
                           "Dir::Etc::SourceParts \"/dev/null\";\nDir::Cache::pkgcache \"\";\n"
                           "Dir::Cache::srcpkgcache \"\";\nAcquire::Languages \"en\";\nAPT::Sandbox::User \"\";\n"
                           "APT::Update::Error-Mode \"any\";\n",
                           absolute.string()));
  const Finished update = run_program({"apt-get", "-q", "-c", settings.string(), "update"}, true);
  if (update.code == 127)
    fail(kDataDebian,
         "there is no apt-get (install Debian's package apt, or copy a folder of lists from a Debian machine and pass "
         "it as --lists)");
  if (update.code != 0) fail(kDataDebian, fmt::format("apt-get update failed: {}", complaint(update.out)));
  fs::remove(settings);
  fs::remove(sources);
  return lists;
}

PackageLists read_lists(const fs::path& folder, std::string_view option) {
  std::vector<fs::path> packages, translations;
  as_bad_request(option, [&] {
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(folder, code)) {
      const std::string name = file_name(entry.path());
      if (name.find("Packages") != std::string::npos && name.find("Packages.diff") == std::string::npos)
        packages.push_back(entry.path());
      if (name.find("Translation-en") != std::string::npos) translations.push_back(entry.path());
    }
    if (code) fail("lists", fmt::format("cannot read the folder {}: {}", folder.string(), code.message()));
  });
  require(!packages.empty(), option,
          fmt::format("{} has no file with Packages in its name, as apt's lists have", folder.string()));
  std::sort(packages.begin(), packages.end());
  std::sort(translations.begin(), translations.end());
  return {contents(packages), contents(translations)};
}

}  // namespace tapegrad::tasks
