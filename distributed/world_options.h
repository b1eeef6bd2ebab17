// How long the processes of a World wait for each other.
#pragma once

namespace tapegrad::distributed {

struct WorldOptions {
  /// If no message arrives for this many seconds, a wait for other processes throws an Error that names the missing
  /// ones. 0: no limit.
  double timeout_s = 300;
  /// After this many seconds, one of the waiting processes prints a note that names the missing ones. 0: no note.
  double warning_s = 60;
};

}  // namespace tapegrad::distributed
