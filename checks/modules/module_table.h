// The table that the samples of modules are added to, by kind of module.
#pragma once

#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/gradcheck.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

class ModuleTable {
 public:
  // `make` builds a module, which is called with its input.
  template <class Make>
  void add(std::string_view module, std::string_view label, std::vector<Tensor> inputs, Make make) {
    add(module, label, std::move(inputs), make, [](auto& made, std::span<const Tensor> x) { return made(x[0]); });
  }
  // `make` builds a module, `call(module, inputs)` uses it and has an error of about `atol`.
  template <class Make, class Call>
  void add(std::string_view module, std::string_view label, std::vector<Tensor> inputs, Make make, Call call,
           double atol = 0) {
    ModuleSample sample{std::string(label), [inputs = std::move(inputs), make, call, atol] {
                          manual_seed(11);  // draws weights away from kinks, as the next one does inputs
                          return nn::gradcheck(make(), inputs, call, {.gradcheck = {.atol = atol}, .seed = 5});
                        }};
    auto at = std::find_if(modules.begin(), modules.end(), [&](const ModuleSamples& m) { return m.module == module; });
    if (at == modules.end()) at = modules.insert(modules.end(), ModuleSamples{std::string(module), {}});
    at->samples.push_back(std::move(sample));
  }

  std::vector<ModuleSamples> modules;
};

void add_layer_samples(ModuleTable& table);
void add_attention_samples(ModuleTable& table);
void add_model_samples(ModuleTable& table);

}  // namespace tapegrad::tasks
