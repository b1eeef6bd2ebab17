// The update rules and the numbers of golden files, whose options have PyTorch's names.
#pragma once

#include <tapegrad/autograd/io/internal/json_value.h>
#include <tapegrad/tapegrad.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tapegrad::tests {

// f(0), f(1), ...
Tensor numbers(const Shape& shape, DType dtype, const auto& f) {
  std::vector<double> values;
  for (int64_t i = 0; i < shape.numel(); ++i) values.push_back(static_cast<double>(f(i)));
  return tensor(values, shape).to(dtype);
}

inline std::string title(const Json& run) {
  return run["kind"].get<std::string>() + " " + run["options"].dump() + " " + run.value("dtype", "");
}
inline DType dtype_of(const Json& run) { return run["dtype"] == "float32" ? kFloat32 : kFloat64; }

template <class Options>
Options options_from(const Json& o) {
  Options options;
  const auto set = [&o](const char* name, auto& value) {
    if (o.contains(name)) value = o[name].get<std::remove_reference_t<decltype(value)>>();
  };
  if constexpr (requires { options.lr; }) set("lr", options.lr);
  if constexpr (requires { options.eps; }) set("eps", options.eps);
  if constexpr (requires { options.momentum; }) set("momentum", options.momentum);
  if constexpr (requires { options.dampening; }) set("dampening", options.dampening);
  if constexpr (requires { options.nesterov; }) set("nesterov", options.nesterov);
  if constexpr (requires { options.amsgrad; }) set("amsgrad", options.amsgrad);
  if constexpr (requires { options.centered; }) set("centered", options.centered);
  if constexpr (requires { options.alpha; }) set("alpha", options.alpha);
  if constexpr (requires { options.rho; }) set("rho", options.rho);
  if constexpr (requires { options.d; }) set("d", options.d);
  if constexpr (requires { options.beta2_decay; }) set("beta2_decay", options.beta2_decay);
  if constexpr (requires { options.lambd; }) set("lambd", options.lambd);
  if constexpr (requires { options.t0; }) set("t0", options.t0);
  if constexpr (requires { options.lr_decay; }) set("lr_decay", options.lr_decay);
  if constexpr (requires { options.initial_accumulator_value; })
    set("initial_accumulator_value", options.initial_accumulator_value);
  if constexpr (requires { options.momentum_decay; }) set("momentum_decay", options.momentum_decay);
  if constexpr (requires { options.decoupled_weight_decay; })
    set("decoupled_weight_decay", options.decoupled_weight_decay);
  if constexpr (requires { options.weight_decay; }) {
    if (o.contains("weight_decay")) options.weight_decay = o["weight_decay"].get<double>();
  }
  if constexpr (requires { options.beta1; }) {
    if (o.contains("betas")) options.beta1 = o["betas"][0], options.beta2 = o["betas"][1];
  }
  if constexpr (requires { options.eta_minus; }) {
    if (o.contains("etas")) options.eta_minus = o["etas"][0], options.eta_plus = o["etas"][1];
    if (o.contains("step_sizes")) options.least_step = o["step_sizes"][0], options.largest_step = o["step_sizes"][1];
  }
  if constexpr (requires { options.eps1; }) {
    if (o.contains("eps")) options.eps1 = o["eps"][0], options.eps2 = o["eps"][1];
  }
  if constexpr (requires { options.coefficients; }) {
    for (std::size_t i = 0; i < o["ns_coefficients"].size(); ++i) options.coefficients[i] = o["ns_coefficients"][i];
  }
  if constexpr (requires { options.iterations; }) {
    set("ns_steps", options.iterations);  // two: no rounding to bfloat16 is near the middle
    const std::string scale = o.value("adjust_lr_fn", "original");
    if (scale == "match_rms_adamw") options.scale = optim::MuonScale::match_adamw;
    if (scale == "spectral_unclamped") options.scale = optim::MuonScale::spectral;
  }
  return options;
}

using Groups = std::vector<optim::ParameterGroup>;

template <class Rule, class Options>
std::unique_ptr<optim::Optimizer> rule_from(const Json& options, Groups groups) {
  return std::make_unique<Rule>(std::move(groups), options_from<Options>(options));
}

// {"kind": "adam", "options": {"lr": 0.1}}: the rule of this kind with these groups of parameters.
inline std::unique_ptr<optim::Optimizer> optimizer_from(const Json& run, Groups groups) {
  using namespace optim;
  static const std::map<std::string, std::unique_ptr<Optimizer> (*)(const Json&, Groups)> kRules{
      {"adadelta", rule_from<Adadelta, AdadeltaOptions>},
      {"adafactor", rule_from<Adafactor, AdafactorOptions>},
      {"adagrad", rule_from<Adagrad, AdagradOptions>},
      {"adam", rule_from<Adam, AdamOptions>},
      {"adamax", rule_from<Adamax, AdamaxOptions>},
      {"adamw", rule_from<AdamW, AdamWOptions>},
      {"asgd", rule_from<ASGD, ASGDOptions>},
      {"lion", rule_from<Lion, LionOptions>},
      {"muon", rule_from<Muon, MuonOptions>},
      {"nadam", rule_from<NAdam, NAdamOptions>},
      {"radam", rule_from<RAdam, RAdamOptions>},
      {"rmsprop", rule_from<RMSprop, RMSpropOptions>},
      {"rprop", rule_from<Rprop, RpropOptions>},
      {"sgd", rule_from<SGD, SGDOptions>},
  };
  return kRules.at(run["kind"].get<std::string>())(run["options"], std::move(groups));
}

}  // namespace tapegrad::tests
