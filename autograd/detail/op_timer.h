// Times an operation while a Profiler is in scope.
#pragma once

#include <tapegrad/autograd/internal/events.h>
#include <tapegrad/autograd/op.h>

#include <initializer_list>
#include <span>
#include <string_view>

namespace tapegrad {

/// Times the enclosing function as an operation while a Profiler is in scope; otherwise it costs the test of a flag.
/// An operation without one is timed by record(), from the first tensor that it makes. So it is needed only by a
/// function that does not always call record(), or that is worth a row of its own without being an Op.
class OpTimer : NonCopyable {
 public:
  OpTimer(const Op& op, std::initializer_list<Input> inputs) {
    if (detail::is_profiling()) [[unlikely]]
      start(op.name, {inputs.begin(), inputs.size()});
  }
  explicit OpTimer(std::string_view name) {
    if (detail::is_profiling()) [[unlikely]]
      start(name, {});
  }
  ~OpTimer() {
    if (running_) [[unlikely]]
      stop();
  }

 private:
  void start(std::string_view name, std::span<const Input> inputs);
  static void stop() noexcept;
  bool running_ = false;
};

}  // namespace tapegrad
