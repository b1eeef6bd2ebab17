#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/internal/thread_draws.h>
#include <tapegrad/autograd/limits.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/train/data/data_loader.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace tapegrad::data::detail {
namespace {

constexpr std::string_view kDataLoader = "data_loader";
constexpr int64_t kMostPrefetch = 1 << 20;

}  // namespace

// ---- BatchPlan ----

BatchPlan::BatchPlan(int64_t examples, LoaderOptions options)
    : examples_(examples), batch_size_(options.batch_size), prefetch_(options.prefetch), drop_last_(options.drop_last) {
  require_in(kDataLoader, "batch_size", batch_size_, {.least = 1});
  require_in(kDataLoader, "prefetch", prefetch_, {.least = 0, .most = kMostPrefetch});
  if (options.sampler && options.shuffle) fail(kDataLoader, "expected shuffle or a sampler, got both");
  sampler_ = options.sampler   ? *std::move(options.sampler)
             : options.shuffle ? shuffled(examples)
                               : sequential(examples);
  require_in(kDataLoader, "the sampler's size", sampler_.size, kNotNegative);
  if (sampler_.order && sampler_.index_at) fail(kDataLoader, "expected a sampler with order or index_at, got both");
  if (!sampler_.order && !sampler_.index_at && sampler_.size > examples) {
    fail(kDataLoader, "expected at most {} indices from a sequential sampler, got {}", examples, sampler_.size);
  }
  prefetch_ = std::min(prefetch_, std::max<int64_t>(batches(), 1));
}

int64_t BatchPlan::batches() const {
  return sampler_.size / batch_size_ + (!drop_last_ && sampler_.size % batch_size_ != 0 ? 1 : 0);
}

EpochOrder BatchPlan::draw(LoaderPosition& position, Generator& generator) const {
  if (!sampler_.order && !sampler_.index_at) return std::identity();
  constexpr uint64_t kPositive = ~uint64_t{0} >> 1;
  if (!position.order_seed) position.order_seed = generator.random64() & kPositive;
  if (sampler_.index_at) return sampler_.index_at(*position.order_seed);
  Generator own(*position.order_seed);
  std::vector<int64_t> order = sampler_.order(own);
  if (static_cast<int64_t>(order.size()) != sampler_.size) {
    fail(kDataLoader, "expected {} indices from the sampler, got {}", sampler_.size, order.size());
  }
  check_indices(order, examples_);
  return [order = std::move(order)](int64_t i) { return order[static_cast<std::size_t>(i)]; };
}

std::vector<int64_t> BatchPlan::indices(int64_t batch, const EpochOrder& order) const {
  const int64_t first = batch * batch_size_, count = std::min(batch_size_, sampler_.size - first);
  std::vector<int64_t> out(static_cast<std::size_t>(count));
  std::ranges::generate(out, [&, at = first]() mutable { return order(at++); });
  if (sampler_.index_at) check_indices(out, examples_);  // those of a list were checked when it was made
  return out;
}

void BatchPlan::check(const LoaderPosition& position) const {
  if (position.batch < 0 || position.batch > batches()) {
    fail(kDataLoader, "expected a position from batch 0 to {}, got {}", batches(), position.batch);
  }
}

// ---- Prefetch ----

namespace {

// Finalizer of MurmurHash3 (Appleby): spreads every bit over all others.
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53u;
  return x ^ (x >> 33);
}

// make(i) with draws that depend on the epoch's seed and the batch alone, not on when the training step draws.
std::function<void(int64_t)> with_own_draws(std::function<void(int64_t)> make, uint64_t seed) {
  return [make = std::move(make), seed, stream = default_generator().mask_stream()](int64_t i) {
    Generator own(mixed(mixed(seed) + static_cast<uint64_t>(i)));
    own.set_mask_stream(stream);
    const ThreadDraws draws(own);
    make(i);
  };
}

// As changed.wait(held, holds), whose symbol needs the C++ library of GCC 12: that of wait_for() is in its header.
template <class Condition>
void await(std::condition_variable& changed, std::unique_lock<std::mutex>& held, Condition holds) {
  while (!changed.wait_for(held, std::chrono::hours(1), holds)) continue;
}

}  // namespace

struct Prefetch::State {
  std::mutex lock = {};
  std::condition_variable changed = {};
  int64_t made, room;  // batches below `made` are ready, those below `room` may be made
  bool stop = false;
  std::exception_ptr error = nullptr;
  std::function<void(int64_t)> make = {};
  std::thread thread = {};

  void work(int64_t end) {
    std::unique_lock held(lock);
    while (made < end && !error) {
      await(changed, held, [&] { return stop || made < room; });
      if (stop) return;
      held.unlock();
      std::exception_ptr thrown;
      try {
        make(made);  // only this thread changes `made`
      } catch (...) {
        thrown = std::current_exception();
      }
      held.lock();
      error = thrown;
      if (!error) ++made;
      changed.notify_all();
    }
  }
};

Prefetch::Prefetch(int64_t first, int64_t end, int64_t ahead, uint64_t draw_seed, std::function<void(int64_t)> make)
    : state_(new State{.made = first, .room = first + ahead, .make = with_own_draws(std::move(make), draw_seed)}) {
  try {
    state_->thread = std::thread([state = state_.get(), end] { state->work(end); });
  } catch (const std::system_error&) {  // a limit of processes: then wait() makes the batches
  }
}

Prefetch::~Prefetch() {
  if (!state_->thread.joinable()) return;
  {
    const std::lock_guard held(state_->lock);
    state_->stop = true;
  }
  state_->changed.notify_all();
  state_->thread.join();
}

void Prefetch::wait(int64_t i) {
  if (!state_->thread.joinable()) {
    const PauseRecording pause;
    state_->make(i);
    return;
  }
  std::unique_lock held(state_->lock);
  await(state_->changed, held, [&] { return state_->made > i || state_->error; });
  if (state_->made <= i) std::rethrow_exception(state_->error);
}

void Prefetch::taken() {
  {
    const std::lock_guard held(state_->lock);
    ++state_->room;
  }
  state_->changed.notify_all();
}

}  // namespace tapegrad::data::detail
