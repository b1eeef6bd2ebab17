// Modules: plain structs with parameters and buffers as members, and a `visit` that names them.
//
//   struct Mlp {
//     nn::Linear up, down;
//     explicit Mlp(int64_t dim) : up(dim, 4 * dim), down(4 * dim, dim) {}
//     Tensor operator()(const Tensor& x) const { return x + down(gelu(up(x))); }
//     void visit(auto&& field) { field("up", up); field("down", down); }
//   };
//
// A plain struct, with neither constructor nor base class nor private members, needs no visit: its members are found by
// the compiler (reflection.h).
//
// Everything else follows from `visit`: names, train and eval, clone, counts, state in and out, conversion to a dtype.
// Modules can be moved but not copied; clone(model) makes a deep copy. `Mlp b = a;` does not compile if a is const. If
// a is not const, it compiles and raises an Error, because C++ cannot distinguish it from the copy that clone makes.
#pragma once

#include <tapegrad/autograd/named_tensor.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/clone.h>
#include <tapegrad/nn/module_walk.h>
#include <tapegrad/nn/parameter.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapegrad::nn {

template <class Interface>
class AnyOf;

/// A list of modules, named by their indices: `layers.0`, `layers.1`. A std::vector that clone() can copy, and that is
/// found if a visit forgets it.
///
///   nn::List<nn::AnyModule> layers{nn::Linear(2, 8), nn::ReLU(), nn::Linear(8, 1)};
template <class Module>
class List : public std::vector<Module>, public detail::HolderOf<List<Module>> {
 public:
  /// An item of a list in braces, from which the module is moved.
  struct NewItem {
    template <class From>
    requires(std::is_class_v<From> && !std::is_same_v<From, List> && std::is_constructible_v<Module, From>)
        NewItem(From&& from)  // NOLINT: a module in braces
        : module(std::forward<From>(from)) {}
    mutable Module module;  ///< moved from after the construction
  };

  List() = default;
  /// Modules without arguments.
  explicit List(std::size_t count) : std::vector<Module>(count) {}
  List(std::initializer_list<NewItem> items) {
    this->reserve(items.size());
    for (const NewItem& item : items) this->push_back(std::move(item.module));
  }
  List(List&&) noexcept = default;
  List& operator=(List&&) noexcept = default;
  List(List& other) : std::vector<Module>() {  // for clone()
    this->reserve(other.size());
    for (Module& module : other) this->push_back(detail::clone_of(module));
  }
};

/// nn::List{Linear(2, 2), Linear(2, 3)} is a list of Linears; modules of several types become AnyModules.
template <class First, class... Others>
List(First, Others...)
    -> List<std::conditional_t<(std::is_same_v<First, Others> && ...), First, AnyOf<Tensor(const Tensor&)>>>;

/// A list of `count` modules, each made with the same arguments: repeat<GPTBlock>(config.n_layers, config). For a plain
/// struct they are the values of its first members.
template <class Module, class... Arguments>
List<Module> repeat(int64_t count, const Arguments&... arguments) {
  if (count < 0) fail("repeat", "expected a count of 0 or more modules, got " + std::to_string(count));
  List<Module> modules;
  modules.reserve(static_cast<std::size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_aggregate_v<Module>) {
      modules.push_back(Module{arguments...});  // Clang 14 has no emplace_back for them
    } else {
      modules.emplace_back(arguments...);
    }
  }
  return modules;
}

/// A module that may be missing. A std::optional that clone() can copy.
template <class Module>
class Optional : public std::optional<Module> {
 public:
  using std::optional<Module>::optional;
  Optional() = default;
  Optional(Optional&&) noexcept = default;
  Optional& operator=(Optional&&) noexcept = default;
  Optional(Optional& other) : std::optional<Module>() {  // for clone()
    if (other) this->emplace(detail::clone_of(*other));
  }
};

/// What named_parameters() returns.
struct NamedParameter {
  std::string name;      ///< path in the model, "encoder.norm.gamma"
  Parameter& parameter;  ///< lives as long as the model
};
/// What named_buffers() returns.
struct NamedBuffer {
  std::string name;  ///< path in the model, "bn.running_mean"
  Buffer& buffer;    ///< lives as long as the model
};

/// The entries that did not match in a load that was not strict.
struct LoadReport {
  std::vector<std::string> missing;     ///< in the model, not in the state
  std::vector<std::string> unexpected;  ///< in the state, not in the model
};

namespace detail {

// Error for parameters, buffers and modes that are in the memory of a module of this model and that no visit names.
void require_whole_visit(const AnyModel& model);

// The functions below, for a model of any type.
std::vector<NamedParameter> named_parameters(const AnyModel& model, bool rename);
std::vector<NamedBuffer> named_buffers(const AnyModel& model);
void set_training(const AnyModel& model, bool training);
std::vector<bool*> modes_of(const AnyModel& model);  // in the order of the visits
void freeze(const AnyModel& model, bool frozen);
int64_t count_parameters(const AnyModel& model, bool frozen_too);
void convert(const AnyModel& model, DType dtype);
NamedTensors state_dict(const AnyModel& model);
LoadReport load_state_dict(const AnyModel& model, const NamedTensors& state, bool strict);

}  // namespace detail

/// Error if the visit of a module does not name a parameter, a buffer or a Mode (a Dropout has one) that the module
/// holds, itself or in a List, a Dict or an AnyModule: it would be neither trained nor saved. field.ignore(member), in
/// the visit, leaves one out on purpose. Called by state_dict, gradcheck, train::Loop and, without NDEBUG,
/// parameters(). Not seen are
/// - modules behind a pointer, or in a std::vector or std::map: memory does not show who owns them. A plain struct
///   needs no visit that could forget them.
/// - a Tensor: it may be a constant or a cache. In a plain struct it is a compile error.
/// An optimiser's step rejects gradients of either.
void require_whole_visit(const auto& model) { detail::require_whole_visit(detail::AnyModel(model)); }

/// Every parameter with its path, in the order of the visits. Valid until the model is moved or destroyed. If the model
/// is not const, parameters take their paths as names, for error messages. A tied parameter (one that is visited twice,
/// or two that tie() has joined) is listed once, under its first path. Error if two members have the same path.
template <class Model>
std::vector<NamedParameter> named_parameters(Model& model) {
  return detail::named_parameters(detail::AnyModel(model), !std::is_const_v<Model>);
}
std::vector<NamedBuffer> named_buffers(auto& model) { return detail::named_buffers(detail::AnyModel(model)); }

/// The leaves with their names, for an optimiser. They remain the model's leaves when it moves. They include frozen
/// ones, which the optimiser ignores until they are unfrozen.
NamedTensors parameters(auto& model) {
#ifndef NDEBUG
  require_whole_visit(model);
#endif
  NamedTensors leaves;
  for (NamedParameter& p : named_parameters(model)) leaves.push_back({std::move(p.name), p.parameter.tensor()});
  return leaves;
}

namespace detail {

// Several models with the names of their paths, as one.
struct Group {
  std::vector<std::pair<std::string, AnyModel>> models;
  void walk(Visitor& visitor) {
    for (auto& [name, model] : models) visitor(name, model);
  }
  void add() {}
  template <class Model, class... More>
  void add(Model& first, More&... more) {
    if constexpr (!std::is_convertible_v<Model&, std::string_view>) {
      models.emplace_back(std::to_string(models.size()), AnyModel(first));
      add(more...);
    } else {
      add_named(first, more...);
    }
  }
  template <class Model, class... More>
  void add_named(std::string_view name, Model& first, More&... more) {
    models.emplace_back(checked_key(name), AnyModel(first));
    add(more...);
  }
};

}  // namespace detail

/// The leaves of several models, for one optimiser: parameters(actor, critic) are "0.up.weight", "1.up.weight" and so
/// on, parameters("actor", actor, "critic", critic) are "actor.up.weight", "critic.up.weight". One that models share is
/// listed once.
template <class First, class Second, class... More>
NamedTensors parameters(First&& first, Second& second, More&&... more) {
  detail::Group group;
  group.add(first, second, more...);
  return parameters(group);
}

/// Sets `training` in every module that has it, such as Dropout and BatchNorm.
void train(detail::NotConst auto& model, bool training = true) {
  detail::set_training(detail::AnyModel(model), training);
}
void eval(detail::NotConst auto& model) { train(model, false); }

/// A model in eval mode as long as this object lives. Afterwards each module has the mode that it had before: one that
/// was in eval mode, such as a BatchNorm whose statistics are frozen, still is. Until then the model must stay where it
/// is and keep its modules.
class EvalMode : NonCopyable {
 public:
  template <class Model>
  requires(!std::is_const_v<Model>) explicit EvalMode(Model& model) : EvalMode(detail::AnyModel(model)) {}
  ~EvalMode();

 private:
  explicit EvalMode(const detail::AnyModel& model);
  detail::AnyModel model_;
  std::vector<bool> before_;  // in the order of the visits
};

/// Freezes every parameter of a model or of a part of it: freeze(model.encoder), freeze(model.head.weight). Frozen
/// parameters are constants: nothing is recorded or computed for them, and optimisers do not change them. Affects only
/// what is recorded afterwards; modes and state do not change.
void freeze(detail::NotConst auto& model) { detail::freeze(detail::AnyModel(model), true); }
void unfreeze(detail::NotConst auto& model) { detail::freeze(detail::AnyModel(model), false); }

/// The number of elements of all parameters; a tied parameter counts once.
int64_t count_parameters(const auto& model) { return detail::count_parameters(detail::AnyModel(model), true); }
/// The same without frozen parameters.
int64_t count_trainable_parameters(const auto& model) {
  return detail::count_parameters(detail::AnyModel(model), false);
}

/// Converts every floating parameter and buffer: to(model, kFloat64). Call it before the optimiser is constructed. Ties
/// and frozen parameters are kept.
void to(detail::NotConst auto& model, DType dtype) { detail::convert(detail::AnyModel(model), dtype); }

/// Parameters and persistent buffers in the order of the visits: a snapshot, which later steps do not change. (It
/// shares memory with the model until the next step, which copies.) A tied parameter is saved once, under its first
/// path. The Error of require_whole_visit.
NamedTensors state_dict(const auto& model) { return detail::state_dict(detail::AnyModel(model)); }

/// Copies `state`, which may share memory with the model, into the model. Error with the name of every missing,
/// unexpected and mis-shaped entry; the model is then unchanged. If not strict, returns the missing and unexpected
/// entries and loads the others. A tied parameter may be in the state under any of its paths; if it is there under
/// several, the values must be equal.
LoadReport load_state_dict(detail::NotConst auto& model, const NamedTensors& state, bool strict = true) {
  return detail::load_state_dict(detail::AnyModel(model), state, strict);
}

}  // namespace tapegrad::nn
