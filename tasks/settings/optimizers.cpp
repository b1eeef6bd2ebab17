// The update rules that training runs can choose: one row each.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapegrad/optim/adadelta.h>
#include <tapegrad/optim/adafactor.h>
#include <tapegrad/optim/adagrad.h>
#include <tapegrad/optim/adamax.h>
#include <tapegrad/optim/asgd.h>
#include <tapegrad/optim/lion.h>
#include <tapegrad/optim/nadam.h>
#include <tapegrad/optim/rmsprop.h>
#include <tapegrad/optim/rprop.h>
#include <tapegrad/optim/sgd.h>
#include <tapegrad/tasks/settings/optimizers.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace tapegrad::tasks {
namespace {

enum class Decay { none, in_gradient, decoupled };  // where a rule applies its weight decay

struct Rule {
  std::string_view name;
  std::unique_ptr<optim::Optimizer> (*make)(NamedTensors parameters, const optim::AdamWOptions& options);
  Decay decay = Decay::in_gradient;
};

// A rule with the learning rate and the weight decay, betas and eps if it is a kind of Adam, and a momentum if it may
// have one.
template <class Optimizer, class Options>
std::unique_ptr<optim::Optimizer> rule(NamedTensors parameters, const optim::AdamWOptions& options) {
  Options own{.lr = options.lr};
  if constexpr (requires { own.weight_decay; }) own.weight_decay = options.weight_decay.value_or(0);
  if constexpr (requires { own.beta1 + own.eps; })
    own.beta1 = options.beta1, own.beta2 = options.beta2, own.eps = options.eps;
  if constexpr (requires { own.momentum; }) own.momentum = 0.9;
  return std::make_unique<Optimizer>(std::move(parameters), own);
}

constexpr Rule kRules[] = {
    {"adamw", rule<optim::AdamW, optim::AdamWOptions>, Decay::decoupled},
    {"adam", rule<optim::Adam, optim::AdamOptions>},
    {"adadelta", rule<optim::Adadelta, optim::AdadeltaOptions>},
    {"adafactor", rule<optim::Adafactor, optim::AdafactorOptions>, Decay::decoupled},
    {"adagrad", rule<optim::Adagrad, optim::AdagradOptions>},
    {"adamax", rule<optim::Adamax, optim::AdamaxOptions>},
    {"asgd", rule<optim::ASGD, optim::ASGDOptions>},
    {"lion", rule<optim::Lion, optim::LionOptions>, Decay::decoupled},
    {"nadam", rule<optim::NAdam, optim::NAdamOptions>},
    {"radam", rule<optim::RAdam, optim::RAdamOptions>},
    {"rmsprop", rule<optim::RMSprop, optim::RMSpropOptions>},
    {"rprop", rule<optim::Rprop, optim::RpropOptions>, Decay::none},
    {"sgd", rule<optim::SGD, optim::SGDOptions>},
};

const Rule& rule_named(std::string_view name) { return *std::ranges::find(kRules, name, &Rule::name); }

}  // namespace

std::span<const std::string_view> optimizer_names() {
  static constexpr auto kNames = [] {
    std::array<std::string_view, std::size(kRules)> names;
    std::ranges::transform(kRules, names.begin(), &Rule::name);
    return names;
  }();
  return kNames;
}

std::unique_ptr<optim::Optimizer> make_optimizer(std::string_view name, NamedTensors parameters,
                                                 const optim::AdamWOptions& options) {
  return rule_named(name).make(std::move(parameters), options);
}

bool has_weight_decay(std::string_view name) { return rule_named(name).decay != Decay::none; }

const std::string& help_of_weight_decay() {
  static const std::string kHelp = [] {
    std::vector<std::string_view> decoupled;
    for (const Rule& rule : kRules)
      if (rule.decay == Decay::decoupled) decoupled.push_back(rule.name);
    const std::string_view last = decoupled.back();
    decoupled.pop_back();
    return fmt::format("decoupled weight decay with {} and {}, else added to the gradient", fmt::join(decoupled, ", "),
                       last);
  }();
  return kHelp;
}

}  // namespace tapegrad::tasks
