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

double decay_of(const optim::AdamWOptions& options) { return options.weight_decay.value_or(0); }

template <class Optimizer, class Options>
std::unique_ptr<optim::Optimizer> rule(NamedTensors parameters, const Options& options) {
  return std::make_unique<Optimizer>(std::move(parameters), options);
}

// With the learning rate and the weight decay alone.
template <class Optimizer, class Options>
std::unique_ptr<optim::Optimizer> plain_rule(NamedTensors parameters, const optim::AdamWOptions& options) {
  return rule<Optimizer>(std::move(parameters), Options{.lr = options.lr, .weight_decay = decay_of(options)});
}

// With betas and eps, too.
template <class Optimizer, class Options>
std::unique_ptr<optim::Optimizer> kind_of_adam(NamedTensors parameters, const optim::AdamWOptions& options) {
  return rule<Optimizer>(std::move(parameters), Options{.lr = options.lr,
                                                        .beta1 = options.beta1,
                                                        .beta2 = options.beta2,
                                                        .eps = options.eps,
                                                        .weight_decay = decay_of(options)});
}

template <class Optimizer, class Options>
std::unique_ptr<optim::Optimizer> with_momentum(NamedTensors parameters, const optim::AdamWOptions& options) {
  Options own{.lr = options.lr, .momentum = 0.9};
  own.weight_decay = decay_of(options);
  return rule<Optimizer>(std::move(parameters), own);
}

std::unique_ptr<optim::Optimizer> rprop(NamedTensors parameters, const optim::AdamWOptions& options) {
  return rule<optim::Rprop>(std::move(parameters), optim::RpropOptions{.lr = options.lr});
}

constexpr Rule kRules[] = {
    {"adamw", kind_of_adam<optim::AdamW, optim::AdamWOptions>, Decay::decoupled},
    {"adam", kind_of_adam<optim::Adam, optim::AdamOptions>},
    {"adadelta", plain_rule<optim::Adadelta, optim::AdadeltaOptions>},
    {"adafactor", plain_rule<optim::Adafactor, optim::AdafactorOptions>, Decay::decoupled},
    {"adagrad", plain_rule<optim::Adagrad, optim::AdagradOptions>},
    {"adamax", kind_of_adam<optim::Adamax, optim::AdamaxOptions>},
    {"asgd", plain_rule<optim::ASGD, optim::ASGDOptions>},
    {"lion", plain_rule<optim::Lion, optim::LionOptions>, Decay::decoupled},
    {"nadam", kind_of_adam<optim::NAdam, optim::NAdamOptions>},
    {"radam", kind_of_adam<optim::RAdam, optim::RAdamOptions>},
    {"rmsprop", with_momentum<optim::RMSprop, optim::RMSpropOptions>},
    {"rprop", rprop, Decay::none},
    {"sgd", with_momentum<optim::SGD, optim::SGDOptions>},
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
