// The verb `tapegrad gradcheck`: checks the gradients of all operations and modules, and prints a table.
#pragma once

#include <tapegrad/tasks/settings/settings.h>

#include <string>

namespace tapegrad::tasks {

struct GradcheckRequest {
  std::string op, module;  // both empty: everything

  void list(Fields& fields);
};

// Prints one line per operation and module: samples, first order, second order (or "refuses"), worst error; and one
// line per failure. Returns 0 if all gradients are right, 1 otherwise. BadRequest for an unknown name, with the known
// ones.
int gradcheck(const GradcheckRequest& request);

}  // namespace tapegrad::tasks
