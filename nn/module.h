// What makes a plain struct a module: parameters, buffers, and the walk that finds them by the struct's own `visit`.
//
//   struct Mlp {
//     nn::Linear up, down;
//     explicit Mlp(int64_t dim) : up(dim, 4 * dim), down(4 * dim, dim) {}
//     Tensor operator()(const Tensor& x) const { return x + down(gelu(up(x))); }
//     void visit(auto&& field) { field("up", up); field("down", down); }
//   };
#pragma once

#include <tapegrad/autograd/named_tensor.h>
#include <tapegrad/autograd/ops.h>
#include <tapegrad/autograd/tape.h>

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

// So that arithmetic between parameters is found where the user writes it.
using tapegrad::operator+;
using tapegrad::operator-;
using tapegrad::operator*;
using tapegrad::operator/;

// A tensor that is trained: a leaf, which gradients are computed for. Usable wherever a `const Tensor&` is.
// It can be moved but not copied: clone(model) makes copies, and nothing else does.
class Parameter {
 public:
  Parameter() = default;  // none: a layer without bias
  // A leaf with these values (a floating tensor), in memory of its own.
  explicit Parameter(std::same_as<Tensor> auto values) : Parameter(std::move(values), Adopt{}) {}
  Parameter(Parameter&& other) noexcept : leaf_(std::move(other.leaf_)), name_(std::move(other.name_)) {}
  // For clone() alone; an Error anywhere else.
  Parameter(Parameter& other);
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
  // Becomes a new leaf of another floating type: optimisers made before know only the old one. Of bfloat16 it is no
  // leaf any more: storage for a model that only generates. Error for other types.
  void convert(DType dtype);

  // How many hold a value in this process: a model whose `visit` reaches fewer has forgotten some.
  static int64_t alive();

 private:
  struct Adopt {};
  Parameter(Tensor&& values, Adopt);
  void prepare_write(Tensor::Values values);
  Tensor leaf_;
  std::string name_;
};

// A tensor that belongs to the model's state but is not trained: saved, loaded and cloned like a parameter.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::same_as<Tensor> auto values) : Buffer(std::move(values), Adopt{}) {}
  Buffer(Buffer&& other) noexcept = default;
  Buffer(Buffer& other);  // for clone() alone
  Buffer& operator=(Buffer&& other) noexcept = default;

  bool defined() const { return values_.defined(); }
  operator const Tensor&() const { return values_; }  // NOLINT: as a parameter
  const Tensor& tensor() const { return values_; }
  const Tensor* operator->() const { return &values_; }
  void set(const Tensor& values);  // Error for another shape
  void convert(DType dtype);       // integers and bools stay what they are

 private:
  struct Adopt {};
  Buffer(Tensor&& values, Adopt);
  Tensor values_;
};

// A list of modules, named by their indices: `layers.0`, `layers.1`. A std::vector that clone() can copy.
template <class Module>
class List : public std::vector<Module> {
 public:
  using std::vector<Module>::vector;
  List() = default;
  List(List&&) noexcept = default;
  List& operator=(List&&) noexcept = default;
  List(List& other) : std::vector<Module>() {  // for clone() alone
    this->reserve(other.size());
    for (Module& module : other) this->push_back(Module(module));
  }
};

// A module that may be missing. A std::optional that clone() can copy.
template <class Module>
class Optional : public std::optional<Module> {
 public:
  using std::optional<Module>::optional;
  Optional() = default;
  Optional(Optional&&) noexcept = default;
  Optional& operator=(Optional&&) noexcept = default;
  Optional(Optional& other) : std::optional<Module>() {  // for clone() alone
    if (other) this->emplace(*other);
  }
};

// What a field may be beside a parameter, a buffer or a module: an optional or a pointer, or a list.
template <class Field>
concept MaybeModule = requires(Field& f) {
  f.has_value();
}
|| requires(Field& f) { f.get(); };
template <class Field>
concept ModuleList = requires(Field& f) {
  f.begin();
  f.size();
};

// A walk through a model: hand it to model.visit(), and it calls back for whatever it finds, in the order of the
// visits, with path() telling where it is.
class Walk {
 public:
  virtual ~Walk() = default;

  // field(name, member), as written in `visit`: a Parameter, a Buffer, a module, or a list, optional or pointer of
  // these.
  template <class Field>
  void operator()(std::string_view name, Field& field) {
    const std::size_t length = enter(name);
    go(field);
    path_.resize(length);
  }
  template <class Field>
  void go(Field& field) {
    if constexpr (std::is_same_v<Field, Parameter>) {
      if (field.defined()) found(field);
    } else if constexpr (std::is_same_v<Field, Buffer>) {
      if (field.defined()) found(field);
    } else if constexpr (requires { field.visit(*this); }) {
      if constexpr (requires { field.training = true; }) found_mode(field.training);
      field.visit(*this);
    } else if constexpr (MaybeModule<Field>) {
      if (field) go(*field);
    } else {
      static_assert(ModuleList<Field>,
                    "visit names a field that is no Parameter, Buffer, module (a struct with visit), or list of these");
      std::size_t index = 0;
      for (auto& element : field) (*this)(std::to_string(index++), element);
    }
  }

 protected:
  const std::string& path() const { return path_; }
  virtual void parameter(Parameter&) {}
  virtual void buffer(Buffer&) {}
  virtual void mode(bool& /*training*/) {}

 private:
  std::size_t enter(std::string_view name);
  void found(Parameter& p) { parameter(p); }
  void found(Buffer& b) { buffer(b); }
  void found_mode(bool& training) { mode(training); }
  std::string path_;
};

// A const model may be walked by who does not change it.
template <class Model>
void walk(const Model& model, Walk& walk) {
  walk.go(const_cast<Model&>(model));
}

struct NamedParameter {
  std::string name;
  Parameter& parameter;
};
struct NamedBuffer {
  std::string name;
  Buffer& buffer;
};

// What went amiss in a load that was not strict.
struct LoadReport {
  std::vector<std::string> missing;     // in the model, not in the list
  std::vector<std::string> unexpected;  // in the list, not in the model
};

namespace detail {

class ParameterWalk : public Walk {
 public:
  // `rename`: parameters take their paths as names, which only the walk of a model that may change does.
  explicit ParameterWalk(bool rename) : rename_(rename) {}
  std::vector<NamedParameter> parameters;

 private:
  void parameter(Parameter& p) override {
    if (rename_ && p.name() != path()) p.set_name(path());
    parameters.push_back({path(), p});
  }
  const bool rename_;
};

class BufferWalk : public Walk {
 public:
  std::vector<NamedBuffer> buffers;

 private:
  void buffer(Buffer& b) override { buffers.push_back({path(), b}); }
};

class ModeWalk : public Walk {
 public:
  explicit ModeWalk(bool training) : training_(training) {}

 private:
  void mode(bool& training) override { training = training_; }
  bool training_;
};

class ConvertWalk : public Walk {
 public:
  explicit ConvertWalk(DType dtype) : dtype_(dtype) {}

 private:
  void parameter(Parameter& p) override { p.convert(dtype_); }
  void buffer(Buffer& b) override { b.convert(dtype_); }
  DType dtype_;
};

// Collects parameters and buffers in the order of the visits, as handles: writing to one writes to the model.
class StateWalk : public Walk {
 public:
  struct Entry {
    std::string name;
    Parameter* parameter;
    Buffer* buffer;
    const Tensor& tensor() const { return parameter ? parameter->tensor() : buffer->tensor(); }
  };
  std::vector<Entry> entries;
  NamedTensors state_dict() const;
  LoadReport load(const NamedTensors& state, bool strict) const;
  int64_t count() const;
  std::string summary() const;

 private:
  void parameter(Parameter& p) override { entries.push_back({path(), &p, nullptr}); }
  void buffer(Buffer& b) override { entries.push_back({path(), nullptr, &b}); }
};

// While one is alive on this thread, parameters may be copied.
class CloneScope {
 public:
  CloneScope();
  ~CloneScope();
  CloneScope(const CloneScope&) = delete;
  CloneScope& operator=(const CloneScope&) = delete;
};

}  // namespace detail

/// Every parameter with its path, in the order of the visits. Valid while the model stays where it is. In a model that
/// is not const, parameters take their paths as names, for error messages.
template <class Model>
std::vector<NamedParameter> named_parameters(Model& model) {
  detail::ParameterWalk found(!std::is_const_v<Model>);
  walk(model, found);
  return std::move(found.parameters);
}

template <class Model>
std::vector<NamedBuffer> named_buffers(Model& model) {
  detail::BufferWalk found;
  walk(model, found);
  return std::move(found.buffers);
}

// The leaves with their names: what an optimiser takes. They stay those of the model when it moves.
template <class Model>
NamedTensors parameters(Model& model) {
  NamedTensors leaves;
  for (const NamedParameter& p : named_parameters(model)) leaves.push_back({p.name, p.parameter.tensor()});
  return leaves;
}

// Sets `training` of every submodule that has it (Dropout).
template <class Model>
void train(Model& model, bool training = true) {
  detail::ModeWalk set(training);
  walk(model, set);
}
template <class Model>
void eval(Model& model) {
  train(model, false);
}

// A deep copy: equal values in memory of its own, new leaves, no draws. Members that are lists of modules must be
// nn::List, optional ones nn::Optional (the standard ones cannot copy what is not copyable).
template <class Model>
Model clone(const Model& model) {
  const detail::CloneScope scope;
  return Model(const_cast<Model&>(model));
}

// Number of elements of all parameters.
template <class Model>
int64_t count_parameters(const Model& model) {
  detail::StateWalk found;
  walk(model, found);
  return found.count();
}

// A table of names, shapes and counts, one line a parameter or buffer, with the sum below.
template <class Model>
std::string summary(const Model& model) {
  detail::StateWalk found;
  walk(model, found);
  return found.summary();
}

// Converts every floating parameter and buffer, before an optimiser is made: to(model, kFloat64).
template <class Model>
void to(Model& model, DType dtype) {
  detail::ConvertWalk set(dtype);
  walk(model, set);
}

/// Parameters and buffers in the order of the visits: a snapshot, which later steps do not change. (It shares memory
/// with the model until then; the next step copies.)
template <class Model>
NamedTensors state_dict(const Model& model) {
  detail::StateWalk found;
  walk(model, found);
  return found.state_dict();
}

/// Copies `state` into the model. An Error names every missing, unexpected and mis-shaped entry, and then
/// nothing is changed; not strict, it reports the first two and loads the rest. `state` may share memory with the
/// model.
template <class Model>
LoadReport load_state_dict(Model& model, const NamedTensors& state, bool strict = true) {
  detail::StateWalk found;
  walk(model, found);
  return found.load(state, strict);
}

}  // namespace tapegrad::nn
