// The scope in which a model generates tokens.
#pragma once

#include <tapegrad/autograd/op.h>

namespace tapegrad {

/// While one is in scope on this thread, nothing is recorded, as with PauseRecording, and linear() reads float32
/// weights in pieces for up to 16 rows of x, which is faster when they come from memory. Results are bit-identical to
/// training.
class InferenceMode : NonCopyable {
 public:
  InferenceMode() : before_(on_) { on_ = true; }
  ~InferenceMode() { on_ = before_; }
  /// one is in scope on this thread
  static bool on() { return on_; }

 private:
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local bool on_ = false;
  const PauseRecording pause_;
  const bool before_;
};

}  // namespace tapegrad
