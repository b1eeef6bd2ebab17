// One of several modules.
#pragma once

#include <tapegrad/nn/module.h>

#include <type_traits>
#include <variant>

namespace tapegrad::nn {

/// A module of one of several types, chosen at run time: a std::variant that clone() can copy, and that can be called
/// if all alternatives can be called in the same way. Its state has the names of the module that it holds.
///
///   nn::Variant<nn::LayerNorm, nn::RMSNorm> norm = nn::RMSNorm(64);
///   Tensor y = norm(x);
///   std::get<nn::RMSNorm>(norm).weight;
template <class... Modules>
class Variant : public std::variant<Modules...> {
 public:
  using Base = std::variant<Modules...>;  ///< std::visit takes it
  using Base::Base;
  Variant() = default;
  Variant(Variant&&) = default;
  Variant& operator=(Variant&&) = default;
  Variant(Variant& other) : Base(detail::clone_of_variant<0>(static_cast<Base&>(other))) {}  // for clone()

  /// Calls the module. The alternatives return the same type.
  template <class... Arguments>
  requires(std::is_invocable_v<const Modules&, const Arguments&...>&&...) auto operator()(
      const Arguments&... arguments) const {
    return std::visit(
        [&](const auto& module) {
          auto y = module(arguments...);
          if constexpr (std::is_same_v<decltype(y), Tensor>) {
            detail::report_call(&module, detail::type_name<std::remove_cvref_t<decltype(module)>>(), y);
          }
          return y;
        },
        static_cast<const Base&>(*this));
  }
};

}  // namespace tapegrad::nn
