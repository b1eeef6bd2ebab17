// Gradient hooks: functions that see the gradient of a tensor while backward runs.
#pragma once

#include <tapegrad/autograd/op.h>

#include <type_traits>
#include <utility>

namespace tapegrad {

namespace detail {
using GradHook = InplaceFunction<Tensor(const Tensor& dy)>;
Tensor on_grad(const Tensor& x, GradHook hook);
}  // namespace detail

/// x, recorded with a hook: where the result is used instead of x, backward calls f(dy) with the gradient dy of the
/// result. f may return a tensor of dy's shape and type, which is passed on instead of dy. With create_graph, what f
/// computes is recorded. A constant x is returned as it is, and f is never called; f runs once per backward. Error for
/// a replacement of another shape or type.
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
