// Pauses what the tapes of this thread record.
#pragma once

#include <tapegrad/autograd/compiler.h>

#include <cstdint>

namespace tapegrad {

/// While one is in scope on this thread, the tapes of this thread record nothing: for kernels made of operations,
/// metrics and samples. A tape that begins in this scope records as usual, so that functions that differentiate
/// internally work there, too.
class PauseRecording : NonCopyable {
 public:
  PauseRecording();
  ~PauseRecording();

 private:
  const uint64_t newest_;  // the newest tape that it pauses
};

namespace detail {

// f(), of which nothing is recorded.
auto unrecorded(const auto& f) {
  const PauseRecording pause;
  return f();
}

}  // namespace detail

}  // namespace tapegrad
