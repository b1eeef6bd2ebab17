// The threads of parallel_for: a spin-then-park worker pool with a range of pieces per worker and stealing. TBB
// supplies the threads; the only file that includes TBB.
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>
#include <pthread.h>
#include <tapegrad/autograd/detail/pool_fresh.h>
#include <tapegrad/autograd/internal/events.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/kernels/processor.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/recording.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

namespace tapegrad {
namespace {

constexpr int kMaxWorkers = 256;
constexpr auto kSpin = std::chrono::microseconds(200);  // waking a parked worker takes 30 to 60 us

[[gnu::tls_model("initial-exec")]] constinit thread_local bool inside_piece = false;

struct InsidePiece {
  const bool before = std::exchange(inside_piece, true);
  ~InsidePiece() { inside_piece = before; }
};

// One step of waiting: spins at first (about 20 us in all), then yields the core to other threads.
void pause(int& turn) {
  if (++turn < 1000 || turn % 32 != 0) {
    pause_core();
  } else {
    std::this_thread::yield();
  }
}

// Runs one loop at a time. Every worker gets a range of the pieces, and takes pieces from the other ranges when its own
// is used up. A worker that has not arrived when no piece is left is not waited for: its work is withdrawn.
class WorkerPool {
 public:
  // Returns false if another thread's loop is running: the caller then runs its pieces itself.
  bool run(int64_t pieces, int shares, void (*call)(const void*, int64_t), const void* f) {
    if (busy_.test_and_set(std::memory_order_acquire)) return false;
    call_ = call;
    f_ = f;
    shares_ = shares;
    finished_.store(0, std::memory_order_relaxed);
    failed_.clear(std::memory_order_relaxed);
    profiled_ = detail::running_operation();
    for (int w = 0; w < shares; ++w) {
      workers_[w].next.store(pieces * w / shares, std::memory_order_relaxed);
      workers_[w].end = pieces * (w + 1) / shares;
    }
    for (int w = 1; w < shares; ++w) post(w);
    work(0);
    int arrived = 0;
    for (int w = 1; w < shares; ++w) arrived += !workers_[w].posted.exchange(false, std::memory_order_acq_rel);
    for (int turn = 0; finished_.load(std::memory_order_acquire) < arrived;) pause(turn);
    if (profiled_ >= 0) [[unlikely]]
      add_shares();
    const std::exception_ptr error = std::exchange(error_, nullptr);
    busy_.clear(std::memory_order_release);
    if (error) std::rethrow_exception(error);
    return true;
  }

  int count() const { return count_.load(std::memory_order_relaxed); }

  // Threads that can run at once: TBB has no more workers than processors, or than the system lets it make.
  int concurrency() const { return std::min({count(), most_.load(std::memory_order_relaxed), kMaxWorkers}); }

  void set_count(int n) {
    while (busy_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    if (n != count()) {
      count_.store(n);
      for (Worker& worker : workers_) worker.arena.reset();
    }
    busy_.clear(std::memory_order_release);
  }

  // In the child of a fork there are no workers: no thread holds the pool, and each loop runs in the calling thread.
  void abandon_workers() {
    most_ = 1;
    busy_.clear(std::memory_order_release);
  }

 private:
  struct alignas(64) Worker {
    std::atomic<int64_t> next{0};  // the first piece of its range that nobody has taken
    int64_t end = 0;
    std::atomic<bool> posted{false};    // there is work that it has not begun
    std::atomic<bool> occupied{false};  // a thread works or spins here
    detail::WorkerShare share;          // while a profiler is alive
    // Where TBB brings a thread to it. Each has its own, so that post() itself starts the thread.
    std::optional<tbb::task_arena> arena;
  };

  // The thread sanitizer does not see how TBB passes this on; spin_then_park() synchronises before it accesses
  // anything.
  struct Task {
    WorkerPool* pool;
    int w;
    __attribute__((no_sanitize("thread"))) void operator()() const { pool->spin_then_park(w); }
  };

  // Tells a spinning worker that there is work, or wakes a thread of TBB. Where the system does not make another thread
  // (a limit of processes), loops go on with those that there are.
  void post(int w) {
    Worker& worker = workers_[w];
    worker.posted.store(true);
    if (worker.occupied.load() || worker.occupied.exchange(true)) return;
    try {
      if (!worker.arena) worker.arena.emplace(2, 1);
      worker.arena->enqueue(Task{this, w});
    } catch (const std::exception&) {
      most_ = std::min(most_.load(), w);
    }
  }

  void spin_then_park(int w) {
    pool::make_thread_cache();
    Worker& worker = workers_[w];
    do {
      int turn = 0;
      for (auto since = std::chrono::steady_clock::now();;) {
        if (worker.posted.load(std::memory_order_relaxed) && worker.posted.exchange(false, std::memory_order_acq_rel)) {
          work_timed(w);
          finished_.fetch_add(1, std::memory_order_release);
          since = std::chrono::steady_clock::now();
          turn = 0;
        }
        pause(turn);
        if (turn % 64 == 0 && std::chrono::steady_clock::now() - since > kSpin) break;
      }
      worker.occupied.store(false);
    } while (worker.posted.load() && !worker.occupied.exchange(true));
  }

  void work(int first) {
    const InsidePiece inside;
    try {
      for (int w = 0; w < shares_; ++w) drain(workers_[(first + w) % shares_]);
    } catch (...) {
      if (!failed_.test_and_set(std::memory_order_acq_rel)) error_ = std::current_exception();
      for (int w = 0; w < shares_; ++w) workers_[w].next.store(workers_[w].end, std::memory_order_relaxed);
    }
  }

  void work_timed(int w) {
    if (profiled_ < 0) return work(w);
    const detail::WorkerTimer timer(profiled_, workers_[w].share);
    work(w);
  }

  void add_shares() {
    for (int w = 1; w < shares_; ++w) detail::add_share(std::exchange(workers_[w].share, {}));
  }

  void drain(Worker& worker) {
    while (worker.next.load(std::memory_order_relaxed) < worker.end) {
      const int64_t piece = worker.next.fetch_add(1, std::memory_order_relaxed);
      if (piece < worker.end) call_(f_, piece);
    }
  }

  std::atomic<int> most_{tbb::info::default_concurrency()};
  std::atomic<int> count_{most_.load()};
  std::atomic_flag busy_;

  void (*call_)(const void*, int64_t) = nullptr;
  const void* f_ = nullptr;
  int shares_ = 0;
  int64_t profiled_ = -1;  // the operation whose loop this is, while a profiler is alive
  std::atomic<int> finished_{0};
  std::atomic_flag failed_;
  std::exception_ptr error_;
  std::array<Worker, kMaxWorkers> workers_;
};

// Never destroyed: workers may still spin while the process ends.
WorkerPool& worker_pool() {
  static WorkerPool& pool = [&]() -> WorkerPool& {
    pthread_atfork(nullptr, nullptr, [] { worker_pool().abandon_workers(); });
    return *new WorkerPool;
  }();
  return pool;
}

// Made when the library is loaded: a fork while a thread makes it would leave the child waiting for that thread.
[[maybe_unused]] const WorkerPool& kWorkerPool = worker_pool();

}  // namespace

int num_threads() { return worker_pool().count(); }

void set_num_threads(int n) {
  constexpr std::string_view kWhere = "set_num_threads";
  if (n < 1) fail(kWhere, "expected at least 1 thread, got {}", n);
  if (inside_piece) fail(kWhere, "cannot be called inside a parallel_for (the loop would wait for itself)");
  worker_pool().set_count(n);
}

void detail::run_pieces(int64_t pieces, void (*call)(const void*, int64_t), const void* f) {
  const PauseRecording pause;  // as in the workers, which have no tape
  if (!inside_piece) {
    WorkerPool& pool = worker_pool();
    const int shares = static_cast<int>(std::min<int64_t>(pieces, pool.concurrency()));
    if (shares > 1 && pool.run(pieces, shares, call, f)) return;
  }
  const InsidePiece inside;
  for (int64_t piece = 0; piece < pieces; ++piece) call(f, piece);
}

}  // namespace tapegrad
