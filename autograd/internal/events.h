// What storage, threads, kernels and optimisers report to a profiler. It does not include tensor.h, so that every file
// can include it.
#pragma once

#include <tapegrad/autograd/compiler.h>

#include <atomic>
#include <cstdint>

namespace tapegrad::detail {

/// Whether a Profiler is in scope: every operation reads it.
extern constinit std::atomic<bool> profiling;
inline bool is_profiling() { return profiling.load(std::memory_order_relaxed); }

/// A tensor has been made: the next operation of this thread may have begun.
void mark_beginning();
/// A tensor with given values is complete: the next operation begins later.
void mark_end();
/// An optimiser has made a step.
void end_step();

// --- amounts of work ---

/// Adds floating-point operations, 2 m n k for a matmul, to the operation that runs on this thread or whose loop this
/// thread works on; only while is_profiling(). Matmuls call count_product (autograd/kernels/product/engines.h).
void add_flops(int64_t flops);
void add_bytes(int64_t bytes);
/// Adds memory read or written to the operation or scope that runs on this thread.
inline void count_bytes(int64_t bytes) {
  if (is_profiling()) [[unlikely]]
    add_bytes(bytes);
}

// --- worker threads ---

/// What a worker did in one loop.
struct WorkerShare {
  int64_t nanoseconds = 0, flops = 0;
};

/// The operation that runs on this thread, for its workers; -1 if none is timed.
int64_t running_operation();
/// Times a worker's part of a loop of `operation`.
class WorkerTimer : NonCopyable {
 public:
  WorkerTimer(int64_t operation, WorkerShare& share);
  ~WorkerTimer();

 private:
  const int64_t operation_;
  WorkerShare& share_;
  int64_t begin_, flops_before_;
};
/// Adds what workers did to the operation that runs on this thread.
void add_share(const WorkerShare& share);

}  // namespace tapegrad::detail
