// The sizes of the pool's blocks, and the free blocks that are split and merged.
#pragma once

#include <sys/mman.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <new>
#include <utility>

namespace tapegrad::pool {

// Sizes of blocks, a bucket for each: steps of 64 bytes up to 1 KiB, then four per doubling (at most a fifth of a block
// is unused), and from 64 KiB on 32 per doubling (at most a 32nd), of which only whole pages are used: every second one
// up to 128 KiB. In steps of a quarter, a matrix of weights [768, 768] and its optimiser's state would waste a tenth.
inline constexpr std::size_t kSmallLimit = std::size_t{64} << 10;  // larger blocks are split, merged, returned
inline constexpr std::size_t kPage = std::size_t{4} << 10;
inline constexpr int kLinearBuckets = 16;
inline constexpr int kSmallBuckets = kLinearBuckets + 4 * 6;
inline constexpr int kBuckets = kSmallBuckets + 32 * 30;
inline constexpr std::size_t kLinearLimit = 64 * kLinearBuckets;

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
inline constexpr Doublings kSmall{10, 2}, kLarge{16, 5};

constexpr int bucket_of(std::size_t bytes) {
  if (bytes <= kLinearLimit) return bytes == 0 ? 0 : static_cast<int>((bytes - 1) / 64);
  if (bytes <= kSmallLimit) return kLinearBuckets + kSmall.bucket_of(bytes);
  return kSmallBuckets + kLarge.bucket_of((bytes + kPage - 1) / kPage * kPage);
}

inline std::size_t bucket_bytes(int bucket) {
  if (bucket < kLinearBuckets) return 64 * static_cast<std::size_t>(bucket + 1);
  if (bucket < kSmallBuckets) return kSmall.bytes_of(bucket - kLinearBuckets);
  return kLarge.bytes_of(bucket - kSmallBuckets);
}

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

inline std::byte* end_of(FreeBlock* block) { return reinterpret_cast<std::byte*>(block) + block->bytes; }

// The list in order of addresses (a merge sort, because lists have no additional memory).
inline FreeBlock* by_address(FreeBlock* list, std::size_t count) {
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

// Free large blocks. A block in use is exactly as large as its bucket, so that its size need not be stored. What is
// left over when a larger block serves a request becomes a free block, which may be too small for any large bucket. All
// sizes are whole pages.
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

  // Returns the free block with the highest address to the system; the result is its bytes, 0 if there is none. The
  // system maps new memory below the old, so what remains stays in one piece. Unmapping the largest block would leave
  // islands between unmapped memory, which nothing could merge with, and in time free memory would consist of them.
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
  // Cuts `bytes` from the end of a block. The rest keeps the start, next to which the system's next region will end.
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

}  // namespace tapegrad::pool
