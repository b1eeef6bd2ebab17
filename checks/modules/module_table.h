// The table that the samples of modules are added to, by kind of module.
#pragma once

#include <tapegrad/nn/gradcheck.h>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapegrad::tasks {

struct ModuleSample {
  std::string label;
  std::vector<Tensor> inputs;
  double atol;  // the error of a call, about
  std::function<GradcheckReport(const std::vector<Tensor>& inputs, const nn::ModuleGradcheckOptions& options)> check;
};

struct ModuleSamples {
  std::string module;  // the type's name: "Linear"
  std::vector<ModuleSample> samples;
};

struct CallWithFirst {
  auto operator()(auto& module, std::span<const Tensor> x) const { return module(x[0]); }
};

class ModuleTable {
 public:
  // `make` builds a module, `call(module, inputs)` uses it and has an error of about `atol`.
  template <class Make, class Call = CallWithFirst>
  void add(std::string_view module, std::string_view label, std::vector<Tensor> inputs, Make make, Call call = {},
           double atol = 0) {
    insert(module, {std::string(label), std::move(inputs), atol,
                    [make, call](const std::vector<Tensor>& x, const nn::ModuleGradcheckOptions& options) {
                      return nn::gradcheck(make(), x, call, options);
                    }});
  }
  void insert(std::string_view module, ModuleSample sample);

  std::vector<ModuleSamples> modules;
};

void add_layer_samples(ModuleTable& table);
void add_attention_samples(ModuleTable& table);
void add_model_samples(ModuleTable& table);

}  // namespace tapegrad::tasks
