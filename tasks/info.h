// The verb `info`: measures this machine, or tests it.
#pragma once

#include <tapegrad/checks/computations.h>
#include <tapegrad/tasks/settings/settings.h>

#include <vector>

namespace tapegrad::tasks {

struct InfoRequest {
  bool json = false;
  bool self_test = false;

  void list(Fields& fields);
};
// Prints the processor, the active kernels, and the speed of multiply-adds, matrix products and memory; returns 0.
// With `self_test`, prints the hashes of a fixed list of computations instead; returns 0 where all are the published
// ones, otherwise 1.
int info(const InfoRequest& request);

/// What the self-test trains and generates: short runs, whose data are made here.
std::vector<Computation> run_computations();

}  // namespace tapegrad::tasks
