// Ctrl-C and SIGTERM during a run.
#pragma once

#include <tapegrad/autograd/compiler.h>

namespace tapegrad::train {

/// While an object exists, the first SIGINT or SIGTERM is recorded; the second one, of either kind, ends the process.
/// Objects of several threads share the record. A signal that was ignored before remains ignored.
class CatchInterrupts {
 public:
  CatchInterrupts();
  ~CatchInterrupts();
  CatchInterrupts(const CatchInterrupts&) = delete;
  CatchInterrupts& operator=(const CatchInterrupts&) = delete;
  /// Whether a signal was recorded since the first of the objects that exist now was created.
  static bool interrupted();
};

}  // namespace tapegrad::train
