// Small copies of every module of nn/, and how they are called.
#include <tapegrad/autograd/random.h>
#include <tapegrad/checks/modules/module_samples.h>

#include <cstddef>

namespace tapegrad::tasks {
namespace {

// The default generator continues afterwards as if nothing had drawn from it.
struct KeepGenerator {
  std::vector<std::byte> state = default_generator().state();
  ~KeepGenerator() { default_generator().set_state(state); }
};

}  // namespace

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
    return sample.check();
  } catch (const Error& error) {
    return {.ok = false, .text = error.what()};
  }
}

}  // namespace tapegrad::tasks
