// The verb `info`.
#pragma once

#include <tapegrad/tasks/settings/settings.h>

namespace tapegrad::tasks {

struct InfoRequest {
  bool json = false;

  void list(Fields& fields);
};
// Prints the processor, the active kernels, and the speed of multiply-adds, matrix products and memory; returns 0.
int info(const InfoRequest& request);

}  // namespace tapegrad::tasks
