// Gradient hooks: functions that backward calls with the gradient of a tensor.
#pragma once

#include <tapegrad/autograd/op.h>

#include <type_traits>
#include <utility>

namespace tapegrad {

namespace detail {
using GradHook = InplaceFunction<Tensor(const Tensor& dy)>;
Tensor on_grad(const Tensor& x, GradHook hook);
}  // namespace detail

/// Returns x with a hook; use the result instead of x. Backward calls f(dy) once, with the gradient dy of the result. f
/// may return a tensor of dy's shape and type, which then replaces dy. With create_graph, the operations of f are
/// recorded. A constant x is returned unchanged, and f is never called. Error if the replacement has another shape or
/// type.
template <class F>
Tensor on_grad(const Tensor& x, F f) {
  static_assert(std::is_invocable_v<F&, const Tensor&>,
                "on_grad takes a function of the gradient: f(const Tensor& dy)");
  return detail::on_grad(x, [f = std::move(f)](const Tensor& dy) mutable -> Tensor {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, const Tensor&>>) {
      f(dy);
      return {};
    } else {
      return f(dy);
    }
  });
}

}  // namespace tapegrad
