// Modules on which `tapegrad gradcheck --module` and the tests check parameters and inputs, in float64.
#pragma once

#include <tapegrad/tasks/gradcheck/op_samples.h>

#include <string>
#include <vector>

namespace tapegrad::tasks {

struct ModuleSample {
  std::string label;
  std::vector<std::string> parameters;  // names, in the order in which they stand in the last input
  std::vector<int64_t> ends;            // where each ends there
  OpSample check;                       // the module's inputs, and behind them all of its parameters in one row
};

struct ModuleSamples {
  std::string module;  // the type's name: "Linear"
  std::vector<ModuleSample> samples;
};

// One entry for every module of nn/.
const std::vector<ModuleSamples>& module_samples();

// gradcheck to second order; where it fails by a parameter, the text names that parameter.
GradcheckReport check_module(const ModuleSample& sample);

}  // namespace tapegrad::tasks
