// Child processes by fork, which send their results through pipes.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/tutorials/compare/processes.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <map>
#include <string_view>
#include <utility>

namespace tapegrad::tasks {
namespace {

constexpr std::string_view kCompare = "compare";
constexpr std::size_t kMostBytes = 4096;  // a pipe buffers this much

struct Child {
  int64_t job;
  int pipe;  // the end to read from
};

// The running children. The destructor kills those that remain.
struct Children {
  std::map<pid_t, Child> running;
  ~Children() {
    for (const auto& [pid, child] : running) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
      close(child.pipe);
    }
  }
};

[[noreturn]] void be_child(int pipe, int64_t number, const std::function<std::string(int64_t)>& job) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // the children of a killed comparison end, too
  std::string told;
  int code = 0;
  try {
    told = job(number);
  } catch (const std::exception& e) {
    told = e.what();
    code = 1;
  }
  const std::size_t size = std::min(told.size(), kMostBytes);
  if (write(pipe, told.data(), size) != static_cast<ssize_t>(size)) code = 1;
  _exit(code);
}

void start(Children& children, int64_t number, const std::function<std::string(int64_t)>& job) {
  int ends[2];
  if (pipe(ends) != 0) fail(kCompare, "cannot create another pipe");
  std::fflush(nullptr);  // otherwise the child would write the same buffered text
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    be_child(ends[1], number, job);
  }
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    fail(kCompare, "cannot start another process");
  }
  children.running[pid] = {number, ends[0]};
}

// Waits for any child to end: its job and text.
std::pair<int64_t, std::string> end_of_one(Children& children) {
  int status = 0;
  pid_t pid = 0;
  do pid = wait(&status);
  while (pid < 0 && errno == EINTR);
  const auto found = children.running.find(pid);
  if (found == children.running.end()) fail(kCompare, "an unknown child process ended");
  const Child child = found->second;
  children.running.erase(found);
  std::string told(kMostBytes, '\0');
  told.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(child.pipe, told.data(), told.size()))));
  close(child.pipe);
  if (WIFSIGNALED(status)) fail(kCompare, fmt::format("a run was ended by signal {}", WTERMSIG(status)));
  if (status != 0) throw Error(told);
  return {child.job, told};
}

}  // namespace

void in_processes(int64_t count, int at_once, const std::function<std::string(int64_t)>& job,
                  const std::function<void(int64_t, const std::string&)>& done) {
  Children children;
  for (int64_t next = 0; next < count || !children.running.empty();) {
    if (next < count && static_cast<int>(children.running.size()) < at_once) {
      start(children, next++, job);
      continue;
    }
    const auto [number, told] = end_of_one(children);
    done(number, told);
  }
}

}  // namespace tapegrad::tasks
