// The memory pool that all tensors and tapes allocate from.
#pragma once

#include <tapegrad/autograd/compiler.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tapegrad::pool {

/// Counters of the pool, for the whole process.
struct Stats {
  int64_t reserved = 0;      // bytes held from the system, in use or free
  int64_t system_calls = 0;  // requests to the system for memory since the start of the process
};

/// What the pool holds now. A steady training step changes neither number.
Stats stats();

/// A block of at least `bytes` bytes, 64-byte aligned, with unspecified contents. Freed blocks are kept and reused.
/// Large ones also serve smaller requests, merge with their free neighbours, and go back to the system when memory is
/// short, or when new memory is needed while more is free than was ever in use at once. Thread-safe.
/// Error if the system has no more memory.
void* acquire(std::size_t bytes);

/// Frees a block of acquire(bytes), with the same `bytes`; on any thread.
void release(void* block, std::size_t bytes) noexcept;

/// Lets a standard container allocate from the pool: for paths that must not reach the heap.
template <class T>
struct Allocator {
  using value_type = T;  ///< as every standard allocator has it
  Allocator() = default;
  template <class U>
  Allocator(const Allocator<U>&) {}  // NOLINT: allocators convert
  /// Memory for `count` elements, aligned to 64 bytes; see acquire() and release().
  T* allocate(std::size_t count) { return static_cast<T*>(acquire(count * sizeof(T))); }
  void deallocate(T* block, std::size_t count) noexcept { release(block, count * sizeof(T)); }
  friend bool operator==(const Allocator&, const Allocator&) { return true; }
};

}  // namespace tapegrad::pool

namespace tapegrad {

/// A vector in memory of the pool.
template <class T>
using PoolVector = std::vector<T, pool::Allocator<T>>;

}  // namespace tapegrad
