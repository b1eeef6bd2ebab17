// Ctrl-C while a run goes on.
#pragma once

#include <csignal>

namespace tapegrad::train {

// While one is alive, the first interruption or termination is noted; a second one ends the process.
class CatchInterrupts {
 public:
  CatchInterrupts();
  ~CatchInterrupts();
  CatchInterrupts(const CatchInterrupts&) = delete;
  CatchInterrupts& operator=(const CatchInterrupts&) = delete;
  static bool interrupted();

 private:
  static constexpr int kSignals[2] = {SIGINT, SIGTERM};
  struct sigaction before_[2]{};
};

}  // namespace tapegrad::train
