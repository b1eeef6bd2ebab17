// The pool: buckets of free blocks, a cache per thread in front of a shared pool, huge pages for large blocks.
#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>
#include <tapegrad/autograd/detail/pool_fresh.h>
#include <tapegrad/autograd/detail/thread_cache.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/pool.h>
#include <tapegrad/autograd/pool_peak.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define TAPEGRAD_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TAPEGRAD_ADDRESS_SANITIZER 1
#endif
#endif

namespace tapegrad {
namespace pool {
namespace {

// Sizes of blocks, a bucket for each: steps of 64 bytes up to 1 KiB, then four per doubling (at most a fifth of a block
// is unused), and from 64 KiB on 32 per doubling (at most a 32nd), of which only whole pages are used: every second one
// up to 128 KiB. In steps of a quarter, a matrix of weights [768, 768] and its optimiser's state would waste a tenth.
constexpr std::size_t kSmallLimit = std::size_t{64} << 10;  // larger blocks are split, merged, returned
constexpr std::size_t kPage = std::size_t{4} << 10;
constexpr int kLinearBuckets = 16;
constexpr int kSmallBuckets = kLinearBuckets + 4 * 6;
constexpr int kBuckets = kSmallBuckets + 32 * 30;
constexpr std::size_t kLinearLimit = 64 * kLinearBuckets;

// Sizes in (2^first, 2^(first + 1)], (2^(first + 1), ...] and so on, each doubling in 2^log_steps equal steps.
struct Doublings {
  int first, log_steps;

  constexpr int bucket_of(std::size_t bytes) const {
    const int log = std::bit_width(bytes - 1) - 1;  // bytes - 1 in [2^log, 2^(log+1))
    return static_cast<int>((bytes - 1) >> (log - log_steps)) - (1 << log_steps) + ((log - first) << log_steps);
  }
  std::size_t bytes_of(int bucket) const {
    const int log = first + (bucket >> log_steps);
    const std::size_t step = static_cast<std::size_t>(bucket & ((1 << log_steps) - 1));
    return (std::size_t{1} << log) + (step + 1) * (std::size_t{1} << (log - log_steps));
  }
};
constexpr Doublings kSmall{10, 2}, kLarge{16, 5};

constexpr int bucket_of(std::size_t bytes) {
  if (bytes <= kLinearLimit) return bytes == 0 ? 0 : static_cast<int>((bytes - 1) / 64);
  if (bytes <= kSmallLimit) return kLinearBuckets + kSmall.bucket_of(bytes);
  return kSmallBuckets + kLarge.bucket_of((bytes + kPage - 1) / kPage * kPage);
}

std::size_t bucket_bytes(int bucket) {
  if (bucket < kLinearBuckets) return 64 * static_cast<std::size_t>(bucket + 1);
  if (bucket < kSmallBuckets) return kSmall.bytes_of(bucket - kLinearBuckets);
  return kLarge.bytes_of(bucket - kSmallBuckets);
}

constexpr std::size_t kSlabBytes = std::size_t{1} << 20;  // small blocks are cut from slabs
constexpr std::size_t kHugePage = std::size_t{2} << 20;
// Memory comes from the system in regions of huge pages: an eighth of what is in use, within these limits, or as much
// as one block needs. Several threads touch a new region, because the system clears each page at its first touch.
constexpr std::size_t kLeastRegion = std::size_t{4} << 20, kMostRegion = std::size_t{16} << 20;
constexpr std::size_t kCacheBytes = std::size_t{256} << 10;  // of one bucket in one thread

struct FreeBlock {
  FreeBlock* next;
  std::size_t bytes;  // of large blocks: all of it, which may be more than the bucket's size
  bool fresh;         // zero but for this header, as it came from the system
};

struct FreeList {
  FreeBlock* head = nullptr;
  std::size_t count = 0;

  void push(void* block) {
    head = new (block) FreeBlock{head, 0, false};
    ++count;
  }
  FreeBlock* pop() {
    FreeBlock* block = head;
    if (block) {
      head = block->next;
      --count;
    }
    return block;
  }
};

std::byte* end_of(FreeBlock* block) { return reinterpret_cast<std::byte*>(block) + block->bytes; }

// The list in order of addresses (a merge sort, because lists have no additional memory).
FreeBlock* by_address(FreeBlock* list, std::size_t count) {
  if (count < 2) return list;
  FreeBlock* last = list;
  for (std::size_t i = 1; i < count / 2; ++i) last = last->next;
  FreeBlock* right = std::exchange(last->next, nullptr);
  FreeBlock* left = by_address(list, count / 2);
  right = by_address(right, count - count / 2);
  FreeBlock* sorted = nullptr;
  for (FreeBlock** at = &sorted; left || right; at = &(*at)->next) {
    FreeBlock*& first = !right || (left && std::less<>()(left, right)) ? left : right;
    *at = first;
    first = first->next;
  }
  return sorted;
}

// Free large blocks. One is always exactly as large as its bucket says while it is in use, so that its size need not be
// remembered; what is left over when a larger one serves a request is a free block again, and may be too small for
// any large bucket. All sizes are whole pages.
class LargeBlocks {
 public:
  bool has(int bucket) const { return free_[bucket] != nullptr; }
  // A free block of this bucket, or a part of a larger one; nullptr if there is none.
  FreeBlock* take(int bucket) {
    const int found = first_from(bucket);
    return found < kBuckets ? cut(pop(found), bucket_bytes(bucket)) : nullptr;
  }
  void put(void* block, std::size_t bytes, bool fresh) {
    free_bytes_ += bytes;
    const int bucket = floor_bucket(bytes);
    free_[bucket] = new (block) FreeBlock{free_[bucket], bytes, fresh};
    filled_[bucket / 64] |= std::uint64_t{1} << (bucket % 64);
  }
  std::size_t free_bytes() const { return free_bytes_; }

  // Merges neighbours.
  void merge() {
    FreeBlock* all = nullptr;
    std::size_t count = 0;
    for (int bucket = 0; (bucket = first_from(bucket)) < kBuckets;) {
      FreeBlock* const block = pop(bucket);
      block->next = std::exchange(all, block);
      ++count;
    }
    for (FreeBlock* block = by_address(all, count); block;) {
      FreeBlock* next = block->next;
      while (next && end_of(block) == reinterpret_cast<std::byte*>(next)) {
        block->bytes += next->bytes;
        block->fresh &= next->fresh;
        FreeBlock* const after = next->next;
        std::memset(static_cast<void*>(next), 0, sizeof(FreeBlock));
        next = after;
      }
      put(block, block->bytes, block->fresh);
      block = next;
    }
  }

  // The free block that starts here, or nullptr.
  FreeBlock* take_at(const void* start) {
    for (int bucket = 0; (bucket = first_from(bucket)) < kBuckets; ++bucket) {
      for (FreeBlock** at = &free_[bucket]; *at; at = &(*at)->next) {
        if (*at == start) return remove(bucket, at);
      }
    }
    return nullptr;
  }

  // Gives the free block with the highest address back to the system: its bytes, or 0 if there is none. New memory is
  // below the old, so what remains stays in one piece. The largest block would leave islands between unmapped memory,
  // which nothing could merge with, and in time free memory would consist of them.
  std::size_t unmap_one() {
    FreeBlock** highest = nullptr;
    int found = 0;
    for (int bucket = 0; (bucket = first_from(bucket)) < kBuckets; ++bucket) {
      for (FreeBlock** at = &free_[bucket]; *at; at = &(*at)->next) {
        if (highest && std::less<>()(*at, *highest)) continue;
        highest = at;
        found = bucket;
      }
    }
    if (!highest) return 0;
    FreeBlock* const block = remove(found, highest);
    const std::size_t bytes = block->bytes;
    munmap(block, bytes);
    return bytes;
  }

 private:
  static int floor_bucket(std::size_t bytes) {
    const int bucket = bucket_of(bytes);
    return bucket_bytes(bucket) == bytes ? bucket : bucket - 1;
  }
  // The first bucket from this one on that has a free block, or kBuckets.
  int first_from(int bucket) const {
    std::uint64_t word = filled_[bucket / 64] & (~std::uint64_t{0} << (bucket % 64));
    int at = bucket / 64;
    while (word == 0 && ++at < kWords) word = filled_[at];
    return word == 0 ? kBuckets : 64 * at + std::countr_zero(word);
  }
  FreeBlock* remove(int bucket, FreeBlock** at) {
    FreeBlock* const block = std::exchange(*at, (*at)->next);
    free_bytes_ -= block->bytes;
    if (!free_[bucket]) filled_[bucket / 64] &= ~(std::uint64_t{1} << (bucket % 64));
    return block;
  }
  FreeBlock* pop(int bucket) { return remove(bucket, &free_[bucket]); }
  // The end of a block. What is left stays where it starts, and where new memory of the system will end.
  FreeBlock* cut(FreeBlock* block, std::size_t bytes) {
    const std::size_t rest = block->bytes - bytes;
    if (rest == 0) return block;
    const bool fresh = block->fresh;
    put(block, rest, fresh);
    return new (reinterpret_cast<std::byte*>(block) + rest) FreeBlock{nullptr, bytes, fresh};
  }

  static constexpr int kWords = kBuckets / 64 + 1;

  FreeBlock* free_[kBuckets] = {};     // each block in the largest bucket that it can serve, remainders in small ones
  std::uint64_t filled_[kWords] = {};  // a bit for each bucket that has a free block
  std::size_t free_bytes_ = 0;
};

// Memory of the system.
struct Region {
  std::byte* start = nullptr;
  std::size_t bytes = 0;
};

// A block, and the region that was requested for it, if there was none that is free.
struct Acquired {
  void* block;
  Region region = {};
  bool fresh = false;
};

class SharedPool {
 public:
  Acquired acquire(int bucket) {
    const std::lock_guard lock(mutex_);
    const std::size_t bytes = bucket_bytes(bucket);
    if (bytes > kSmallLimit) return acquire_large(bucket, bytes);
    if (void* block = free_[bucket].pop()) return {block};
    Acquired found{nullptr};
    if (slab_left_ < bytes) {
      found = take_large(bucket_of(kSlabBytes), kSlabBytes);
      slab_ = static_cast<std::byte*>(found.block);
      slab_left_ = kSlabBytes;
    }
    found.block = slab_;
    slab_ += bytes;
    slab_left_ -= bytes;
    return found;
  }
  void release(void* block, int bucket) noexcept {
    const std::lock_guard lock(mutex_);
    const std::size_t bytes = bucket_bytes(bucket);
    if (bytes > kSmallLimit) {
      large_used_ -= bytes;
      large_.put(block, bytes, false);
    } else {
      free_[bucket].push(block);
    }
  }
  Stats stats() {
    const std::lock_guard lock(mutex_);
    return stats_;
  }
  int64_t peak() {
    const std::lock_guard lock(mutex_);
    return static_cast<int64_t>(measured_peak_);
  }
  void reset_peak() {
    const std::lock_guard lock(mutex_);
    measured_peak_ = large_used_;
  }

  // Held during a fork, so that in the child no other thread holds the lock and the pool is in a consistent state.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  Acquired acquire_large(int bucket, std::size_t bytes) {
    const Acquired found = take_large(bucket, bytes);
    large_used_ += bytes;
    large_peak_ = std::max(large_peak_, large_used_);
    measured_peak_ = std::max(measured_peak_, large_used_);
    return found;
  }

  Acquired take_large(int bucket, std::size_t bytes) {
    // Before a large request cuts a block that others may need whole, it looks for parts that were one block.
    if (bytes >= kMostRegion && !large_.has(bucket)) large_.merge();
    FreeBlock* block = large_.take(bucket);
    if (!block && large_.free_bytes() >= bytes) {
      large_.merge();
      block = large_.take(bucket);
    }
    if (block) return {block, {}, block->fresh};
    // More is free than was ever in use at once: memory in unsuitable pieces, which others may need.
    const std::size_t most = 2 * std::max(large_peak_, large_used_ + bytes);
    while (large_used_ + large_.free_bytes() + bytes > most) unmap_one();
    return take_new(bytes);
  }

  // A block at the end of new memory from the system. The rest is at its start, and merges with the next region, which
  // is requested directly below.
  Acquired take_new(std::size_t bytes) {
    const std::size_t wanted = std::clamp(large_used_ / 8, kLeastRegion, kMostRegion);
    const auto whole = [&](std::size_t least) {
      return (std::max(least, wanted) + kHugePage - 1) / kHugePage * kHugePage;
    };
    large_.merge();
    FreeBlock* const above = large_.take_at(last_region_);  // so that less is missing
    const std::size_t found = above ? above->bytes : 0;
    if (Region added = extend(whole(bytes - found)); added.start) {
      const bool fresh = !above || above->fresh;
      if (above) std::memset(static_cast<void*>(above), 0, sizeof(FreeBlock));
      return end_of_region(added, added.bytes + found, bytes, fresh);
    }
    if (above) large_.put(above, found, above->fresh);
    Region added = map(whole(bytes));
    if (!added.start) added = map(bytes);
    while (!added.start && unmap_one()) added = map(bytes);
    if (!added.start) {
      fail("storage", fmt::format("the system has no memory for {} more bytes ({} are held)", bytes, stats_.reserved));
    }
    return end_of_region(added, added.bytes, bytes, true);
  }

  // The last bytes of `total`, which a region begins.
  Acquired end_of_region(const Region& region, std::size_t total, std::size_t bytes, bool fresh) {
    last_region_ = region.start;
    if (total > bytes) large_.put(region.start, total - bytes, true);
    return {region.start + (total - bytes), region, fresh};
  }

  bool unmap_one() {
    const std::size_t bytes = large_.unmap_one();
    stats_.reserved -= static_cast<int64_t>(bytes);
    return bytes > 0;
  }

  // Huge pages from the system that end where the last region starts; nothing if that place is taken.
  Region extend(std::size_t bytes) {
    if (reinterpret_cast<std::uintptr_t>(last_region_) % kHugePage != 0 ||
        reinterpret_cast<std::uintptr_t>(last_region_) <= bytes) {
      return {};
    }
    std::byte* const wanted = last_region_ - bytes;
    void* const start = mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return {};
    if (start != wanted) {
      munmap(start, bytes);
      return {};
    }
    return received(wanted, bytes);
  }

  // Whole pages from the system, or nothing. From two megabytes on, aligned to huge pages and asking for them.
  Region map(std::size_t bytes) {
    const bool huge = bytes >= kHugePage;
    const std::size_t padded = huge ? bytes + kHugePage : bytes;
    void* const start = mmap(nullptr, padded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return {};
    std::byte* const first = static_cast<std::byte*>(start);
    if (!huge) return received(first, bytes);
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(start) % kHugePage;
    if (before > 0) munmap(first, before);
    munmap(first + before + bytes, kHugePage - before);
    return received(first + before, bytes);
  }

  Region received(std::byte* start, std::size_t bytes) {
    ++stats_.system_calls;
    stats_.reserved += static_cast<int64_t>(bytes);
    if (bytes >= kHugePage) madvise(start, bytes, MADV_HUGEPAGE);  // a hint: everything also works without huge pages
    return {start, bytes};
  }

  std::mutex mutex_;
  FreeList free_[kSmallBuckets];  // small blocks
  LargeBlocks large_;
  std::size_t large_used_ = 0, large_peak_ = 0;  // bytes of large blocks
  std::size_t measured_peak_ = 0;                // since reset_peak()
  // Where the region starts that was requested last. It may have gone back to the system: only the address is used.
  std::byte* last_region_ = nullptr;
  std::byte* slab_ = nullptr;
  std::size_t slab_left_ = 0;
  Stats stats_;
};

// Never destroyed: tensors with static lifetime may outlive any order of destruction.
SharedPool& shared_pool() {
  static SharedPool* const pool = [] {
    pthread_atfork([] { shared_pool().lock(); }, [] { shared_pool().unlock(); }, [] { shared_pool().unlock(); });
    return new SharedPool;
  }();
  return *pool;
}
[[maybe_unused]] const SharedPool& kMadeAtLoad =
    shared_pool();  // a fork while a thread makes it would leave the child waiting

class ThreadCache;
// Looked at by every allocation: in the fixed part of the thread's memory, where it costs one load.
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadCache* cache_here = nullptr;
constinit thread_local bool cache_gone = false;

class ThreadCache {
 public:
  ThreadCache() { cache_here = this; }
  ~ThreadCache() {
    cache_here = nullptr;
    cache_gone = true;
    for (int bucket = 0; bucket < kSmallBuckets; ++bucket) {
      while (void* block = free_[bucket].pop()) shared_pool().release(block, bucket);
    }
  }
  void* acquire(int bucket) { return bucket < kSmallBuckets ? free_[bucket].pop() : nullptr; }
  bool keep(void* block, int bucket) noexcept {
    if (bucket >= kSmallBuckets || (free_[bucket].count + 1) * bucket_bytes(bucket) > kCacheBytes) return false;
    free_[bucket].push(block);
    return true;
  }

 private:
  FreeList free_[kSmallBuckets];  // larger blocks are shared, so that they can be merged
};

[[gnu::noinline]] ThreadCache* open_cache() {
  if (cache_gone) return nullptr;
  thread_local ThreadCache cache;
  return &cache;
}

ThreadCache* thread_cache() { return cache_here ? cache_here : open_cache(); }

// The last large block that this thread acquired, if it came fresh from the system.
constinit thread_local const std::byte* fresh_block = nullptr;

// Has several threads touch a new region, without changing it: other threads may use parts of it already. Where the
// system cannot do that, its pages are touched when they are used.
void touch(const Acquired& found) {
#ifdef MADV_POPULATE_WRITE
  if (found.region.bytes < kLeastRegion) return;
  std::byte* const start = found.region.start;
  parallel_for(static_cast<int64_t>(found.region.bytes), kHugePage, [&](int64_t begin, int64_t end) {
    madvise(start + begin, static_cast<std::size_t>(end - begin), MADV_POPULATE_WRITE);
  });
#endif
}

#ifdef TAPEGRAD_ADDRESS_SANITIZER
constexpr bool kPooled = false;  // so that the sanitizer sees every block's life
#else
constexpr bool kPooled = true;
#endif

}  // namespace

void* acquire(std::size_t bytes) {
  const int bucket = bucket_of(bytes);
  if (bucket >= kBuckets) fail("storage", fmt::format("{} bytes are more than a machine has", bytes));
  if (!kPooled) {
    void* block = std::aligned_alloc(64, bucket_bytes(bucket));
    if (!block) fail("storage", fmt::format("the system has no memory for {} more bytes", bytes));
    return block;
  }
  if (ThreadCache* cache = thread_cache()) {
    if (void* block = cache->acquire(bucket)) return block;
  }
  const Acquired found = shared_pool().acquire(bucket);
  touch(found);
  if (bucket_bytes(bucket) > kSmallLimit) {
    fresh_block = found.fresh ? static_cast<const std::byte*>(found.block) : nullptr;
  }
  return found.block;
}

bool is_fresh(const void* data, std::size_t bytes) {
  const auto* const at = static_cast<const std::byte*>(data);
  return bytes > kCacheBytes && fresh_block && at >= fresh_block + sizeof(FreeBlock) && at < fresh_block + kSmallLimit;
}

void release(void* block, std::size_t bytes) noexcept {
  if (!kPooled) return std::free(block);
  const int bucket = bucket_of(bytes);
  ThreadCache* cache = thread_cache();
  if (!cache || !cache->keep(block, bucket)) shared_pool().release(block, bucket);
}

void make_thread_cache() { release(acquire(1), 1); }

Stats stats() { return shared_pool().stats(); }

int64_t peak() { return shared_pool().peak(); }

void reset_peak() { shared_pool().reset_peak(); }

}  // namespace pool

}  // namespace tapegrad
