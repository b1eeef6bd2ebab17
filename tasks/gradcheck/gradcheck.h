// The verb `tapegrad gradcheck`: a table of all operations and modules, and whether their gradients are right.
#pragma once

#include <string>

namespace tapegrad::tasks {

struct GradcheckRequest {
  std::string op, module;  // both empty: everything
};

// Prints one line an operation and a module: samples, first order, second order (or "refuses"), worst error; and one
// for every failure. 0: all right; 1: some gradient is wrong. BadRequest where there is no operation or module of
// that name, with those that there are.
int gradcheck(const GradcheckRequest& request);

}  // namespace tapegrad::tasks
