// Starts the command with fork and exec; its output goes to files.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tapegrad/autograd/io/internal/json_value.h>
#include <tapegrad/test_paths.h>
#include <tapegrad/tests/support/command_runner.h>
#include <tapegrad/tests/support/patterns.h>
#include <tapegrad/tests/support/stored.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace tapegrad::tests {
namespace fs = std::filesystem;
namespace {

void redirect(const std::string& file, int mode, int to) {
  if (file == "closed") {
    ::close(to);
    return;
  }
  if (file == "no reader") {
    int ends[2];
    if (::pipe(ends) != 0 || ::dup2(ends[1], to) < 0) ::_exit(126);
    for (const int end : ends) ::close(end);
    return;
  }
  const int opened = ::open(file.c_str(), mode, 0666);
  if (opened < 0 || ::dup2(opened, to) < 0) ::_exit(126);
  ::close(opened);
}

// The text with the paths that words_of() fills in.
std::string filled(std::string text, const TemporaryFolder& folder) {
  for (const auto& [name, path] : {std::pair{"{folder}", folder.path().string()}, {"{tests}", kTestsDir}})
    for (std::size_t at; (at = text.find(name)) != text.npos;) text.replace(at, std::strlen(name), path);
  return text;
}

}  // namespace

Arguments joined(Arguments first, const Arguments& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

Ran run_command(const Arguments& arguments, const RunSetting& setting) {
  return run_program(joined({kCommand}, arguments), setting);
}

Ran run_program(const Arguments& program, const RunSetting& setting) {
  const TemporaryFolder said;
  std::vector<char*> argv;
  for (const std::string& argument : program) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const std::string in = said / "in", out = said / "out", err = said / "err";
  spill(in, setting.input);

  const pid_t child = ::fork();
  if (child == 0) {
    redirect(setting.closed_input ? "closed" : in, O_RDONLY, STDIN_FILENO);
    redirect(setting.output.empty() ? out : setting.output, O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    redirect(setting.errors.empty() ? err : setting.errors, O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
    for (const std::string& variable : setting.environment) ::putenv(const_cast<char*>(variable.c_str()));
    if (!setting.folder.empty() && ::chdir(setting.folder.c_str()) != 0) ::_exit(126);
    if (setting.largest_file >= 0) {
      const rlimit limit{static_cast<rlim_t>(setting.largest_file), static_cast<rlim_t>(setting.largest_file)};
      if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(126);
    }
    if (setting.in_child) setting.in_child();
    ::execvp(argv.front(), argv.data());
    ::_exit(127);
  }
  if (setting.meanwhile) setting.meanwhile(child);
  const auto start = std::chrono::steady_clock::now();
  int status = 0;
  while (::waitpid(child, &status, setting.kill_after_seconds >= 0 ? WNOHANG : 0) == 0) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > setting.kill_after_seconds) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), slurp(out), slurp(err)};
}

bool has_program(const std::string& name) { return run_program({"sh", "-c", "command -v " + name}).code == 0; }

Ran successful(Ran ran, const char* file, int line) {
  if (ran.code == 0) return ran;
  ADD_FAILURE_AT(file, line) << "expected the exit code 0, got " << ran.code << "\n" << ran.out << ran.err;
  throw std::runtime_error("the command failed");
}

void expect_error(const Ran& ran, int code, const std::vector<std::string>& words) {
  EXPECT_EQ(ran.code, code) << ran.err;
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  for (const std::string& word : words) EXPECT_NE(ran.err.find(word), std::string::npos) << word << " in " << ran.err;
}

std::string rejected(const Ran& ran) {
  expect_error(ran, ran.code, {});
  return "exit " + std::to_string(ran.code) + ": " + ran.err.substr(0, ran.err.find('\n'));
}

Arguments words_of(const std::string& line, const TemporaryFolder& folder) {
  static const Pattern kWord(R"re("(?:[^"\\]|\\.)*"|[^ ]+)re");
  Arguments words;
  const std::string text = filled(line, folder);
  for (const Match& found : kWord.in(text)) {
    const std::string word = found[0];
    words.push_back(word.starts_with('"') ? Json::parse(word).get<std::string>() : word);
  }
  return words;
}

bool matches(std::string_view text, std::string_view pattern) {
  constexpr std::string_view kAny = "…";
  const std::size_t first = pattern.find(kAny);
  if (first == pattern.npos) return text == pattern;
  if (!text.starts_with(pattern.substr(0, first))) return false;
  text.remove_prefix(first);
  pattern.remove_prefix(first + kAny.size());
  for (std::size_t next; (next = pattern.find(kAny)) != pattern.npos; pattern.remove_prefix(next + kAny.size())) {
    const std::size_t found = text.find(pattern.substr(0, next));
    if (found == text.npos) return false;
    text.remove_prefix(found + next);
  }
  return text.ends_with(pattern);
}

void expect_errors(const std::string& file, const std::string& section, const TemporaryFolder& folder,
                   std::function<Ran(const Arguments&)> run) {
  if (!run) run = [&](const Arguments& words) { return run_command(words, folder); };
  for (const auto& [line, expected] : pairs_of_lines(file, section)) {
    const int code = expected.starts_with("exit 1: ") ? 1 : 2;
    const Ran ran = run(words_of(line, folder));
    EXPECT_EQ(ran.code, code) << line << "\n" << ran.err;
    EXPECT_TRUE(matches(ran.err, filled(expected.substr(code == 1 ? 8 : 0), folder) + "\n")) << line << "\n" << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << line << "\n" << ran.err;
    EXPECT_TRUE(code == 1 || ran.out.empty()) << line << "\n" << ran.out;
  }
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

void expect_narrow(const std::string& text) {
  const std::string command(kCommand);  // as tests call it, wherever the build is
  std::string typed = text;
  for (std::size_t at; (at = typed.find(command)) != std::string::npos;) typed.replace(at, command.size(), "tapegrad");
  for (const std::string& line : lines(typed))
    EXPECT_LE(
        std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }),
        80)
        << line;
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "tapegrad-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) std::abort();
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string printed_bits(const std::string& out) {
  const std::size_t before = out.rfind("\nbits ");
  return before == std::string::npos ? "" : out.substr(before + 1, out.find('\n', before + 1) - before - 1);
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) found.push_back(line);
  return found;
}

std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void spill(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

}  // namespace tapegrad::tests
