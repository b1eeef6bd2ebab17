// The modules whose parameters and inputs `tapegrad gradcheck --module` and the tests check.
#pragma once

#include <tapegrad/autograd/gradcheck.h>

#include <functional>
#include <string>
#include <vector>

namespace tapegrad::tasks {

struct ModuleSample {
  std::string label;
  std::function<GradcheckReport()> check;  // to second order
};

struct ModuleSamples {
  std::string module;  // the type's name: "Linear"
  std::vector<ModuleSample> samples;
};

// One entry for every module of nn/.
const std::vector<ModuleSamples>& module_samples();

// An Error of the module becomes a report that is not ok.
GradcheckReport check_module(const ModuleSample& sample);

}  // namespace tapegrad::tasks
