// How long the processes of a World wait for each other.
#pragma once

namespace tapegrad::distributed {

struct WorldOptions {
  /// A wait for other processes in which no message arrives for so many seconds throws an Error that names those that
  /// are missing. 0: none.
  double timeout_s = 300;
  /// After so many, one of the processes that wait prints a note with their names. 0: none.
  double warning_s = 60;
};

}  // namespace tapegrad::distributed
