// Memory: a pool of 64-byte aligned blocks in size buckets, and the reference-counted handle to one block.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tapegrad {

namespace pool {

// A block of at least `bytes`, 64-byte aligned, contents unspecified. Freed blocks are kept and handed out again, so
// that a steady training step asks nothing of the system. Thread-safe. Error when the system has no more memory.
void* acquire(std::size_t bytes);
// Gives back a block of acquire(bytes) with the same `bytes`, on any thread.
void release(void* block, std::size_t bytes) noexcept;

struct Stats {
  int64_t reserved = 0;      // bytes held from the system
  int64_t system_calls = 0;  // requests to the system since the start
};
Stats stats();

// For std::vector on paths that must not touch the heap.
template <class T>
struct Allocator {
  using value_type = T;
  Allocator() = default;
  template <class U>
  Allocator(const Allocator<U>&) {}  // NOLINT: allocators convert
  T* allocate(std::size_t count) { return static_cast<T*>(acquire(count * sizeof(T))); }
  void deallocate(T* block, std::size_t count) noexcept { release(block, count * sizeof(T)); }
  friend bool operator==(const Allocator&, const Allocator&) { return true; }
};

}  // namespace pool

/// A vector in memory of the pool.
template <class T>
using PoolVector = std::vector<T, pool::Allocator<T>>;

// A handle to one block of the pool; copies share it, the last one gives it back.
class Storage {
 public:
  Storage() = default;
  explicit Storage(int64_t bytes);
  Storage(const Storage& other) noexcept : header_(other.header_) {
    if (header_) header_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Storage(Storage&& other) noexcept : header_(std::exchange(other.header_, nullptr)) {}
  Storage& operator=(Storage other) noexcept {
    std::swap(header_, other.header_);
    return *this;
  }
  ~Storage() {
    if (header_ && header_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) free_block(header_);
  }

  std::byte* data() const { return reinterpret_cast<std::byte*>(header_) + kHeaderBytes; }
  int64_t bytes() const { return header_->bytes; }
  bool unique() const { return header_->references.load(std::memory_order_acquire) == 1; }
  explicit operator bool() const { return header_ != nullptr; }
  friend bool operator==(const Storage& a, const Storage& b) { return a.header_ == b.header_; }

  // How many live tapes have recorded these values: while there is one, they must not change.
  int recordings() const { return header_->recordings.load(std::memory_order_acquire); }
  void add_recording(int change) const { header_->recordings.fetch_add(change, std::memory_order_acq_rel); }

 private:
  struct Header {
    std::atomic<int32_t> references{1};
    std::atomic<int32_t> recordings{0};
    int64_t bytes = 0;
  };
  static constexpr std::size_t kHeaderBytes = 64;
  static void free_block(Header* header) noexcept;

  Header* header_ = nullptr;
};

}  // namespace tapegrad
