// A module of any type that has a certain interface, held by value.
#pragma once

#include <tapegrad/nn/module_walk.h>

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace tapegrad::nn {

/// A module of any type derived from Interface, or none. It visits the members of the module that it owns, and its
/// copies, which clone() makes, own copies.
template <class Interface>
class AnyOf {
 public:
  AnyOf() = default;  ///< none
  template <class Module>
  requires std::derived_from<Module, Interface> AnyOf(Module module)  // NOLINT: any such module converts
      : held_(std::make_unique<Module>(std::move(module))),
        copy_([](Interface& m) -> std::unique_ptr<Interface> {
          return std::make_unique<Module>(static_cast<Module&>(m));
        }),
        visit_([](Interface& m, Visitor& visitor) { static_cast<Module&>(m).visit(visitor); }) {}
  AnyOf(AnyOf&&) noexcept = default;
  AnyOf& operator=(AnyOf&&) noexcept = default;
  AnyOf(AnyOf& other)  // for clone()
      : held_(other.held_ ? other.copy_(*other.held_) : nullptr), copy_(other.copy_), visit_(other.visit_) {}

  bool defined() const { return held_ != nullptr; }
  Interface& operator*() { return *held_; }
  const Interface& operator*() const { return *held_; }
  Interface* operator->() { return held_.get(); }
  const Interface* operator->() const { return held_.get(); }
  void visit(auto&& field) {
    if constexpr (std::is_base_of_v<Visitor, std::remove_cvref_t<decltype(field)>>) {
      if (held_) visit_(*held_, field);
    }
  }

 private:
  std::unique_ptr<Interface> held_;
  std::unique_ptr<Interface> (*copy_)(Interface&) = nullptr;
  void (*visit_)(Interface&, Visitor&) = nullptr;
};

}  // namespace tapegrad::nn
