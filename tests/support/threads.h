// The number of threads, as it was before a test.
#pragma once

#include <tapegrad/autograd/parallel.h>

namespace tapegrad::tests {

// While one is alive, a test may call set_num_threads(): the end restores the number.
struct KeepThreads {
  int before = num_threads();
  ~KeepThreads() { set_num_threads(before); }
};

}  // namespace tapegrad::tests
