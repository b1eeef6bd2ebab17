// What the engine, the kernels and the worker threads report to a profiler.
#pragma once

#include <tapegrad/autograd/detail/op_timer.h>
#include <tapegrad/autograd/profiler.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tapegrad::detail {

struct TapeMemory;

// --- amounts of work ---

void add_flops(int64_t flops);
void add_bytes(int64_t bytes);
/// Adds the arithmetic of a product to the operation that runs on this thread, or to the one whose loop this thread
/// works on. Called once by each function that computes products: 2 m n k.
inline void count_flops(int64_t flops) {
  if (is_profiling()) [[unlikely]]
    add_flops(flops);
}
/// Adds memory read or written to the operation or scope that runs on this thread.
inline void count_bytes(int64_t bytes) {
  if (is_profiling()) [[unlikely]]
    add_bytes(bytes);
}

// --- the engine ---

/// A tensor has been made: the next operation of this thread may have begun.
void mark_beginning();
/// A tensor with given values is complete: the next operation begins later.
void mark_end();
/// Inputs and result of an operation, which record() knows. An operation without an OpTimer began with the first tensor
/// that was made since the previous one ended.
void note_call(const Op& op, const Tensor& y, std::span<const Input> inputs);

/// An optimiser has made a step.
void end_step();

/// A backward of this thread. Finds the module of each node.
class BackwardTimer {
 public:
  BackwardTimer(const TapeMemory& memory, int64_t start) {
    if (is_profiling()) [[unlikely]]
      begin(memory, start);
  }
  ~BackwardTimer() {
    if (running_) [[unlikely]]
      end();
  }
  BackwardTimer(const BackwardTimer&) = delete;
  BackwardTimer& operator=(const BackwardTimer&) = delete;

 private:
  void begin(const TapeMemory& memory, int64_t start);
  void end() noexcept;
  bool running_ = false;
  std::vector<uint32_t> outer_;  // the modules of the nodes of an enclosing backward
};

/// The backward of one node.
class NodeTimer {
 public:
  NodeTimer(const Op& op, int64_t position) {
    if (is_profiling()) [[unlikely]]
      begin(op, position);
  }
  ~NodeTimer() {
    if (running_) [[unlikely]]
      end();
  }
  NodeTimer(const NodeTimer&) = delete;
  NodeTimer& operator=(const NodeTimer&) = delete;
  void note(const Tensor& dy, Grads& grads) const {
    if (running_) [[unlikely]]
      note_gradients(dy, grads);
  }

 private:
  void begin(const Op& op, int64_t position);
  static void note_gradients(const Tensor& dy, Grads& grads);
  static void end() noexcept;
  bool running_ = false;
};

// --- worker threads ---

/// What a worker did in one loop.
struct WorkerShare {
  int64_t nanoseconds = 0, flops = 0;
};

/// The operation that runs on this thread, for its workers; -1 if none is timed.
int64_t running_operation();
/// Times a worker's part of a loop of `operation`.
class WorkerTimer {
 public:
  WorkerTimer(int64_t operation, WorkerShare& share);
  ~WorkerTimer();
  WorkerTimer(const WorkerTimer&) = delete;
  WorkerTimer& operator=(const WorkerTimer&) = delete;

 private:
  const int64_t operation_;
  WorkerShare& share_;
  int64_t begin_, flops_before_;
};
/// Adds what workers did to the operation that runs on this thread.
void add_share(const WorkerShare& share);

}  // namespace tapegrad::detail
