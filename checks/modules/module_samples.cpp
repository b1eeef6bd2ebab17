// Small copies of every module of nn/, and how they are called.
#include <tapegrad/autograd/random.h>
#include <tapegrad/checks/modules/module_samples.h>

#include <algorithm>
#include <cstddef>

namespace tapegrad::tasks {
namespace {

// The default generator continues afterwards as if nothing had drawn from it.
struct KeepGenerator {
  std::vector<std::byte> state = default_generator().state();
  ~KeepGenerator() { default_generator().set_state(state); }
};

}  // namespace

void ModuleTable::insert(std::string_view module, ModuleSample sample) {
  auto at = std::find_if(modules.begin(), modules.end(), [&](const ModuleSamples& m) { return m.module == module; });
  if (at == modules.end()) at = modules.insert(modules.end(), ModuleSamples{std::string(module), {}});
  at->samples.push_back(std::move(sample));
}

const std::vector<ModuleSamples>& module_samples() {
  static const std::vector<ModuleSamples> all = [] {
    ModuleTable table;
    add_layer_samples(table);
    add_attention_samples(table);
    add_model_samples(table);
    return std::move(table.modules);
  }();
  return all;
}

GradcheckReport check_module(const ModuleSample& sample) {
  const KeepGenerator keep;
  try {
    manual_seed(11);  // draws weights away from kinks, as the next one does inputs
    return sample.check(sample.inputs, {.gradcheck = {.atol = sample.atol}, .seed = 5});
  } catch (const Error& error) {
    return {.ok = false, .text = error.what()};
  }
}

}  // namespace tapegrad::tasks
