// The modules whose parameters and inputs `tapegrad gradcheck --module` and the tests check.
#pragma once

#include <tapegrad/autograd/gradcheck.h>
#include <tapegrad/checks/modules/module_table.h>

#include <vector>

namespace tapegrad::tasks {

// One entry for every module of nn/.
const std::vector<ModuleSamples>& module_samples();

// An Error of the module becomes a report that is not ok.
GradcheckReport check_module(const ModuleSample& sample);

}  // namespace tapegrad::tasks
