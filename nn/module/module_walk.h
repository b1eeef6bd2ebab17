// The walk through a model: `visit` receives a Visitor and calls it for every member that it names.
#pragma once

#include <tapegrad/nn/member.h>
#include <tapegrad/nn/reflection.h>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace tapegrad {
class Tensor;
}

namespace tapegrad::nn {

class Parameter;
class Buffer;
class Weight;

/// In addition to a parameter, a buffer or a module, a field may be an optional, a pointer, a list, a std::variant, or
/// a std::map whose keys are names or numbers.
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
template <class Field>
concept ModuleVariant = requires(Field& f) {
  f.valueless_by_exception();
};
template <class Field>
concept ModuleMap = ModuleList<Field> && requires {
  typename Field::mapped_type;
};

namespace detail {

// "Linear" for tapegrad::nn::Linear, "function" for a lambda: the compiler's name without namespaces and template
// arguments.
std::string_view short_type_name(std::string_view signature);
template <class T>
std::string_view type_name() {
  if constexpr (requires { typename T::Wrapped; }) {
    return type_name<typename T::Wrapped>();
  } else {
    static const std::string_view name = short_type_name(__PRETTY_FUNCTION__);
    return name;
  }
}

// Containers report the calls of their modules to watch(), and so do modules whose operations do not show whose they
// are; at other times this does nothing.
void report_call(const void* module, std::string_view type, const Tensor& result);

// The name of a module in a map or Dict. Error for one that is empty or has a dot, which separates names in a path.
std::string_view checked_key(std::string_view key);
[[noreturn]] void fail_key(std::string_view expected, std::string_view key, const std::vector<std::string>& keys);
std::string checked_key(std::integral auto key) { return std::to_string(key); }

}  // namespace detail

namespace detail {

// A model that a function may change.
template <class Model>
concept NotConst = !std::is_const_v<Model>;

template <class T>
concept NamesItsMembers = requires(T& t, Visitor& v) {
  t.visit(v);
}
|| requires(T& t, Visitor& v) { t.walk(v); };

template <class Field>
constexpr bool is_visitable();

template <template <class...> class Variant, class... Modules>
constexpr bool any_is_visitable(const Variant<Modules...>*) {
  return (is_visitable<Modules>() || ...);
}

// Whether a member of a plain struct is, or holds, something to be visited; numbers, texts and functions do not.
template <class Field>
constexpr bool is_visitable() {
  using T = std::remove_const_t<Field>;
  if constexpr (!std::is_class_v<T>) {
    return false;
  } else if constexpr (std::is_convertible_v<T*, Parameter*> || std::is_same_v<T, Buffer> || NamesItsMembers<T>) {
    return true;
  } else if constexpr (MaybeModule<T> && requires(T & t) { *t; }) {
    return is_visitable<std::remove_reference_t<decltype(*std::declval<T&>())>>();
  } else if constexpr (ModuleVariant<T>) {
    return any_is_visitable(static_cast<T*>(nullptr));
  } else if constexpr (ModuleMap<T>) {
    return is_visitable<typename T::mapped_type>();
  } else if constexpr (ModuleList<T>) {
    return is_visitable<std::remove_reference_t<decltype(*std::declval<T&>().begin())>>();
  } else if constexpr (std::is_aggregate_v<T> && has_array<T>()) {
    static_assert(!has_array<T>(), "a plain struct has a C array: make it a std::array, or write a visit");
    return true;
  } else if constexpr (std::is_aggregate_v<T> && count_members<T>() > 0) {
    return decltype(with_members<count_members<T>()>(std::declval<T&>(), [](auto&... members) {
      return std::bool_constant<(is_visitable<std::remove_reference_t<decltype(members)>>() || ...)>();
    }))::value;
  } else if constexpr (requires(T & t) { t.first, t.second; }) {  // in a map of modules, which the walk does not accept
    return is_visitable<decltype(T::first)>() || is_visitable<decltype(T::second)>();
  } else {
    return false;
  }
}

// A struct that needs no visit.
template <class T>
concept PlainModule = std::is_class_v<T> && std::is_aggregate_v<T> && !MaybeModule<T> && !ModuleList<T> &&
                      !NamesItsMembers<T> && is_visitable<T>();

// A module, not a function.
template <class T>
concept Visited = NamesItsMembers<T> || PlainModule<T>;

// What a module is to code that does not know its type.
struct ModuleType {
  const std::type_info& type;
  std::string (*code)(const void* module);  // the C++ that makes it, or ""
};

// Adds ".dim = 64" to the code of a plain struct.
void add_member(std::string& code, std::string_view name, bool value);
void add_member(std::string& code, std::string_view name, int64_t value);
void add_member(std::string& code, std::string_view name, double value);
struct AddNumber {
  std::string& code;
  template <class Member>
  void operator()(std::string_view name, const Member& member) const {
    if constexpr (std::is_same_v<Member, bool>) {
      add_member(code, name, member);
    } else if constexpr (std::is_integral_v<Member>) {
      add_member(code, name, static_cast<int64_t>(member));
    } else if constexpr (std::is_floating_point_v<Member>) {
      add_member(code, name, static_cast<double>(member));
    }
  }
};

// A module says its code in `std::string describe() const`; a plain struct lists its numbers.
template <class Module>
std::string code_of(const void* module) {
  auto& m = *static_cast<Module*>(const_cast<void*>(module));
  std::string code;
  if constexpr (requires { code = std::as_const(m).describe(); }) {
    code = std::as_const(m).describe();
  } else if constexpr (PlainModule<Module>) {
    for_each_member(m, AddNumber{code});
    code = std::string(type_name<Module>()) + "{" + code + "}";
  }
  return code;
}

// A type with parameters cannot be copied, so it must have a visit; functions can be copied.
template <class T>
inline constexpr bool kHidesNoParameters = Visited<T> || std::is_copy_constructible_v<T>;

// For fields that no branch of the walk accepts: a compile error with a hint.
template <class Field>
constexpr bool may_be_visited() {
  using Plain = std::remove_const_t<Field>;
  if constexpr (std::is_same_v<Plain, Tensor>) {
    static_assert(!std::is_same_v<Plain, Tensor>,
                  "visit names a Tensor: make it an nn::Parameter, which is trained, or an nn::Buffer, which is not");
  } else if constexpr (std::is_const_v<Field>) {
    static_assert(
        !std::is_const_v<Field>,
        "expected a visit without const, because it provides members that are changed: void visit(auto&& field)");
  } else if constexpr (std::is_pointer_v<Field>) {
    static_assert(!std::is_pointer_v<Field>,
                  "visit names a pointer: name the module that it points to, or keep the module in an nn::Optional");
  } else if constexpr (std::is_class_v<Field>) {
    static_assert(!std::is_class_v<Field>,
                  "a module needs a visit that names its members: void visit(auto&& field) { field(\"up\", up); }");
  } else {
    static_assert(
        std::is_class_v<Field>,
        "visit names a field that is not a parameter, buffer or module, nor a list, map, optional, variant or "
        "pointer of these: leave it out");
  }
  return true;
}

}  // namespace detail

/// Called for every module, weight, parameter, buffer and `training` flag of a model, in the order of the visits. A
/// subclass overrides the functions it needs; path() is the path of the current member: "encoder.layers.0.norm.gamma".
class Visitor {
 public:
  virtual ~Visitor() = default;

  /// field(name, member), as `visit` writes it: a Parameter, a Buffer, a Weight, a module, or a list, map, optional,
  /// variant or pointer of these.
  void operator()(std::string_view name, auto& field) {
    if constexpr (requires { field.visit_as(name, *this); }) {  // a weight, whose tensors' names begin with this one
      field.visit_as(name, *this);
    } else {
      const std::size_t length = descend(name);
      go(field);
      ascend(length);
    }
  }
  /// For the matrix of a layer, whose path is path(), before its tensors.
  virtual void weight(std::string_view /*name*/, Weight&) {}
  /// A member that is left out on purpose: neither trained nor saved, nor converted.
  void ignore(const auto& field) { left_out(memory_of(field)); }
  /// Walks through a whole model.
  template <class Field>
  void go(Field& field) {
    if constexpr (std::is_base_of_v<detail::Holder, Field>) holder(field);
    if constexpr (std::is_convertible_v<Field*, Parameter*>) {  // a weight alone, too
      if (field.defined()) parameter(field);
    } else if constexpr (std::is_same_v<Field, Buffer>) {
      if (field.defined()) buffer(field);
    } else if constexpr (requires { field.walk(*this); }) {
      field.walk(*this);
    } else if constexpr (requires { field.visit(*this); }) {
      enter(detail::type_name<Field>(), memory_of(field));
      entered({typeid(Field), detail::code_of<Field>});
      if constexpr (requires { field.training = true; }) mode(field.training);
      field.visit(*this);
      leave();
    } else if constexpr (MaybeModule<Field>) {
      if (field) go(*field);
    } else if constexpr (ModuleVariant<Field>) {
      if (!field.valueless_by_exception()) visit([this](auto& module) { this->go_alternative(module); }, field);
    } else if constexpr (ModuleMap<Field>) {
      static_assert(
          !requires { field.bucket_count(); },
          "visit names a std::unordered_map, whose order differs between programs: use nn::Dict or std::map");
      for (auto& [key, module] : field) (*this)(detail::checked_key(key), module);
    } else if constexpr (ModuleList<Field>) {
      std::size_t index = 0;
      for (auto& element : field) (*this)(std::to_string(index++), element);
    } else if constexpr (detail::PlainModule<Field>) {
      enter(detail::type_name<Field>(), memory_of(field));
      entered({typeid(Field), detail::code_of<Field>});
      if constexpr (requires { field.training = true; }) mode(field.training);
      detail::for_each_member(field, PlainMember{*this});
      leave();
    } else {
      static_assert(detail::may_be_visited<Field>());
    }
  }

 protected:
  const std::string& path() const { return path_; }
  /// Before and after the members of a module.
  virtual void enter(std::string_view /*type*/, std::span<const std::byte> /*module*/) {}
  /// Of the module that was entered last.
  virtual void entered(const detail::ModuleType& /*type*/) {}
  virtual void leave() {}
  virtual void parameter(Parameter&) {}
  virtual void buffer(Buffer&) {}
  virtual void mode(bool& /*training*/) {}
  virtual void left_out(std::span<const std::byte> /*member*/) {}
  /// For a container that has its modules elsewhere in memory, before these.
  virtual void holder(const detail::Holder&) {}

 private:
  // What a variant has: as in a Sequential, a module or a function.
  template <class Module>
  void go_alternative(Module& module) {
    static_assert(detail::is_visitable<Module>() || detail::kHidesNoParameters<Module>,
                  "a module needs a visit that names its members: void visit(auto&& field) { field(\"up\", up); }");
    if constexpr (detail::is_visitable<Module>()) go(module);
  }
  struct PlainMember {
    Visitor& visitor;
    template <class Member>
    void operator()(std::string_view name, Member& member) const {
      static_assert(
          !std::is_same_v<Member, Tensor>,
          "a plain struct has a Tensor: make it an nn::Parameter, which is trained, or an nn::Buffer, which is "
          "not; or write a visit, which leaves it out");
      if constexpr (detail::is_visitable<Member>()) visitor(name, member);
    }
  };
  // Adds the name to the path, whose length was the result, and back.
  std::size_t descend(std::string_view name);
  void ascend(std::size_t length);
  template <class Field>
  static std::span<const std::byte> memory_of(const Field& field) {
    return {reinterpret_cast<const std::byte*>(&field), sizeof(Field)};
  }
  std::string path_;
};

namespace detail {

// A model of any type, so that code that walks through models is compiled once. Functions that take const models do not
// change them.
class AnyModel {
 public:
  template <class Model>
  explicit AnyModel(const Model& model)
      : model_(const_cast<Model*>(&model)), walk_([](void* m, Visitor& v) { v.go(*static_cast<Model*>(m)); }) {}
  void walk(Visitor& visitor) const { walk_(model_, visitor); }

 private:
  void* model_;
  void (*walk_)(void* model, Visitor& visitor);
};

// A Holder of modules that `Container` is, or holds.
template <class Container>
class HolderOf : public Holder {
 protected:
  HolderOf() noexcept
      : Holder([](Holder& holder, Visitor& visitor) {
          if constexpr (is_visitable<Container>()) visitor.go(static_cast<Container&>(holder));
        }) {}
};

}  // namespace detail

/// A reference to a model of any type, which the functions on models take as a model: nn::state_dict(AnyModel(model)).
/// The model must outlive it and stay where it is.
using detail::AnyModel;

}  // namespace tapegrad::nn
