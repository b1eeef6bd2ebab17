// What a computation costs, whatever else the machine does.
#pragma once

#include <ctime>

namespace tapegrad::tasks {

/// Seconds of processor time of all threads of this process so far.
inline double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace tapegrad::tasks
