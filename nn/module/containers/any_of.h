// A module of any type that has a certain interface, or takes and returns certain types, held by value.
#pragma once

#include <tapegrad/nn/module.h>

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace tapegrad::nn {

/// A module of any type derived from Interface, or none. It visits the members of the module that it owns, and its
/// copies, which clone() makes, own copies.
template <class Interface>
class AnyOf : public detail::HolderOf<AnyOf<Interface>> {
 public:
  AnyOf() = default;  ///< none
  template <class Module>
  requires std::derived_from<Module, Interface> AnyOf(Module module)  // NOLINT: any such module converts
      : held_(std::make_unique<Module>(std::move(module))),
        copy_([](Interface& m) -> std::unique_ptr<Interface> {
          return std::make_unique<Module>(detail::clone_of(static_cast<Module&>(m)));
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

/// A module or function of any type that can be called in this way, or none:
///
///   nn::AnyOf<Tensor(const Tensor& x, const Tensor& mask)> attention = nn::MultiHeadSelfAttention(config);
///   nn::AnyOf<Encoded(const Tensor& ids)> encoder = LstmEncoder(8);     // which returns a struct
///
/// Parameter names, modes and clones belong to the module that it holds. A call costs one virtual call.
template <class Result, class... Arguments>
class AnyOf<Result(Arguments...)> : public detail::HolderOf<AnyOf<Result(Arguments...)>> {
 public:
  AnyOf() = default;  ///< none; a call throws Error
  template <class Module>
  requires(!std::is_same_v<Module, AnyOf> && !std::is_same_v<Module, detail::AnyMember>)
      AnyOf(Module module)  // NOLINT: any module converts
      : held_(std::make_unique<Held<Module>>(std::move(module))) {
    static_assert(std::is_invocable_r_v<Result, const Module&, Arguments...>,
                  "AnyModule and AnyOf hold modules with the parameters and the result of their signature (AnyModule: "
                  "one tensor each): Tensor operator()(const Tensor& x) const");
    static_assert(detail::kHidesNoParameters<Module>,
                  "a module needs a visit that names its members: void visit(auto&& field) { field(\"up\", up); }");
  }
  AnyOf(AnyOf&&) noexcept = default;
  AnyOf& operator=(AnyOf&&) noexcept = default;
  AnyOf(AnyOf& other) : held_(other.held_ ? other.held_->copy() : nullptr) {}  // for clone()

  bool defined() const { return held_ != nullptr; }
  Result operator()(Arguments... arguments) const {
    if (!held_) fail("any_module", "expected a module, got an empty handle (assign a module first)");
    return held_->call(std::forward<Arguments>(arguments)...);
  }
  /// The module that it holds; nullptr if that has another type.
  template <class Module>
  Module* as() {
    auto* const held = dynamic_cast<Held<Module>*>(held_.get());
    return held ? &held->module : nullptr;
  }
  void walk(Visitor& visitor) {
    if (held_) held_->walk(visitor);
  }
  void eval() = delete;       // write nn::eval(model)
  void train(bool) = delete;  // write nn::train(model)

 private:
  struct Base {
    virtual ~Base() = default;
    virtual Result call(Arguments... arguments) const = 0;
    virtual void walk(Visitor& visitor) = 0;
    virtual std::unique_ptr<Base> copy() = 0;
  };
  template <class Module>
  struct Held final : Base {
    explicit Held(Module&& m) : module(std::move(m)) {}
    Result call(Arguments... arguments) const override {
      if constexpr (std::is_same_v<Result, Tensor>) {
        Tensor y = module(std::forward<Arguments>(arguments)...);
        detail::report_call(&module, detail::type_name<Module>(), y);
        return y;
      } else {
        return module(std::forward<Arguments>(arguments)...);
      }
    }
    void walk(Visitor& visitor) override {
      if constexpr (detail::Visited<Module>) visitor.go(module);
    }
    std::unique_ptr<Base> copy() override { return std::make_unique<Held>(detail::clone_of(module)); }
    Module module;
  };
  std::unique_ptr<Base> held_;
};

/// A module of any type from one tensor to one tensor, for lists of different types and for members:
///
///   nn::List<nn::AnyModule> layers;
///   layers.emplace_back(nn::Linear(2, 8));
///   layers.emplace_back(nn::Sequential{nn::Linear(8, 8), nn::Flatten()});
using AnyModule = AnyOf<Tensor(const Tensor& x)>;

}  // namespace tapegrad::nn
