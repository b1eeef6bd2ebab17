// Waits with a deadline, and collective functions on bytes.
#include <fmt/format.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/distributed/detail/group.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

namespace tapegrad::distributed::detail {
namespace {

constexpr std::string_view kGroupName = "world";
constexpr int kTag = 32'002;                  // and the next one
constexpr int64_t kPiece = int64_t{1} << 20;  // bytes of a broadcast that move on while the next ones arrive
constexpr double kForever = std::numeric_limits<double>::infinity();
constexpr double kLooks = 16;  // at what the others report, until the first limit

double or_forever(double seconds) { return seconds > 0 ? seconds : kForever; }

// How long a process that has waited so long looks for messages before it sleeps, and then sleeps.
struct Rest {
  double look, sleep;
};
Rest rest_after(double waited) {
  constexpr double kLook = 50e-6, kSpin = 20e-3, kMost = 5e-3;
  return {kLook, waited < kSpin ? 0 : std::min(waited / 16, kMost)};
}

double seconds_between(std::chrono::steady_clock::time_point begin, std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

std::string_view name(Call call) {
  constexpr std::string_view kNames[] = {
      "broadcast", "all_reduce",    "reduce_scatter",         "all_gather",          "barrier",
      "agree",     "require_equal", "a step of DataParallel", "DataParallel::state", "the end of the World"};
  return kNames[static_cast<std::size_t>(call)];
}

// --- waiting ---

Group::Group(Transport& transport)
    : transport_(transport), process_(::getpid()), roll_(std::make_unique<RollCall>(transport)) {}

void Group::require_whole() const {
  if (!broken_.empty()) throw Error(broken_);
}

void Group::break_with(std::string_view message) {
  broken_ = error_text(kGroupName, message);
  transport_.stop();
  throw Error(broken_);
}

void Group::wait(Exchange& messages, std::string_view what) {
  require_whole();
  using Clock = std::chrono::steady_clock;
  constexpr double kLongest = 0.1;  // of a round: what is more, this process was stopped
  const Whereabouts own(what, step_);
  int64_t moved = messages.moved();
  double waited = 0, next = first_limit() / kLooks;
  bool warned = false;
  for (Clock::time_point last = Clock::now(); !messages.done();) {
    const Rest rest = rest_after(waited);
    if (rest.sleep > 0) std::this_thread::sleep_for(std::chrono::duration<double>(rest.sleep));
    for (const Clock::time_point begin = Clock::now(); seconds_between(begin, Clock::now()) < rest.look;) {
      if (messages.done()) break;
      std::this_thread::yield();
    }
    const Clock::time_point now = Clock::now();
    const double round = std::min(seconds_between(last, now), kLongest);
    last = now;
    attended_ += round;
    waited = messages.moved() == moved ? waited + round : 0;
    moved = messages.moved();
    if (waited == 0) next = first_limit() / kLooks;
    if (waited < next) continue;
    look_after(waited, own);
    next = waited + first_limit() / kLooks;
    if (!warned && waited >= or_forever(patience_.warning_s)) {
      warned = true;
      warn(waited, own);
    }
    if (waited >= or_forever(patience_.timeout_s)) give_up(own);
  }
  if (!messages.failure().empty())
    break_with(fmt::format("{} while this process waited for {} (do all processes make the same calls?)",
                           messages.failure(), own.text()));
}

double Group::first_limit() const { return std::min(or_forever(patience_.warning_s), or_forever(patience_.timeout_s)); }

// A process that has waited for half of the first limit reports to all others; those that wait, too, answer.
void Group::look_after(double waited, const Whereabouts& own) {
  roll_->listen(attended_);
  const bool asked = static_cast<int>(missing().size()) < size() - 1;
  if (asked || waited >= first_limit() / 2) roll_->report(own);
}

std::vector<int> Group::missing() const { return roll_->missing(attended_ - first_limit() / 2); }

void Group::warn(double waited, const Whereabouts& own) const {
  const std::vector<int> missing = this->missing();
  for (int r = 0; r < rank(); ++r)
    if (std::find(missing.begin(), missing.end(), r) == missing.end()) return;  // it prints
  const std::string what = missing.empty() ? "no message arrives, though every process waits"
                                           : fmt::format("{} of {} {} missing", text_of_ranks(missing), size(),
                                                         missing.size() == 1 ? "is" : "are");
  std::fputs(fmt::format("note: rank {} has waited {:.3g} s for {}: {}\n", rank(), waited, own.text(), what).c_str(),
             stderr);
}

void Group::give_up(const Whereabouts& own) {
  roll_->listen(attended_);
  const std::vector<int> missing = this->missing();
  std::string message;
  if (missing.empty()) {
    message = fmt::format("no message has arrived for {:.3g} s, though every process waits: rank {} for {}",
                          patience_.timeout_s, rank(), own.text());
    for (int r = 0; r < size(); ++r)
      if (r != rank()) message += fmt::format(", rank {} for {}", r, roll_->reported_by(r).text());
    message += " (is a connection lost?)";
  } else {
    message = fmt::format(
        "{} of {} {} missing: the others have waited {:.3g} s for {} (does it still compute, has it "
        "stopped, or is its connection lost?)",
        text_of_ranks(missing), size(), missing.size() == 1 ? "is" : "are", patience_.timeout_s, own.text());
  }
  break_with(message);
}

// --- collective functions ---

// A binomial tree, by pieces: a process passes a piece on while the next one arrives.
void Group::broadcast(void* data, int64_t bytes, int root) {
  require_whole();
  const int n = size(), place = (rank() - root + n) % n;
  const auto at = [&](int64_t begin) { return static_cast<char*>(data) + begin; };
  const auto piece = [&](int64_t begin) { return std::min(kPiece, bytes - begin); };
  int above = 1;  // the lowest bit of place
  while (above < n && (place & above) == 0) above <<= 1;
  std::vector<std::unique_ptr<Exchange>> arriving;
  if (place > 0)
    for (int64_t begin = 0; begin < bytes; begin += kPiece)
      arriving.emplace_back(exchange())->receive(at(begin), piece(begin), (place - above + root) % n, kTag);
  const auto leaving = exchange();
  for (int64_t begin = 0; begin < bytes; begin += kPiece) {
    if (place > 0) wait(*arriving[static_cast<std::size_t>(begin / kPiece)], "broadcast");
    for (int below = above >> 1; below > 0; below >>= 1)
      if (place + below < n) leaving->send(at(begin), piece(begin), (place + below + root) % n, kTag);
  }
  wait(*leaving, "broadcast");
}

// Bruck et al. 1997: each process has the parts of twice as many after every round.
void Group::all_gather(const void* own, int64_t bytes, void* all, std::string_view what) {
  require_whole();
  const int n = size();
  std::vector<char> parts(static_cast<std::size_t>(n * bytes));  // those of rank(), rank() + 1, ...
  std::copy_n(static_cast<const char*>(own), bytes, parts.data());
  for (int known = 1; known < n; known *= 2) {
    const int64_t count = std::min(known, n - known) * bytes;
    const auto round = exchange();
    round->receive(parts.data() + known * bytes, count, (rank() + known) % n, kTag + 1);
    round->send(parts.data(), count, (rank() - known + n) % n, kTag + 1);
    wait(*round, what);
  }
  for (int i = 0; i < n; ++i)
    std::copy_n(parts.data() + i * bytes, bytes, static_cast<char*>(all) + (rank() + i) % n * bytes);
}

// As all_gather, but a message does not grow: each process has what twice as many have combined after every round.
void Group::all_combine(void* own, int64_t bytes, std::string_view what,
                        const std::function<void(const char*)>& combine) {
  require_whole();
  const int n = size();
  std::vector<char> theirs(static_cast<std::size_t>(bytes));
  for (int known = 1; known < n; known *= 2) {
    const auto round = exchange();
    round->receive(theirs.data(), bytes, (rank() + known) % n, kTag + 1);
    round->send(own, bytes, (rank() - known + n) % n, kTag + 1);
    wait(*round, what);
    combine(theirs.data());
  }
}

Met Group::meet(std::string_view where, const Meeting& own, const Range& range) {
  // Of some processes: what the first one says, and the first one that makes another call, or else says something else.
  struct Said {
    int rank = 0, other_rank = 0;
    Meeting first, other;
    Range range;
  } said{rank(), rank(), own, own, range};
  all_combine(&said, sizeof said, own.call == Call::step ? "the gradients" : name(own.call), [&](const char* bytes) {
    Said theirs;
    std::memcpy(&theirs, bytes, sizeof theirs);
    if (theirs.rank < said.rank) std::swap(said, theirs);
    const auto order = [&](int rank, const Meeting& meeting) {
      return std::pair(meeting.call == said.first.call, rank);
    };
    for (const auto& [rank, meeting] : {std::pair(theirs.rank, &theirs.first), {theirs.other_rank, &theirs.other}})
      if (*meeting != said.first &&
          (said.other == said.first || order(rank, *meeting) < order(said.other_rank, said.other)))
        said.other_rank = rank, said.other = *meeting;
    said.range = {std::min(said.range.least, theirs.range.least), std::max(said.range.most, theirs.range.most)};
  });
  if (said.first.call != said.other.call)
    fail(where, fmt::format("expected the same call on every process, got {} on rank 0, {} on rank {}",
                            name(said.first.call), name(said.other.call), said.other_rank));
  return {said.first, said.other, said.first == said.other ? 0 : said.other_rank, said.range};
}

namespace {

// The first line that two texts do not share, "nothing" at the end.
std::pair<std::string, std::string> first_difference(const std::string& a, const std::string& b) {
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const auto line = [](const std::string& text, std::size_t at) {
    const std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    const std::string found = text.substr(begin, text.find('\n', begin) - begin);
    return found.empty() ? std::string("none") : found;
  };
  return {line(a, static_cast<std::size_t>(x - a.begin())), line(b, static_cast<std::size_t>(y - b.begin()))};
}

}  // namespace

void Group::require_equal(std::string_view where, std::string_view what, const std::string& lines) {
  const auto hash = static_cast<int64_t>(std::hash<std::string>()(lines));
  const Met met = meet(where, {.call = Call::require_equal, .sizes = {hash, static_cast<int64_t>(lines.size())}});
  if (met.rank == 0) return;
  std::string first = lines, other = lines;
  first.resize(static_cast<std::size_t>(met.first.sizes[1]));
  other.resize(static_cast<std::size_t>(met.other.sizes[1]));
  broadcast(first.data(), met.first.sizes[1], 0);
  broadcast(other.data(), met.other.sizes[1], met.rank);
  const auto [one, two] = first_difference(first, other);
  fail(where,
       fmt::format("expected the same {} on every process, got {} on rank 0, {} on rank {}", what, one, two, met.rank));
}

void Group::keep(std::shared_ptr<void> memory) {
  static auto& mutex = *new std::mutex;
  static auto& kept = *new std::vector<std::shared_ptr<void>>;  // never freed
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(memory));
}

void Group::finish() {
  if (::getpid() != process_) return;
  try {
    meet(kGroupName, {.call = Call::end});
    roll_.reset();
    return transport_.finish();
  } catch (const Error& error) {
    std::fputs(fmt::format("rank {}: {}\n", rank(), error.what()).c_str(), stderr);
  }
  std::fflush(nullptr);
  transport_.abort();
}

}  // namespace tapegrad::distributed::detail
