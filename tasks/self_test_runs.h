// What the self-test of `info` trains and generates.
#pragma once

#include <tapegrad/checks/computations.h>

#include <vector>

namespace tapegrad::tasks {

/// Short training runs, whose data are made here, and what models generate.
std::vector<Computation> run_computations();

}  // namespace tapegrad::tasks
