// What the engine reports to a profiler about operations.
#pragma once

#include <tapegrad/autograd/detail/op_timer.h>

#include <cstdint>
#include <span>
#include <vector>

namespace tapegrad::detail {

struct TapeMemory;

/// Inputs and result of an operation, which record() knows. An operation without an OpTimer began with the first tensor
/// that was made since the previous one ended.
void note_call(const Op& op, const Tensor& y, std::span<const Input> inputs);

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

}  // namespace tapegrad::detail
