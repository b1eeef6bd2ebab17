// What the engine reports to a profiler about operations.
#pragma once

#include <tapegrad/autograd/detail/op_timer.h>

#include <cstdint>
#include <span>
#include <vector>

namespace tapegrad::detail {

struct TapeMemory;

/// Reports the inputs and the result of an operation; record() calls it. An operation without an OpTimer began when the
/// first tensor since the end of the previous operation was made.
void note_call(const Op& op, const Tensor& y, std::span<const Input> inputs);

/// For a backward of this thread: finds the module of each node, for its NodeTimers.
class BackwardTimer : NonCopyable {
 public:
  BackwardTimer(const TapeMemory& memory, int64_t start) {
    if (is_profiling()) [[unlikely]]
      begin(memory, start);
  }
  ~BackwardTimer() {
    if (running_) [[unlikely]]
      end();
  }

 private:
  void begin(const TapeMemory& memory, int64_t start);
  void end() noexcept;
  bool running_ = false;
  std::vector<uint32_t> outer_;  // the modules of the nodes of an enclosing backward
};

/// Times the backward of one node.
class NodeTimer : NonCopyable {
 public:
  NodeTimer(const Op& op, int64_t position) {
    if (is_profiling()) [[unlikely]]
      begin(op, position);
  }
  ~NodeTimer() {
    if (running_) [[unlikely]]
      end();
  }
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
