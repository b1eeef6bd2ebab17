// Ctrl-C and SIGTERM during a run.
#pragma once

#include <csignal>

namespace tapegrad::train {

/// While an object exists, the first SIGINT or SIGTERM is recorded; the second one, of either kind, ends
/// the process.
class CatchInterrupts {
 public:
  CatchInterrupts();
  ~CatchInterrupts();
  CatchInterrupts(const CatchInterrupts&) = delete;
  CatchInterrupts& operator=(const CatchInterrupts&) = delete;
  /// Whether a signal was recorded since the last object was created.
  static bool interrupted();

 private:
  static constexpr int kSignals[2] = {SIGINT, SIGTERM};
  struct sigaction before_[2]{};
};

}  // namespace tapegrad::train
