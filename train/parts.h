// The named parts of a run: any number of models, optimisers, averages and generators.
#pragma once

#include <tapegrad/autograd/random.h>
#include <tapegrad/nn/module.h>
#include <tapegrad/optim/optimizer.h>
#include <tapegrad/optim/schedule.h>
#include <tapegrad/train/checkpoint.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tapegrad::train {

/// The parts of a training run whose step is your own function:
///
///     train::Parts parts;
///     parts.add("generator", generator).add("critic", critic).add("generator_adam", adam, schedule);
///
/// Their names begin the names of their tensors in checkpoints and in model.safetensors, and must differ. The objects
/// must outlive the loop.
class Parts {
 public:
  /// A model; an optimiser, whose learning rate a schedule may set before each step; a Generator besides the default
  /// one; or another object with state() and load_state(), as ExponentialAverage. Error for a name that is empty or
  /// taken (by another part; by the loop, "generator" for a Generator, and "model" and "epoch" for what has a state),
  /// or has a dot.
  template <class Part>
  Parts& add(std::string name, Part& part, std::optional<optim::Schedule> rate = {}) {
    if constexpr (std::derived_from<Part, optim::Optimizer>) {
      add_optimizer(std::move(name), part, std::move(rate));
    } else {
      if (rate) refuse_rate(name);
      if constexpr (std::same_as<Part, Generator>) {
        add_generator(std::move(name), part);
      } else if constexpr (requires { part.load_state(part.state()); }) {
        add_state(std::move(name),
                  {[&part] { return part.state(); }, [&part](const NamedTensors& state) { part.load_state(state); }});
      } else {
        take_name(name);
        models_.push_back({std::move(name), nn::AnyModel(part)});
      }
    }
    return *this;
  }

  /// All models as one, whose members have their names.
  void walk(nn::Visitor& visitor) {
    for (auto& [name, model] : models_) visitor(name, model);
  }

 private:
  friend class Loop;
  struct State {
    std::function<NamedTensors()> save;
    std::function<void(const NamedTensors&)> load;
  };
  template <class Part>
  struct Named {
    std::string name;
    Part part;
  };
  struct Rated {
    optim::Optimizer* optimizer;
    std::optional<optim::Schedule> rate;
  };

  void take_name(const std::string& name);
  [[noreturn]] static void refuse_rate(std::string_view name);
  void add_optimizer(std::string name, optim::Optimizer& optimizer, std::optional<optim::Schedule> rate);
  void add_generator(std::string name, Generator& generator);
  void add_state(std::string name, State state);

  // All but the models.
  void save(Checkpoint& out) const;
  void load(const Checkpoint& in) const;
  void load_each(const Checkpoint& in) const;
  void set_rates(int64_t step) const;

  std::vector<std::string> names_;
  std::vector<Named<nn::AnyModel>> models_;
  std::vector<Named<State>> states_;
  std::vector<Named<Generator*>> generators_;
  std::vector<Rated> optimizers_;
};

}  // namespace tapegrad::train
