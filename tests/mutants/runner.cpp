// Runs the mutants of one source file, whose mutated copy is loaded before the library, on the samples of operations.
//
//   mutants_runner SEED NUMBER SECONDS DONE
//
// At most NUMBER mutants in an order by SEED, for at most SECONDS; DONE is a file of mutants that are left out, a
// number per line. Each mutant is a fork of this process, which has the samples, and knows which of them reach which
// site. Lines of the output, with tabs between the fields:
//
//   reached SITE TYPE
//   control NAME VERDICT            every: wrong everywhere, must be killed; none: no mutant, must survive
//   mutant SITE KIND TYPE VERDICT MILLISECONDS SAMPLES TEXT      VERDICT: killed, crash, timeout, survived, unchanged
//                                                                (of zeros: in no sample another value);
//                                                                SAMPLES: how many were checked, of how many
//   end REASON
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/tapegrad.h>
#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace tapegrad::tests {

using tasks::check_sample;
using tasks::find_op;
using tasks::op_samples;
using tasks::OpSample;
using tasks::OpSamples;
using tasks::spread;
namespace {

constexpr int kMostSites = 8192;
constexpr int kEverySite = -2;
constexpr int kUnchanged = 4;                          // status of a process whose mutant never changed a value
constexpr int kKinds[] = {0, 4, 2, 1, 2, 2, 1, 1, 2};  // mutants of a type, of mutant.h
constexpr double kForChecks = 3;                       // seconds: whole checks before the first mutant
constexpr double kForAMutant = 3;                      // seconds: checks of a mutant that survives

// Seconds, and seconds of this process's processor time: other programs may run, too.
double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double used() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Ends the process by SIGPROF after so many seconds of processor time.
void limit_time(double seconds) {
  const struct itimerval timer = {.it_interval = {},
                                  .it_value = {.tv_sec = static_cast<time_t>(seconds), .tv_usec = 0}};
  setitimer(ITIMER_PROF, &timer, nullptr);
}

// A sample, the sites that its check reaches, and how long the check takes.
struct Reaching {
  const std::string* op;
  const OpSample* sample;
  std::vector<int> sites;
  double seconds = 0;
  bool checked = false;
};

class Runner {
 public:
  Runner()
      : mutant_(find<int>("tapegrad_mutant")),
        reached_(find<unsigned char>("tapegrad_reached")),
        changed_(find<int>("tapegrad_changed")) {}

  // Passes of every sample, then whole checks of those that reach a site, the quickest first.
  bool prepare() {
    for (const OpSamples& op : op_samples()) {
      for (const OpSample& sample : op.samples) {
        Reaching found{.op = &op.op, .sample = &sample, .sites = {}};
        const double start = used();
        note(found, [&] { pass(op.op, sample); });
        found.seconds = 30 * (used() - start);
        if (!found.sites.empty()) samples_.push_back(std::move(found));
      }
    }
    std::stable_sort(samples_.begin(), samples_.end(), [](auto& a, auto& b) { return a.seconds < b.seconds; });
    const double start = used();
    std::set<std::string_view> ops;
    for (const bool first : {true, false}) {  // one sample of each operation before others
      for (Reaching& one : samples_) {
        if (one.checked || (first && !ops.insert(*one.op).second)) continue;
        if (!first && used() - start > kForChecks) break;
        if (!check_before(one)) return false;
      }
    }
    std::stable_sort(samples_.begin(), samples_.end(), [](auto& a, auto& b) { return a.seconds < b.seconds; });
    for (int site = 0; site < kMostSites; ++site) {
      if (types_[site]) std::printf("reached\t%d\t%d\n", site, types_[site]);
    }
    return true;
  }

  void control(const char* name, int mutant) {
    std::vector<const Reaching*> all;
    for (const Reaching& one : samples_) {
      if (one.checked) all.push_back(&one);
    }
    if (!all.empty()) std::printf("control\t%s\t%s\n", name, run(mutant, all).verdict.c_str());
  }
  void controls() {
    control("every", kEverySite);
    control("none", -1);
  }

  const char* run_all(unsigned seed, std::size_t number, double seconds, const std::set<int>& done) {
    std::vector<int> todo;
    for (int site = 0; site < kMostSites; ++site) {
      for (int kind = 0; kind < kKinds[types_[site]]; ++kind) {
        if (!done.contains(site * 8 + kind)) todo.push_back(site * 8 + kind);
      }
    }
    std::shuffle(todo.begin(), todo.end(), std::mt19937(seed));
    const double start = now();
    for (std::size_t i = 0; i < todo.size(); ++i) {
      if (i >= number) return "number";
      if (now() - start > seconds) return "seconds";
      const int site = todo[i] / 8;
      std::vector<const Reaching*> reaching;
      for (const Reaching& one : samples_) {
        if (std::ranges::binary_search(one.sites, site)) reaching.push_back(&one);
      }
      const double begin = now();
      const Result result = run(todo[i], reaching);
      std::printf("mutant\t%d\t%d\t%d\t%s\t%.0f\t%d of %zu\t%s\n", site, todo[i] % 8, types_[site],
                  result.verdict.c_str(), 1000 * (now() - begin), result.checked, reaching.size(), result.text.c_str());
      std::fflush(stdout);
    }
    return "all";
  }

 private:
  struct Result {
    std::string verdict, text;
    int checked = 0;
  };

  template <class T>
  static T* find(const char* name) {
    void* const found = dlsym(RTLD_DEFAULT, name);
    if (!found) std::fprintf(stderr, "%s is missing: is the mutated copy loaded?\n", name), std::exit(2);
    return static_cast<T*>(found);
  }

  // Runs f, and adds the sites that it reaches to those of a sample.
  template <class F>
  void note(Reaching& of, F f) {
    std::memset(reached_, 0, kMostSites);
    f();
    std::vector<int> sites;
    for (int site = 0; site < kMostSites; ++site) {
      const unsigned char type = reached_[site];
      if (!type) continue;
      sites.push_back(site);
      if (types_[site] == 0 || types_[site] > type) types_[site] = type;
    }
    std::vector<int> both;
    std::ranges::set_union(of.sites, sites, std::back_inserter(both));
    of.sites = std::move(both);
  }

  // Forward, backward, and backward of backward.
  static void pass(std::string_view op, const OpSample& sample) {
    const Op* const found = find_op(op);
    for (const bool twice : {false, true}) {
      if (twice && found && !found->twice) continue;
      Tape tape;
      std::vector<Tensor> leaves;
      for (const Tensor& x : sample.inputs) leaves.push_back(is_floating(x.dtype()) ? x.as_leaf() : x);
      const Tensor y = sample.f(leaves);
      if (tape.position_of(y) < 0) return;
      const Gradients grads = tape.backward(y, {.create_graph = twice, .grad_output = spread(y.shape()), .keep = {}});
      Tensor total;
      for (const Tensor& leaf : leaves) {
        const Tensor* const dx = is_floating(leaf.dtype()) ? grads.find(leaf) : nullptr;
        if (dx && twice) total = total.defined() ? total + sum(*dx * *dx) : sum(*dx * *dx);
      }
      if (total.defined() && tape.position_of(total) >= 0) (void)tape.backward(total);
    }
  }

  bool check_before(Reaching& one) {
    const double start = used();
    GradcheckReport report;
    note(one, [&] { report = check_sample(*one.op, *one.sample); });
    one.seconds = used() - start;
    one.checked = true;
    if (!report.ok)
      std::printf("end\tfails without mutants: %s %s: %s\n", one.op->c_str(), one.sample->label.c_str(),
                  report.text.c_str());
    return report.ok;
  }

  // In the fork: the first sample that fails. Survivors end with status 0.
  [[noreturn]] void check(int mutant, const std::vector<const Reaching*>& samples, int pipe) const {
    struct rlimit limit = {rlim_t{6} << 30, rlim_t{6} << 30};
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_AS, &limit);
    setrlimit(RLIMIT_CORE, &no_core);
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, 1), dup2(null, 2);
    *mutant_ = mutant;
    alarm(600);  // a mutant that waits
    const double start = used();
    int count = 0;
    for (const Reaching* const one : samples) {
      if (used() - start > kForAMutant) break;
      limit_time(3 + 20 * one->seconds);
      std::string text;
      try {
        text = check_sample(*one->op, *one->sample).text;
      } catch (const std::exception& error) {
        text = error.what();
      }
      ++count;
      (void)!write(pipe, &count, sizeof(count));
      if (text.empty()) continue;
      text = *one->op + ", " + one->sample->label + ": " + text;
      count = -1;
      (void)!write(pipe, &count, sizeof(count));
      (void)!write(pipe, text.data(), std::min<std::size_t>(text.size(), 200));
      _exit(1);
    }
    _exit(*changed_ || mutant < 0 ? 0 : kUnchanged);
  }

  Result run(int mutant, const std::vector<const Reaching*>& samples) const {
    int ends[2];
    if (pipe(ends)) std::perror("pipe"), std::exit(2);
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) check(mutant, samples, ends[1]);
    close(ends[1]);
    Result result;
    int count = 0;
    while (count >= 0 && read(ends[0], &count, sizeof(count)) == sizeof(count)) {
      if (count >= 0) result.checked = count;
    }
    char buffer[256];
    for (ssize_t n; count < 0 && (n = read(ends[0], buffer, sizeof(buffer))) > 0;)
      result.text.append(buffer, static_cast<std::size_t>(n));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    std::ranges::replace_if(
        result.text, [](char c) { return c == '\n' || c == '\t'; }, ' ');
    const bool signal = WIFSIGNALED(status);
    result.verdict = signal && WTERMSIG(status) == SIGALRM ? "timeout"
                     : signal                              ? "crash"
                     : status                              ? "killed"
                                                           : "survived";
    return result;
  }

  int* mutant_;
  unsigned char* reached_;
  int* changed_;
  unsigned char types_[kMostSites] = {};
  std::vector<Reaching> samples_;
};

}  // namespace
}  // namespace tapegrad::tests

int main(int count, char** arguments) {
  if (count != 5) return std::fprintf(stderr, "mutants_runner SEED NUMBER SECONDS DONE\n"), 2;
  std::set<int> done;
  std::ifstream file(arguments[4]);
  for (int mutant; file >> mutant;) done.insert(mutant);
  tapegrad::set_num_threads(1);
  tapegrad::tests::Runner runner;
  if (!runner.prepare()) return 3;
  if (done.empty()) runner.controls();
  const char* const reason = runner.run_all(static_cast<unsigned>(std::atol(arguments[1])),
                                            std::strtoul(arguments[2], nullptr, 10), std::atof(arguments[3]), done);
  std::printf("end\t%s\n", reason);
}
