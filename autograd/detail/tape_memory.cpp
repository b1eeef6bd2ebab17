// Reuse of tapes' memory within a thread, and the list of live tapes.
#include <pthread.h>
#include <tapegrad/autograd/detail/tape_memory.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

namespace tapegrad::detail {

// --- leaves ---

void LeafIndex::grow(uint64_t tape) {
  PoolVector<Entry> old(std::max<std::size_t>(64, 2 * entries_.size()));
  old.swap(entries_);
  for (const Entry& e : old) {
    if (e.tape == tape) find(tape, e.leaf) = e;
  }
}

// --- nodes ---

struct FreeTapeMemory {  // one list per thread
  TapeMemory* first = nullptr;
  ~FreeTapeMemory() {
    while (first) delete std::exchange(first, first->next_);
  }
  static FreeTapeMemory& here() {
    thread_local FreeTapeMemory list;
    return list;
  }
};

TapeMemory* TapeMemory::take() {
  TapeMemory*& first = FreeTapeMemory::here().first;
  return first ? std::exchange(first, first->next_) : new TapeMemory;
}

void TapeMemory::give_back() {
  leaves.clear();
  next_ = std::exchange(FreeTapeMemory::here().first, this);
}

TapeMemory::~TapeMemory() {
  for (Node* chunk : chunks_) pool::release(chunk, kChunk * sizeof(Node));
}

void TapeMemory::add_chunk() { chunks_.push_back(static_cast<Node*>(pool::acquire(kChunk * sizeof(Node)))); }

void TapeMemory::release_leaf(int64_t position) noexcept {
  Tensor& leaf = node(position).leaf;
  if (!leaf.defined()) return;
  leaf.end_recording();
  leaf = Tensor();
}

void TapeMemory::release_nodes() noexcept {
  while (count_ > 0) {
    release_leaf(--count_);
    node(count_).~Node();
  }
  for (const Tensor& leaf : frozen) leaf.end_recording();
  frozen.clear();
  inputs.clear();
  sums.clear();
  first_reader = kNone;
}

// --- live tapes ---

namespace {

struct LiveTapes {
  std::mutex mutex;
  std::atomic<uint64_t> last{0};
  std::vector<uint64_t>
      numbers;  // not in the pool, whose first request would start threads while the library is loaded

  // Never destroyed: a tape may have static lifetime. Locked over a fork, so that the child finds it free.
  static LiveTapes& get() {
    static LiveTapes& tapes = []() -> LiveTapes& {
      LiveTapes& made = *new LiveTapes;
      made.numbers.reserve(64);
      pthread_atfork([] { get().mutex.lock(); }, [] { get().mutex.unlock(); }, [] { get().mutex.unlock(); });
      return made;
    }();
    return tapes;
  }
};

[[maybe_unused]] const LiveTapes& kLiveTapes = LiveTapes::get();  // so that no fork interrupts it

}  // namespace

uint64_t begin_tape() {
  LiveTapes& tapes = LiveTapes::get();
  const std::lock_guard lock(tapes.mutex);
  const uint64_t tape = tapes.last += 2;
  tapes.numbers.push_back(tape);
  return tape;
}

uint64_t newest_tape() { return LiveTapes::get().last.load(std::memory_order_relaxed); }

void end_tape(uint64_t tape) {
  LiveTapes& tapes = LiveTapes::get();
  const std::lock_guard lock(tapes.mutex);
  tapes.numbers.erase(std::find(tapes.numbers.begin(), tapes.numbers.end(), tape & ~uint64_t{1}));
}

bool is_alive(uint64_t tape) {
  LiveTapes& tapes = LiveTapes::get();
  const std::lock_guard lock(tapes.mutex);
  return std::find(tapes.numbers.begin(), tapes.numbers.end(), tape & ~uint64_t{1}) != tapes.numbers.end();
}

std::mutex& mutex_of_tapes() { return LiveTapes::get().mutex; }

}  // namespace tapegrad::detail
