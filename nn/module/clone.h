// Deep copies of models.
//
// A struct without constructors, with a visit or without, is cloned member by member, so its members may be containers
// and smart pointers of the standard library. Others are cloned by their copy constructor, Model(Model&), which only
// clone() may call. It takes no const Model&, so that copies of const models do not compile. Containers of the standard
// library copy from const elements: nn::List, nn::Optional, nn::Dict and nn::Variant replace them there.
#pragma once

#include <tapegrad/autograd/error.h>
#include <tapegrad/nn/module_walk.h>
#include <tapegrad/nn/parameter.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapegrad::nn::detail {

template <class T>
concept UniquePointer = requires(T& p) {
  p.get();
  p.release();
};
template <class T>
concept SharedPointer = requires(T& p) {
  p.get();
  p.use_count();
};

// A struct that is cloned member by member where its copy would not be deep.
template <class T>
concept ClonedByMembers = PlainModule<T> ||(NamesItsMembers<T>&& has_known_members<T>());

template <class Field>
constexpr bool clones_by_copy();

template <template <class...> class Variant, class... Modules>
constexpr bool all_clone_by_copy(const Variant<Modules...>*) {
  return (clones_by_copy<Modules>() && ...);
}

// Whether T(source), of a source that is not const, is a deep copy. It is not for pointers to modules, and does not
// compile for what copies modules from a const source, even if std::is_copy_constructible is true, as for std::vector.
template <class Field>
constexpr bool clones_by_copy() {
  using T = std::remove_const_t<Field>;
  if constexpr (!std::is_class_v<T> || std::is_base_of_v<Member, T>) {
    return true;
  } else if constexpr (ClonedByMembers<T>) {
    return decltype(with_members<count_members<T>()>(std::declval<T&>(), [](auto&... members) {
      return std::bool_constant<(clones_by_copy<std::remove_reference_t<decltype(members)>>() && ...)>();
    }))::value;
  } else if constexpr (NamesItsMembers<T>) {
    return true;
  } else if constexpr (SharedPointer<T>) {
    return !is_visitable<T>();  // data that is no module, such as a vocabulary, is shared
  } else if constexpr (!std::is_constructible_v<T, T&> || !std::is_copy_constructible_v<T>) {
    return std::is_constructible_v<T, T&>;  // by a constructor for clone(), as that of nn::Optional
  } else if constexpr (ModuleVariant<T>) {
    return all_clone_by_copy(static_cast<T*>(nullptr));
  } else if constexpr (ModuleMap<T>) {
    return std::is_copy_constructible_v<typename T::mapped_type> && clones_by_copy<typename T::mapped_type>();
  } else if constexpr ((MaybeModule<T> || ModuleList<T>)&&requires { typename T::value_type; }) {
    if constexpr (std::is_same_v<typename T::value_type, T>) return true;
    return std::is_copy_constructible_v<typename T::value_type> && clones_by_copy<typename T::value_type>();
  } else {
    return true;
  }
}

template <class Field>
inline constexpr bool kIsVector = false;
template <class Element, class Allocator>
inline constexpr bool kIsVector<std::vector<Element, Allocator>> = true;

// Visits a model at compile time only, to find members that its copy constructor cannot clone. Containers of nn clone
// their modules by clone_of, which checks them.
struct CloneCheck {
  void ignore(const auto&) const {}
  template <class Field>
  void operator()(std::string_view, Field& field) const {
    if constexpr (requires { field.visit(*this); }) {
      field.visit(*this);
    } else if constexpr (std::is_base_of_v<Member, Field>) {
    } else if constexpr (kIsVector<Field>) {
      static_assert(clones_by_copy<Field>(),
                    "clone cannot copy a std::vector of modules: use nn::List, or a struct without a constructor");
    } else if constexpr (SharedPointer<Field>) {
      static_assert(clones_by_copy<Field>(),
                    "clone would share a std::shared_ptr instead of copying its module: use nn::Optional, or a "
                    "struct without a constructor");
    } else if constexpr (UniquePointer<Field>) {
      static_assert(clones_by_copy<Field>(),
                    "clone cannot copy a std::unique_ptr: use nn::Optional, or a struct without a constructor");
    } else if constexpr (ModuleVariant<Field>) {
      static_assert(clones_by_copy<Field>(),
                    "clone cannot copy a std::variant of modules: use nn::Variant, or a struct without a constructor");
    } else if constexpr (ModuleMap<Field>) {
      static_assert(clones_by_copy<Field>(),
                    "clone cannot copy a std::map of modules: use nn::Dict, or a struct without a constructor");
    } else if constexpr (requires { field.has_value(); }) {
      static_assert(clones_by_copy<Field>(),
                    "clone cannot copy a std::optional of a module: use nn::Optional, or a struct without a "
                    "constructor");
    } else if constexpr (ModuleList<Field>) {
      static_assert(clones_by_copy<Field>(), "clone cannot copy a list of modules: use nn::List");
      (*this)({}, *field.begin());
    } else if constexpr (PlainModule<Field>) {
      static_assert(clones_by_copy<Field>(),
                    "clone cannot copy a plain struct with containers or pointers of the standard library that is a "
                    "member of a struct with a constructor: keep it in an nn::Optional, or leave out the constructor");
      with_members<count_members<Field>()>(field, [this](auto&... members) { ((*this)({}, members), ...); });
    }
  }
};

// Error for a reference, which would refer to a clone that ends at once.
inline void require_member(const void* object, std::size_t size, const void* member) {
  const auto *begin = static_cast<const std::byte*>(object), *at = static_cast<const std::byte*>(member);
  if (std::less<>()(at, begin) || !std::less<>()(at, begin + size)) {
    fail("clone", "expected members that a struct holds, got a reference (keep a pointer, or a std::shared_ptr)");
  }
}

template <class T>
inline constexpr char kTypeTag = 0;

template <class T>
std::remove_const_t<T> clone_of(T& source);

// A new object. A copy of a base class would not be a copy of the whole.
template <class Module>
Module* new_clone(Module& source) {
  static_assert(!std::is_polymorphic_v<Module> || std::is_final_v<Module>,
                "clone cannot copy what a pointer to a base class points to: use nn::AnyOf");
  return new Module(clone_of(source));
}

template <class Pointer>
Pointer clone_of_pointer(Pointer& source) {
  if (!source) return {};
  if constexpr (UniquePointer<Pointer>) {
    return Pointer(new_clone(*source));
  } else {
    using Module = typename Pointer::element_type;
    std::shared_ptr<void>& known = CloneScope::current()->copy_of(source.get(), &kTypeTag<Module>);
    if (!known) known = Pointer(new_clone(*source));
    return std::static_pointer_cast<Module>(known);
  }
}

// Of the alternatives from i on. (get_if is found in the variant's namespace, without its header.)
template <std::size_t i, template <class...> class Variant, class... Modules>
Variant<Modules...> clone_of_variant(Variant<Modules...>& source) {
  if constexpr (i == sizeof...(Modules)) {
    fail("clone", "expected a variant with a value, got one that has lost it by an exception");
  } else {
    if (source.index() != i) return clone_of_variant<i + 1>(source);
    return Variant<Modules...>(std::in_place_index<i>, clone_of(*get_if<i>(&source)));
  }
}

template <class List>
List clone_of_list(List& source) {
  if constexpr (requires(List & list) { list.push_back(clone_of(*source.begin())); }) {
    List made;
    for (auto& module : source) made.push_back(clone_of(module));
    return made;
  } else {
    static_assert(std::is_aggregate_v<List>, "clone cannot copy a list without push_back");
    return [&]<std::size_t... i>(std::index_sequence<i...>) { return List{clone_of(source[i])...}; }
    (std::make_index_sequence<std::tuple_size_v<List>>());
  }
}

// A deep copy, made while a CloneScope lives.
template <class T>
std::remove_const_t<T> clone_of(T& source) {
  using Clone = std::remove_const_t<T>;
  if constexpr (clones_by_copy<T>()) {
    if (false) CloneCheck()({}, source);
    return Clone(source);
  } else if constexpr (ClonedByMembers<T>) {
    return with_members<count_members<T>()>(source, [&source](auto&... members) {
      (require_member(&source, sizeof(T), &members), ...);
      return Clone{clone_of(members)...};
    });
  } else if constexpr (UniquePointer<T> || SharedPointer<T>) {
    return clone_of_pointer(source);
  } else if constexpr (ModuleVariant<T>) {
    return clone_of_variant<0>(source);
  } else if constexpr (ModuleMap<T>) {
    Clone made;
    for (auto& [key, module] : source) made.emplace(key, clone_of(module));
    return made;
  } else if constexpr (ModuleList<T>) {
    return clone_of_list(source);
  } else if constexpr (requires { source.has_value(); }) {
    Clone made;
    if (source) made.emplace(clone_of(*source));
    return made;
  } else {
    static_assert(clones_by_copy<T>(), "clone cannot copy a member: it has no copy constructor");
  }
}

// Error if the clone has a parameter or a buffer of the model itself, which a visit names through a pointer.
void require_separate(const AnyModel& clone, const AnyModel& model);

}  // namespace tapegrad::nn::detail

namespace tapegrad::nn {

/// A deep copy: equal values in new leaves and new memory, with the same names, modes, ties and frozen parameters;
/// samples no random numbers. In a struct without constructors, base classes and C arrays, of at most 32 members,
/// modules may be in containers, std::unique_ptr and std::shared_ptr of the standard library; one that two members
/// share is shared within the clone. In another struct, lists of modules must be nn::List, optional ones nn::Optional,
/// maps nn::Dict and variants nn::Variant. Error if a visit names a module through a pointer that is copied: the clone
/// must not share it.
template <class Model>
Model clone(const Model& model) {
  Model& source = const_cast<Model&>(model);
  const detail::CloneScope scope;
  Model copy = detail::clone_of(source);
  detail::require_separate(AnyModel(copy), AnyModel(source));
  return copy;
}

}  // namespace tapegrad::nn
