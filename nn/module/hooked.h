// Forward hooks: functions that are called with the inputs and the output of a module.
#pragma once

#include <tapegrad/autograd/on_grad.h>
#include <tapegrad/nn/module.h>

#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapegrad::nn {

/// A module with hooks. Hooked<Linear> up(2, 8) has the members and parameter names of a Linear, so in a struct
/// `nn::Linear up;` can become `nn::Hooked<nn::Linear> up;` without other changes.
///
///   const int64_t hook = model.up.on_forward([](const Tensor& x, const Tensor& y) { std::cout << str(y.shape()); });
///   model.up.remove_hook(hook);
///
/// A hook takes the tensors that the module was called with, then the output. It may return a tensor, which replaces
/// the output; with `return on_grad(y, f);`, f receives the gradient of the output. Hooks run in the order in which
/// they were added, and clones keep them. Calls through a `const Linear&` do not run them.
template <class Module>
class Hooked : public Module {
 public:
  using Wrapped = Module;  ///< the type without hooks
  using Module::Module;
  Hooked(Module module) : Module(std::move(module)) {}  // NOLINT: a module becomes a hooked one

  template <class... Arguments>
  requires std::is_invocable_r_v<Tensor, const Module&, Arguments...> Tensor
  operator()(Arguments&&... arguments) const {
    std::vector<Tensor> inputs;
    if (!hooks_.empty()) (add_input(inputs, arguments), ...);
    Tensor y = static_cast<const Module&>(*this)(std::forward<Arguments>(arguments)...);
    for (const Hook& hook : hooks_) {
      if (Tensor other = hook.call(inputs, y); other.defined()) y = std::move(other);
    }
    detail::report_call(static_cast<const Hooked*>(this), detail::type_name<Hooked>(), y);
    return y;
  }

  /// Calls hook(inputs..., output) after each call of the module; returns a number for remove_hook.
  template <class F>
  int64_t on_forward(F hook) {
    constexpr int inputs = inputs_of<F>();
    static_assert(inputs >= 0,
                  "a hook takes one to four tensors, then the output: f(const Tensor& x, const Tensor& y)");
    hooks_.push_back({++last_, [hook = std::move(hook)](std::span<const Tensor> x, const Tensor& y) mutable -> Tensor {
                        require_inputs(inputs, x.size());
                        const auto call = [&]() {
                          if constexpr (inputs == 1) return hook(x[0], y);
                          if constexpr (inputs == 2) return hook(x[0], x[1], y);
                          if constexpr (inputs == 3) return hook(x[0], x[1], x[2], y);
                          if constexpr (inputs == 4) return hook(x[0], x[1], x[2], x[3], y);
                        };
                        if constexpr (std::is_void_v<decltype(call())>) {
                          call();
                          return {};
                        } else {
                          return call();
                        }
                      }});
    return last_;
  }
  /// Error for a number that on_forward did not return, or whose hook was already removed.
  void remove_hook(int64_t number) {
    if (std::erase_if(hooks_, [number](const Hook& hook) { return hook.number == number; }) == 0) {
      fail("hooked", "expected the number of a hook, got " + std::to_string(number));
    }
  }
  void remove_hooks() { hooks_.clear(); }

 private:
  struct Hook {
    int64_t number;
    std::function<Tensor(std::span<const Tensor> inputs, const Tensor& output)> call;
  };
  template <class F>
  static constexpr int inputs_of() {
    using T = const Tensor&;
    if (std::is_invocable_v<F&, T, T>) return 1;
    if (std::is_invocable_v<F&, T, T, T>) return 2;
    if (std::is_invocable_v<F&, T, T, T, T>) return 3;
    return std::is_invocable_v<F&, T, T, T, T, T> ? 4 : -1;
  }
  static void require_inputs(int taken, std::size_t given) {
    if (static_cast<std::size_t>(taken) == given) return;
    fail("hooked", "expected a call with as many tensors as the hook takes in addition to the output, " +
                       std::to_string(taken) + ", got " + std::to_string(given));
  }
  template <class Argument>
  static void add_input(std::vector<Tensor>& inputs, const Argument& argument) {
    if constexpr (std::is_convertible_v<const Argument&, const Tensor&>) inputs.push_back(argument);
  }

  std::vector<Hook> hooks_;
  int64_t last_ = 0;
};

}  // namespace tapegrad::nn
