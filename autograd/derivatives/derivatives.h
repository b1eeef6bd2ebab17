// Derivatives as functions, of any order: gradients, Jacobians, Hessians, and products with them.
//
//   auto f = [](const Tensor& x) { return sum(x * x * x); };
//   Tensor g = grad(f)(x);                              // 3 x^2
//   Tensor h = grad([&](const Tensor& x) { return sum(grad(f)(x)); })(x);   // 6 x
//   auto [y, hv] = hvp(f, x, v);                        // the Hessian times v, without forming the Hessian
//
// A function takes one to four tensors, or a std::span<const Tensor>, and returns a tensor. Derivatives come in the
// same form: a Tensor for one tensor, a std::array for several, a std::vector for a span. float32 or float64.
//
// While a tape records, all of these are recorded, so that their results can be differentiated again, by Tape::backward
// (a loss made of derivatives) or by each other (grad of grad). Without a tape nothing is kept. nn/module/derivatives.h
// declares derivatives with respect to the parameters of a model.
#pragma once

#include <tapegrad/autograd/gradcheck.h>
#include <tapegrad/autograd/tensor.h>

#include <array>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapegrad {

/// What vjp, jvp and hvp return: f(x), and the product.
template <class Form>
struct ProductOf {
  Tensor value;  ///< f(x)
  Form product;  ///< in the shape of f(x) for jvp, of x for vjp and hvp
};
/// What value_and_grad returns.
template <class Form>
struct ValueAndGrad {
  Tensor value;  ///< f(x), one element
  Form grad;     ///< df/dx, in the shape of x
};

namespace detail {

using TensorFunction = GradcheckFunction;

struct ValueAndProducts {
  Tensor value;
  std::vector<Tensor> products;
};
ValueAndProducts value_and_grad(TensorFunction f, std::span<const Tensor> x);
ValueAndProducts vjp(TensorFunction f, std::span<const Tensor> x, const Tensor& v);
ValueAndProducts jvp(TensorFunction f, std::span<const Tensor> x, std::span<const Tensor> v);
ValueAndProducts hvp(TensorFunction f, std::span<const Tensor> x, std::span<const Tensor> v);
std::vector<Tensor> jacobian(TensorFunction f, std::span<const Tensor> x);
std::vector<std::vector<Tensor>> hessian(TensorFunction f, std::span<const Tensor> x);
std::vector<Tensor> batch_jacobian(TensorFunction f, std::span<const Tensor> x);
void require_separate_rows(TensorFunction f, std::span<const Tensor> x);

// f with its type erased; valid as long as f is.
template <class F>
TensorFunction hidden(F& f) {
  const auto call = [](void* p, std::span<const Tensor> x) { return call_with(*static_cast<F*>(p), x); };
  return {const_cast<std::remove_const_t<F>*>(&f), call};
}

// n gradients as one Tensor (n = 1) or a std::array.
template <std::size_t N>
auto in_form(std::vector<Tensor> grads) {
  if constexpr (N == 1) {
    return std::move(grads[0]);
  } else {
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return std::array<Tensor, N>{std::move(grads[I])...}; }
    (std::make_index_sequence<N>());
  }
}

template <class... T>
concept Tensors = sizeof...(T) > 0 && sizeof...(T) <= 4 && (std::is_convertible_v<const T&, const Tensor&> && ...);

// The results of `derive` in the form of f's arguments.
template <class F, class Derive>
class Derivative {
 public:
  Derivative(F f, Derive derive) : f_(std::move(f)), derive_(std::move(derive)) {}

  template <class... T>
  requires Tensors<T...> && std::is_invocable_v<const F&, const T&...>
  auto operator()(const T&... x) const {
    const std::array<Tensor, sizeof...(T)> inputs{static_cast<const Tensor&>(x)...};
    return formed(derive_(hidden(f_), inputs), [](auto grads) { return in_form<sizeof...(T)>(std::move(grads)); });
  }
  auto operator()(std::span<const Tensor> x) const requires std::is_invocable_v<const F&, std::span<const Tensor>> {
    return formed(derive_(hidden(f_), x), [](auto grads) { return grads; });
  }

 private:
  static auto formed(std::vector<Tensor> grads, auto form) { return form(std::move(grads)); }
  static auto formed(ValueAndProducts found, auto form) {
    auto grads = form(std::move(found.products));
    return ValueAndGrad<decltype(grads)>{std::move(found.value), std::move(grads)};
  }
  F f_;
  Derive derive_;
};

}  // namespace detail

/// A function that returns df/dx for each argument of f; f must return one element. Zeros for an argument that f does
/// not use. Error for arguments that are not float32 or float64.
auto grad(auto f) {
  return detail::Derivative(std::move(f), [](detail::TensorFunction hidden, std::span<const Tensor> x) {
    return detail::value_and_grad(hidden, x).products;
  });
}

/// The same together with the value of f: auto [loss, dx] = value_and_grad(f)(x).
auto value_and_grad(auto f) { return detail::Derivative(std::move(f), detail::value_and_grad); }

/// v^T J, where J is the Jacobian df/dx; v has the shape of f(x). This is the gradient of <v, f(x)>.
ProductOf<Tensor> vjp(auto&& f, const Tensor& x, const Tensor& v) {
  detail::ValueAndProducts found = detail::vjp(detail::hidden(f), {&x, 1}, v);
  return {std::move(found.value), std::move(found.products[0])};
}
ProductOf<std::vector<Tensor>> vjp(auto&& f, const std::vector<Tensor>& x, const Tensor& v) {
  detail::ValueAndProducts found = detail::vjp(detail::hidden(f), x, v);
  return {std::move(found.value), std::move(found.products)};
}

/// J v, the derivative of f(x) in the direction v, which has the shape of x. For several tensors, the sum over all of
/// them. Forward mode: f runs once, and each of its operations computes the tangent of its result, too. Without a tape
/// nothing is kept: a tangent lives as long as its tensor. Error for an operation whose backward is a fused kernel and
/// that has no tangent of its own.
ProductOf<Tensor> jvp(auto&& f, const Tensor& x, const Tensor& v) {
  detail::ValueAndProducts found = detail::jvp(detail::hidden(f), {&x, 1}, {&v, 1});
  return {std::move(found.value), std::move(found.products[0])};
}
ProductOf<Tensor> jvp(auto&& f, const std::vector<Tensor>& x, const std::vector<Tensor>& v) {
  detail::ValueAndProducts found = detail::jvp(detail::hidden(f), x, v);
  return {std::move(found.value), std::move(found.products[0])};
}

/// H v, where H is the Hessian of f; f must return one element, and v has the shape of x.
ProductOf<Tensor> hvp(auto&& f, const Tensor& x, const Tensor& v) {
  detail::ValueAndProducts found = detail::hvp(detail::hidden(f), {&x, 1}, {&v, 1});
  return {std::move(found.value), std::move(found.products[0])};
}
ProductOf<std::vector<Tensor>> hvp(auto&& f, const std::vector<Tensor>& x, const std::vector<Tensor>& v) {
  detail::ValueAndProducts found = detail::hvp(detail::hidden(f), x, v);
  return {std::move(found.value), std::move(found.products)};
}

/// df/dx, with the shape of f(x) followed by that of x: element [i, j] is df_i/dx_j. One backward pass per element of
/// f(x).
Tensor jacobian(auto&& f, const Tensor& x) { return detail::jacobian(detail::hidden(f), {&x, 1})[0]; }
std::vector<Tensor> jacobian(auto&& f, const std::vector<Tensor>& x) { return detail::jacobian(detail::hidden(f), x); }

/// The Jacobian of every row of a batch, all at once: f maps x [B, in...] to [B, out...], each row by itself, and the
/// result is [B, out..., in...], as that of torch.func.vmap(jacrev(f)). For several tensors with the same B, one result
/// per tensor; tensors that f captures must not have rows of their own, so pass them as arguments.
///
/// f is called for the first row, which gives the shape of the results, and for a batch in which every row is repeated:
/// once per element of a row's result, for one backward pass; or, if a row of x has fewer elements, once per element of
/// it, for the derivatives in all directions (as in jvp). So memory is needed for as many copies of the batch. Error if
/// f does not return a row per row. If it mixes rows, as batch_norm_training does, the result is wrong:
/// require_separate_rows finds that.
Tensor batch_jacobian(auto&& f, const Tensor& x) { return detail::batch_jacobian(detail::hidden(f), {&x, 1})[0]; }
std::vector<Tensor> batch_jacobian(auto&& f, const std::vector<Tensor>& x) {
  return detail::batch_jacobian(detail::hidden(f), x);
}

/// Error if a row of f(x) depends on other rows of x, at this x. Costs a forward and two backward passes; f must give
/// the same result for the same x.
void require_separate_rows(auto&& f, const Tensor& x) { detail::require_separate_rows(detail::hidden(f), {&x, 1}); }
void require_separate_rows(auto&& f, const std::vector<Tensor>& x) {
  detail::require_separate_rows(detail::hidden(f), x);
}

/// The second derivatives of f, which must return one element, with the shape of x twice. For several tensors, all
/// pairs: [i][j] has the shape of x[i] followed by that of x[j]. One backward pass per element of x.
Tensor hessian(auto&& f, const Tensor& x) { return detail::hessian(detail::hidden(f), {&x, 1})[0][0]; }
std::vector<std::vector<Tensor>> hessian(auto&& f, const std::vector<Tensor>& x) {
  return detail::hessian(detail::hidden(f), x);
}

}  // namespace tapegrad
