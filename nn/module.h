// What makes a plain struct a module: parameters and buffers as members, and a `visit` that names them.
//
//   struct Mlp {
//     nn::Linear up, down;
//     explicit Mlp(int64_t dim) : up(dim, 4 * dim), down(4 * dim, dim) {}
//     Tensor operator()(const Tensor& x) const { return x + down(gelu(up(x))); }
//     void visit(auto&& field) { field("up", up); field("down", down); }
//   };
//
// Everything else follows from `visit`: names, train and eval, clone, counts, state in and out, conversion to a dtype.
// Modules move and do not copy. clone(model) makes a deep copy. `Mlp b = a;` does not compile where a is const; where a
// is not const it compiles and raises an Error, because C++ cannot tell it from the copy that clone makes.
#pragma once

#include <tapegrad/autograd/named_tensor.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>
#include <tapegrad/nn/module_walk.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapegrad::nn {

// Arithmetic between parameters is found by the namespace of Parameter.
using tapegrad::operator+;
using tapegrad::operator-;
using tapegrad::operator*;
using tapegrad::operator/;

/// A tensor that is trained: a leaf, for which gradients are computed. Usable wherever a `const Tensor&` is.
class Parameter {
 public:
  Parameter() = default;  ///< none: a layer without bias
  /// A leaf with these values (a floating tensor), in its own memory.
  explicit Parameter(std::same_as<Tensor> auto values) : Parameter(std::move(values), Adopt{}) {}
  Parameter(Parameter&& other) noexcept : leaf_(std::move(other.leaf_)), name_(std::move(other.name_)) {}
  Parameter(Parameter& other);  ///< for clone(); an Error anywhere else
  Parameter& operator=(Parameter&& other) noexcept;
  ~Parameter();

  bool defined() const { return leaf_.defined(); }
  operator const Tensor&() const { return leaf_; }  // NOLINT: a parameter is a tensor to every operation
  const Tensor& tensor() const { return leaf_; }
  const Tensor* operator->() const { return &leaf_; }
  /// Its path in the model, "encoder.norm.gamma", once parameters(model) or load_state_dict(model) has set it; ""
  /// before.
  const std::string& name() const { return name_; }
  void set_name(std::string_view name) { name_ = name; }

  /// Overwrites the values, from any floating type; `values` may share memory with this parameter. Nothing else that
  /// shares its memory changes. Error for another shape, and while a live tape has recorded this parameter.
  void set(const Tensor& values);
  /// The values, to be written to by an initialiser before anything else uses the parameter. The same Errors.
  template <class T>
  T* mutable_data() {
    prepare_write(Tensor::Values::keep);
    return leaf_.mutable_data<T>();
  }
  /// Computes with another tensor of this shape from now on, recorded or not: for checks of gradients. A later set()
  /// leaves that tensor alone, unless it is a leaf: a leaf takes the new values wherever it is held.
  void substitute(const Tensor& values);
  /// Becomes a new leaf of another floating type, which optimisers made before do not know. In bfloat16 it is not a
  /// leaf any more: storage for a model that only generates. Error for other types.
  void convert(DType dtype);

  /// Number of parameters with a value in this process. If a model's `visit` reaches fewer, it has forgotten some.
  static int64_t alive();

 private:
  struct Adopt {};
  Parameter(Tensor&& values, Adopt);
  void prepare_write(Tensor::Values values);
  Tensor leaf_;
  std::string name_;
};

/// A tensor that belongs to the model's state but is not trained: saved, loaded and cloned like a parameter.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::same_as<Tensor> auto values) : Buffer(std::move(values), Adopt{}) {}
  Buffer(Buffer&& other) noexcept = default;
  Buffer(Buffer& other);  ///< for clone(); an Error anywhere else
  Buffer& operator=(Buffer&& other) noexcept = default;

  bool defined() const { return values_.defined(); }
  operator const Tensor&() const { return values_; }  // NOLINT: as a parameter
  const Tensor& tensor() const { return values_; }
  const Tensor* operator->() const { return &values_; }
  void set(const Tensor& values);  ///< Error for another shape
  void convert(DType dtype);       ///< converts floating values; integers and bools keep their type

 private:
  struct Adopt {};
  Buffer(Tensor&& values, Adopt);
  Tensor values_;
};

/// A list of modules, named by their indices: `layers.0`, `layers.1`. A std::vector that clone() can copy.
template <class Module>
class List : public std::vector<Module> {
 public:
  using std::vector<Module>::vector;
  List() = default;
  List(List&&) noexcept = default;
  List& operator=(List&&) noexcept = default;
  List(List& other) : std::vector<Module>() {  // for clone()
    this->reserve(other.size());
    for (Module& module : other) this->push_back(Module(module));
  }
};

/// A list of `count` modules, each made with the same arguments: repeat<GPTBlock>(config.n_layers, config).
template <class Module, class... Arguments>
List<Module> repeat(int64_t count, const Arguments&... arguments) {
  if (count < 0) fail("repeat", "expected a count of 0 or more modules, got " + std::to_string(count));
  List<Module> modules;
  modules.reserve(static_cast<std::size_t>(count));
  for (int64_t i = 0; i < count; ++i) modules.emplace_back(arguments...);
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
    if (other) this->emplace(*other);
  }
};

struct NamedParameter {
  std::string name;
  Parameter& parameter;
};
struct NamedBuffer {
  std::string name;
  Buffer& buffer;
};

/// What did not match in a load that was not strict.
struct LoadReport {
  std::vector<std::string> missing;     ///< in the model, not in the state
  std::vector<std::string> unexpected;  ///< in the state, not in the model
};

namespace detail {

// What the functions below do, for a model of any type.
std::vector<NamedParameter> named_parameters(const AnyModel& model, bool rename);
std::vector<NamedBuffer> named_buffers(const AnyModel& model);
void set_training(const AnyModel& model, bool training);
int64_t count_parameters(const AnyModel& model);
std::string summary(const AnyModel& model);
void convert(const AnyModel& model, DType dtype);
NamedTensors state_dict(const AnyModel& model);
LoadReport load_state_dict(const AnyModel& model, const NamedTensors& state, bool strict);

// While one is alive on this thread, parameters may be copied.
class CloneScope {
 public:
  CloneScope();
  ~CloneScope();
  CloneScope(const CloneScope&) = delete;
  CloneScope& operator=(const CloneScope&) = delete;
};

}  // namespace detail

/// Every parameter with its path, in the order of the visits. Valid until the model is moved or ends. In a model that
/// is not const, parameters take their paths as names, for error messages. Error for a parameter that is visited twice,
/// and for two that have the same path.
template <class Model>
std::vector<NamedParameter> named_parameters(Model& model) {
  return detail::named_parameters(detail::AnyModel(model), !std::is_const_v<Model>);
}
template <class Model>
std::vector<NamedBuffer> named_buffers(Model& model) {
  return detail::named_buffers(detail::AnyModel(model));
}

/// The leaves with their names, for an optimiser. They stay the model's leaves when it moves.
template <class Model>
NamedTensors parameters(Model& model) {
  NamedTensors leaves;
  for (NamedParameter& p : named_parameters(model)) leaves.push_back({std::move(p.name), p.parameter.tensor()});
  return leaves;
}

/// Sets `training` of every module that has it (Dropout).
template <class Model>
requires(!std::is_const_v<Model>) void train(Model& model, bool training = true) {
  detail::set_training(detail::AnyModel(model), training);
}
template <class Model>
requires(!std::is_const_v<Model>) void eval(Model& model) { train(model, false); }

/// A deep copy: equal values in new leaves and new memory; draws no random numbers. Members that are lists of modules
/// must be nn::List, and optional modules nn::Optional (the standard ones cannot copy what does not copy).
template <class Model>
Model clone(const Model& model) {
  Model& source = const_cast<Model&>(model);
  if constexpr (requires { source.visit(detail::CloneCheck{}); }) {
    if (false) source.visit(detail::CloneCheck{});
  }
  const detail::CloneScope scope;
  return Model(source);
}

/// Number of elements of all parameters.
template <class Model>
int64_t count_parameters(const Model& model) {
  return detail::count_parameters(detail::AnyModel(model));
}

/// A table of names, shapes and counts: one line per parameter or buffer, and the sum of the parameters.
template <class Model>
std::string summary(const Model& model) {
  return detail::summary(detail::AnyModel(model));
}

/// Converts every floating parameter and buffer: to(model, kFloat64). To be called before an optimiser is made.
template <class Model>
requires(!std::is_const_v<Model>) void to(Model& model, DType dtype) {
  detail::convert(detail::AnyModel(model), dtype);
}

/// Parameters and buffers in the order of the visits: a snapshot, which later steps do not change. (It shares memory
/// with the model until then; the next step copies.)
template <class Model>
NamedTensors state_dict(const Model& model) {
  return detail::state_dict(detail::AnyModel(model));
}

/// Copies `state`, which may share memory with the model, into the model. An Error names every missing, unexpected and
/// mis-shaped entry; then nothing is changed. If not strict, it reports missing and unexpected entries and loads the
/// rest.
template <class Model>
requires(!std::is_const_v<Model>) LoadReport
    load_state_dict(Model& model, const NamedTensors& state, bool strict = true) {
  return detail::load_state_dict(detail::AnyModel(model), state, strict);
}

}  // namespace tapegrad::nn
