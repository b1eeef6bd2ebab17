// The threads behind parallel_for: TBB workers that stay at hand for a moment between loops.
#include <tapegrad/autograd/parallel.h>

#include <fmt/format.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <tapegrad/autograd/error.h>

namespace tapegrad {
namespace {

constexpr int kMaxThreads = 256;                        // more are accepted, and share the pieces of these
constexpr auto kStay = std::chrono::microseconds(200);  // waking a sleeping worker takes 30 to 60 us

thread_local bool inside_piece = false;

// Waits a little: at first on the spot (about 20 us in all), then others may have the core.
void pause(int& turn) {
  if (++turn < 1000 || turn % 32 != 0) {
    __builtin_ia32_pause();
  } else {
    std::this_thread::yield();
  }
}

// One loop at a time, and the helpers that take part in it. A helper that has not arrived when the pieces are
// all given out is not waited for: its invitation is withdrawn.
class Crew {
 public:
  // False when another thread's loop is under way.
  bool run(int64_t pieces, int shares, void (*call)(const void*, int64_t), const void* f) {
    if (busy_.test_and_set(std::memory_order_acquire)) return false;
    call_ = call;
    f_ = f;
    shares_ = shares;
    left_.store(0, std::memory_order_relaxed);
    failed_.clear(std::memory_order_relaxed);
    for (int s = 0; s < shares; ++s) {
      seats_[s].next.store(pieces * s / shares, std::memory_order_relaxed);
      seats_[s].end = pieces * (s + 1) / shares;
    }
    for (int s = 1; s < shares; ++s) invite(s);
    work(0);
    int arrived = 0;
    for (int s = 1; s < shares; ++s) arrived += !seats_[s].invited.exchange(false, std::memory_order_acq_rel);
    for (int turn = 0; left_.load(std::memory_order_acquire) < arrived;) pause(turn);
    const std::exception_ptr error = std::exchange(error_, nullptr);
    busy_.clear(std::memory_order_release);
    if (error) std::rethrow_exception(error);
    return true;
  }

  int count() const { return count_.load(std::memory_order_relaxed); }

  void set_count(int n) {
    while (busy_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    if (n != count()) {
      count_.store(n);
      arena_.reset();
      limit_.reset();
    }
    busy_.clear(std::memory_order_release);
  }

 private:
  // A thread's place: it starts on the pieces here, then takes from the others.
  struct alignas(64) Seat {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
    std::atomic<bool> invited{false}, taken{false};  // taken: a helper is here, working or staying
  };

  // The thread sanitizer cannot see TBB hand this over; stay() synchronises by itself before it touches
  // anything.
  struct Helper {
    Crew* crew;
    int s;
    __attribute__((no_sanitize("thread"))) void operator()() const { crew->stay(s); }
  };

  void invite(int s) {
    seats_[s].invited.store(true);
    if (seats_[s].taken.load() || seats_[s].taken.exchange(true)) return;
    if (!arena_) {
      limit_.emplace(tbb::global_control::max_allowed_parallelism,
                     count());  // TBB's own is the number of cores
      arena_.emplace(count(), 1);
    }
    arena_->enqueue(Helper{this, s});
  }

  void stay(int s) {
    Seat& seat = seats_[s];
    do {
      int turn = 0;
      for (auto since = std::chrono::steady_clock::now();;) {
        if (seat.invited.load(std::memory_order_relaxed) && seat.invited.exchange(false, std::memory_order_acq_rel)) {
          work(s);
          left_.fetch_add(1, std::memory_order_release);
          since = std::chrono::steady_clock::now();
          turn = 0;
        }
        pause(turn);
        if (turn % 64 == 0 && std::chrono::steady_clock::now() - since > kStay) break;
      }
      seat.taken.store(false);
    } while (seat.invited.load() && !seat.taken.exchange(true));
  }

  void work(int first) {
    inside_piece = true;
    try {
      for (int s = 0; s < shares_; ++s) drain(seats_[(first + s) % shares_]);
    } catch (...) {
      if (!failed_.test_and_set(std::memory_order_acq_rel)) error_ = std::current_exception();
      for (int s = 0; s < shares_; ++s) seats_[s].next.store(seats_[s].end, std::memory_order_relaxed);
    }
    inside_piece = false;
  }

  void drain(Seat& seat) {
    while (seat.next.load(std::memory_order_relaxed) < seat.end) {
      const int64_t piece = seat.next.fetch_add(1, std::memory_order_relaxed);
      if (piece < seat.end) call_(f_, piece);
    }
  }

  std::atomic<int> count_{tbb::info::default_concurrency()};
  std::atomic_flag busy_;
  std::optional<tbb::task_arena> arena_;
  std::optional<tbb::global_control> limit_;

  void (*call_)(const void*, int64_t) = nullptr;
  const void* f_ = nullptr;
  int shares_ = 0;
  std::atomic<int> left_{0};
  std::atomic_flag failed_;
  std::exception_ptr error_;
  std::array<Seat, kMaxThreads> seats_;
};

// Never destroyed: helpers may still be looking while the process ends.
Crew& crew() {
  static Crew& c = *new Crew;
  return c;
}

}  // namespace

int num_threads() { return crew().count(); }

void set_num_threads(int n) {
  if (n < 1) fail("set_num_threads", fmt::format("{} threads given, at least 1 is needed", n));
  crew().set_count(n);
}

void detail::run_pieces(int64_t pieces, void (*call)(const void*, int64_t), const void* f) {
  if (!inside_piece) {
    Crew& c = crew();
    const int shares = static_cast<int>(std::min<int64_t>({pieces, c.count(), kMaxThreads}));
    if (shares > 1 && c.run(pieces, shares, call, f)) return;
  }
  for (int64_t piece = 0; piece < pieces; ++piece) call(f, piece);
}

}  // namespace tapegrad
