// The pool: buckets of free blocks, a cache in each thread in front of one shared list, huge pages for large blocks.
#include <fmt/format.h>
#include <sys/mman.h>
#include <tapegrad/autograd/error.h>
#include <tapegrad/autograd/kernels/family.h>
#include <tapegrad/autograd/storage.h>

#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>

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

// Up to 1 KiB one bucket a 64 bytes, above it four buckets a doubling: at most a fifth of a block is unused.
constexpr int kLinearBuckets = 16;
constexpr int kBuckets = kLinearBuckets + 4 * 36;
constexpr std::size_t kLinearLimit = 64 * kLinearBuckets;

int bucket_of(std::size_t bytes) {
  if (bytes <= kLinearLimit) return bytes == 0 ? 0 : static_cast<int>((bytes - 1) / 64);
  const int log = std::bit_width(bytes - 1) - 1;                         // bytes - 1 in [2^log, 2^(log+1))
  const int quarter = static_cast<int>(((bytes - 1) >> (log - 2)) & 3);  // which quarter of that doubling
  return kLinearBuckets + 4 * (log - 10) + quarter;
}

std::size_t bucket_bytes(int bucket) {
  if (bucket < kLinearBuckets) return 64 * static_cast<std::size_t>(bucket + 1);
  const int log = 10 + (bucket - kLinearBuckets) / 4;
  const std::size_t quarter = static_cast<std::size_t>((bucket - kLinearBuckets) % 4);
  return (std::size_t{1} << log) + (quarter + 1) * (std::size_t{1} << (log - 2));
}

constexpr std::size_t kSlabBytes = std::size_t{1} << 20;    // small blocks are cut from slabs
constexpr std::size_t kSmallLimit = std::size_t{64} << 10;  // larger blocks are mapped one by one
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kCacheBytes = std::size_t{256} << 10;  // of one bucket in one thread

struct FreeBlock {
  FreeBlock* next;
};

struct FreeList {
  FreeBlock* head = nullptr;
  std::size_t count = 0;

  void push(void* block) {
    head = new (block) FreeBlock{head};
    ++count;
  }
  void* pop() {
    FreeBlock* block = head;
    if (block) {
      head = block->next;
      --count;
    }
    return block;
  }
};

class SharedPool {
 public:
  void* acquire(int bucket) {
    const std::lock_guard lock(mutex_);
    if (void* block = free_[bucket].pop()) return block;
    const std::size_t bytes = bucket_bytes(bucket);
    if (bytes > kSmallLimit) return map(bytes);
    if (slab_left_ < bytes) {
      slab_ = static_cast<std::byte*>(map(kSlabBytes));
      slab_left_ = kSlabBytes;
    }
    void* block = slab_;
    slab_ += bytes;
    slab_left_ -= bytes;
    return block;
  }
  void release(void* block, int bucket) noexcept {
    const std::lock_guard lock(mutex_);
    free_[bucket].push(block);
  }
  Stats stats() {
    const std::lock_guard lock(mutex_);
    return stats_;
  }

 private:
  // Whole pages from the system; from two megabytes on, aligned to huge pages and asking for them.
  void* map(std::size_t bytes) {
    const bool huge = bytes >= kHugePage;
    const std::size_t padded = huge ? bytes + kHugePage : bytes;
    void* start = mmap(nullptr, padded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) {
      fail("storage",
           fmt::format("the system has no memory for {} bytes more ({} are in use)", bytes, stats_.reserved));
    }
    ++stats_.system_calls;
    stats_.reserved += static_cast<int64_t>(bytes);
    if (!huge) return start;
    const auto address = reinterpret_cast<std::uintptr_t>(start);
    void* aligned = reinterpret_cast<void*>((address + kHugePage - 1) / kHugePage * kHugePage);
    madvise(aligned, bytes, MADV_HUGEPAGE);  // a wish: without huge pages everything works as well
    return aligned;
  }

  std::mutex mutex_;
  FreeList free_[kBuckets];
  std::byte* slab_ = nullptr;
  std::size_t slab_left_ = 0;
  Stats stats_;
};

// Never destroyed: tensors with static lifetime may outlive any order of destruction.
SharedPool& shared_pool() {
  static SharedPool* const pool = (kernel_family(), new SharedPool);  // settled before anything can be computed
  return *pool;
}

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
    for (int bucket = 0; bucket < kBuckets; ++bucket) {
      while (void* block = free_[bucket].pop()) shared_pool().release(block, bucket);
    }
  }
  void* acquire(int bucket) { return free_[bucket].pop(); }
  bool keep(void* block, int bucket) noexcept {
    if (free_[bucket].count * bucket_bytes(bucket) >= kCacheBytes) return false;
    free_[bucket].push(block);
    return true;
  }

 private:
  FreeList free_[kBuckets];
};

[[gnu::noinline]] ThreadCache* open_cache() {
  if (cache_gone) return nullptr;
  thread_local ThreadCache cache;
  return &cache;
}

ThreadCache* thread_cache() { return cache_here ? cache_here : open_cache(); }

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
    if (!block) fail("storage", fmt::format("the system has no memory for {} bytes more", bytes));
    return block;
  }
  if (ThreadCache* cache = thread_cache()) {
    if (void* block = cache->acquire(bucket)) return block;
  }
  return shared_pool().acquire(bucket);
}

void release(void* block, std::size_t bytes) noexcept {
  if (!kPooled) return std::free(block);
  const int bucket = bucket_of(bytes);
  ThreadCache* cache = thread_cache();
  if (!cache || !cache->keep(block, bucket)) shared_pool().release(block, bucket);
}

Stats stats() { return shared_pool().stats(); }

}  // namespace pool

Storage::Storage(int64_t bytes) {
  header_ = new (pool::acquire(kHeaderBytes + static_cast<std::size_t>(bytes))) Header;
  header_->bytes = bytes;
}

void Storage::free_block(Header* header) noexcept {
  const std::size_t bytes = kHeaderBytes + static_cast<std::size_t>(header->bytes);
  header->~Header();
  pool::release(header, bytes);
}

}  // namespace tapegrad
