// The pool: buckets of free blocks, a cache per thread before a shared pool, huge pages for large blocks.
#include <pthread.h>
#include <sys/mman.h>
#include <tapegrad/autograd/detail/pool_fresh.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/memory/detail/large_blocks.h>
#include <tapegrad/autograd/parallel.h>
#include <tapegrad/autograd/pool.h>
#include <tapegrad/autograd/pool_peak.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>

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

constexpr std::size_t kSlabBytes = std::size_t{1} << 20;  // small blocks are cut from slabs
constexpr std::size_t kHugePage = std::size_t{2} << 20;
// Memory comes from the system in regions of huge pages: an eighth of what is in use, within these limits, or as much
// as one block needs. Several threads touch a new region, because the system clears each page at its first touch.
constexpr std::size_t kLeastRegion = std::size_t{4} << 20, kMostRegion = std::size_t{16} << 20;
constexpr std::size_t kCacheBytes = std::size_t{256} << 10;  // of one bucket in one thread

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
    require(added.start, "storage", "the system has no memory for {} more bytes ({} are held)", bytes, stats_.reserved);
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
[[maybe_unused]] const SharedPool& kSharedPool =
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
  if (bucket >= kBuckets) fail("storage", "{} bytes are more than a machine has", bytes);
  if (!kPooled) {
    void* block = std::aligned_alloc(64, bucket_bytes(bucket));
    if (!block) fail("storage", "the system has no memory for {} more bytes", bytes);
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
