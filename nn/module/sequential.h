// Modules that are applied one after the other.
//
//   nn::Sequential net{nn::Linear(2, 8), [](const Tensor& x) { return relu(x); }, nn::Linear(8, 1)};
//   Tensor y = net(x);                      // parameters "0.weight", "0.bias", "2.weight", "2.bias"
//   net.get<2>().bias;
// Braces make the modules in order; with parentheses the compiler may draw the weights of the last one first.
// The type of a struct member must be written out: nn::Sequential<nn::Linear, ...>, or nn::AnyModule, which holds any
// module from tensor to tensor.
#pragma once

#include <tapegrad/nn/module.h>

#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tapegrad::nn {

namespace detail {

// A module, not a function.
template <class T>
concept Visited = NamesItsMembers<T> || PlainModule<T>;

// A type with parameters cannot be copied, so it must have a visit; functions can be copied.
template <class T>
inline constexpr bool kHidesNoParameters = Visited<T> || std::is_copy_constructible_v<T>;

}  // namespace detail

/// Passes a tensor through modules and functions of any types, in order. Children are named "0", "1", ...; functions
/// and lambdas have no parameters, but are counted. Can be moved, and cloned by nn::clone.
template <class... Modules>
class Sequential {
  static_assert((std::is_invocable_r_v<Tensor, const Modules&, const Tensor&> && ...),
                "each part of a Sequential takes one tensor and returns one: Tensor operator()(const Tensor& x) const");
  static_assert((detail::kHidesNoParameters<Modules> && ...),
                "a module needs a visit that names its members: void visit(auto&& field) { field(\"up\", up); }");

 public:
  explicit Sequential(Modules... modules) : modules_(std::move(modules)...) {}
  Sequential(Sequential&&) noexcept = default;
  Sequential& operator=(Sequential&&) noexcept = default;
  Sequential(Sequential& other)  // for clone()
      : modules_(std::apply([](Modules&... m) { return std::tuple<Modules...>(Modules(m)...); }, other.modules_)) {}

  Tensor operator()(const Tensor& x) const {
    Tensor y = pass<0>(x);
    detail::report_call(this, detail::type_name<Sequential>(), y);
    return y;
  }
  /// The child with this index.
  template <std::size_t I>
  auto& get() {
    return std::get<I>(modules_);
  }
  template <std::size_t I>
  const auto& get() const {
    return std::get<I>(modules_);
  }
  static constexpr std::size_t size() { return sizeof...(Modules); }
  void visit(auto&& field) { visit_from<0>(field); }

 private:
  template <std::size_t I>
  Tensor pass(const Tensor& x) const {
    if constexpr (I == sizeof...(Modules)) {
      return x;
    } else {
      const auto& module = std::get<I>(modules_);
      const Tensor y = module(x);
      detail::report_call(&module, detail::type_name<std::tuple_element_t<I, std::tuple<Modules...>>>(), y);
      return pass<I + 1>(y);
    }
  }
  template <std::size_t I>
  void visit_from(auto&& field) {
    if constexpr (I < sizeof...(Modules)) {
      auto& module = std::get<I>(modules_);
      if constexpr (detail::Visited<std::remove_reference_t<decltype(module)>>) field(std::to_string(I), module);
      visit_from<I + 1>(field);
    }
  }
  std::tuple<Modules...> modules_;
};

/// A module of any type from one tensor to one tensor, for lists of different types and for members:
///
///   nn::List<nn::AnyModule> layers;
///   layers.emplace_back(nn::Linear(2, 8));
///   layers.emplace_back(nn::Sequential{nn::Linear(8, 8), nn::Flatten()});
///
/// Parameter names, modes and clones are those of the module that it holds. A call costs one virtual call.
class AnyModule {
 public:
  AnyModule() = default;  ///< empty; a call is an Error
  template <class Module>
  requires(!std::is_same_v<Module, AnyModule> && !std::is_same_v<Module, detail::AnyMember>)
      AnyModule(Module module)  // NOLINT: any module converts
      : held_(std::make_unique<Held<Module>>(std::move(module))) {
    static_assert(std::is_invocable_r_v<Tensor, const Module&, const Tensor&>,
                  "AnyModule holds modules that take one tensor and return one: "
                  "Tensor operator()(const Tensor& x) const");
    static_assert(detail::kHidesNoParameters<Module>,
                  "a module needs a visit that names its members: void visit(auto&& field) { field(\"up\", up); }");
  }
  AnyModule(AnyModule&&) noexcept = default;
  AnyModule& operator=(AnyModule&&) noexcept = default;
  AnyModule(AnyModule& other) : held_(other.held_ ? other.held_->copy() : nullptr) {}  // for clone()

  bool defined() const { return held_ != nullptr; }
  Tensor operator()(const Tensor& x) const {
    if (!held_) fail("any_module", "expected a module, got an empty handle (assign a module first)");
    return held_->call(x);
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

 private:
  struct Base {
    virtual ~Base() = default;
    virtual Tensor call(const Tensor& x) const = 0;
    virtual void walk(Visitor& visitor) = 0;
    virtual std::unique_ptr<Base> copy() = 0;
  };
  template <class Module>
  struct Held final : Base {
    explicit Held(Module&& m) : module(std::move(m)) {}
    Tensor call(const Tensor& x) const override {
      Tensor y = module(x);
      detail::report_call(&module, detail::type_name<Module>(), y);
      return y;
    }
    void walk(Visitor& visitor) override {
      if constexpr (detail::Visited<Module>) visitor.go(module);
    }
    std::unique_ptr<Base> copy() override {
      if (false) detail::CloneCheck()({}, module);
      return std::make_unique<Held>(Module(module));
    }
    Module module;
  };
  std::unique_ptr<Base> held_;
};

}  // namespace tapegrad::nn
