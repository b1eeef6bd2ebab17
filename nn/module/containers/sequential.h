// Modules that are applied one after the other.
//
//   nn::Sequential net{nn::Linear(2, 8), [](const Tensor& x) { return relu(x); }, nn::Linear(8, 1)};
//   Tensor y = net(x);                      // parameters "0.weight", "0.bias", "2.weight", "2.bias"
//   net.get<2>().bias;
// Braces make the modules in order; with parentheses the compiler may sample the weights of the last one first.
// The type of a struct member must be written out: nn::Sequential<nn::Linear, ...>, or nn::AnyModule, which holds any
// module from tensor to tensor.
#pragma once

#include <tapegrad/nn/any_of.h>
#include <tapegrad/nn/module.h>

#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tapegrad::nn {

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
      : modules_(
            std::apply([](Modules&... m) { return std::tuple<Modules...>(detail::clone_of(m)...); }, other.modules_)) {}

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
  void eval() = delete;       // write nn::eval(model)
  void train(bool) = delete;  // write nn::train(model)

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

}  // namespace tapegrad::nn
