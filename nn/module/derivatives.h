// Derivatives with respect to the parameters of a model, and calls of a model with other parameter values.
//
//   const auto loss = [&](const Net& net) { return cross_entropy(net(x), y); };
//   auto [value, grads] = nn::value_and_grad(model, loss);
//   auto [again, hv] = nn::hvp(model, v, loss);             // the Hessian times v, without forming the Hessian
//   Tensor other = nn::functional_call(model, values, loss);
//
// Vectors of tensors are in the order of parameters(model): a tied parameter counts once, and frozen parameters are
// included. Afterwards the model has its own values again, even if the call raised an Error. No other thread may use
// the model during the call. As with all derivatives, the computation is recorded while a tape records
// (autograd/derivatives/derivatives.h).
#pragma once

#include <tapegrad/autograd/derivatives.h>
#include <tapegrad/nn/module.h>

#include <functional>
#include <span>
#include <type_traits>
#include <vector>

namespace tapegrad::nn {

namespace detail {

std::vector<Tensor> parameter_values(const AnyModel& model);
Tensor parameters_to_vector(const AnyModel& model);
void vector_to_parameters(const Tensor& v, const AnyModel& model);

// While one is in scope, the model computes with these values.
class Substitution : NonCopyable {
 public:
  Substitution(const AnyModel& model, std::span<const Tensor> values);
  ~Substitution();

 private:
  std::vector<NamedParameter> parameters_;
  std::vector<Tensor> before_;
};

template <class Model, class Call>
concept CallOf = !std::is_const_v<Model> && std::is_invocable_r_v<Tensor, Call&, Model&>;

// `call` as a function of the parameters.
template <class Model, class Call>
auto of_parameters(Model& model, Call& call) {
  return [&model, &call](std::span<const Tensor> values) -> Tensor {
    const Substitution substitution(AnyModel(model), values);
    return std::invoke(call, model);
  };
}

}  // namespace detail

/// call(model), computed with `values` instead of the model's parameters: one float32 or float64 tensor per parameter,
/// in its shape. Values that a tape has recorded get gradients. Returns the result of the call. Error for another
/// number of values, another shape or type.
template <class Model, class Call>
requires(!std::is_const_v<Model> && std::is_invocable_v<Call&, Model&>) decltype(auto)
    functional_call(Model& model, std::span<const Tensor> values, Call&& call) {
  const detail::Substitution substitution(detail::AnyModel(model), values);
  return std::invoke(call, model);
}

/// The gradients of call(model), which must return one element; zeros for an unused parameter.
template <class Model, class Call>
requires detail::CallOf<Model, Call> std::vector<Tensor> grad(Model& model, Call&& call) {
  return tapegrad::grad(detail::of_parameters(model, call))(detail::parameter_values(detail::AnyModel(model)));
}

/// The same, together with the value of the call.
template <class Model, class Call>
requires detail::CallOf<Model, Call> ValueAndGrad<std::vector<Tensor>> value_and_grad(Model& model, Call&& call) {
  return tapegrad::value_and_grad(detail::of_parameters(model, call))(
      detail::parameter_values(detail::AnyModel(model)));
}

/// v^T J, where J is the Jacobian of call(model); v has the shape of call(model).
template <class Model, class Call>
requires detail::CallOf<Model, Call> ProductOf<std::vector<Tensor>> vjp(Model& model, const Tensor& v, Call&& call) {
  return tapegrad::vjp(detail::of_parameters(model, call), detail::parameter_values(detail::AnyModel(model)), v);
}

/// J v: v has one tensor per parameter.
template <class Model, class Call>
requires detail::CallOf<Model, Call> ProductOf<Tensor> jvp(Model& model, const std::vector<Tensor>& v, Call&& call) {
  return tapegrad::jvp(detail::of_parameters(model, call), detail::parameter_values(detail::AnyModel(model)), v);
}

/// H v, where H is the Hessian of call(model), which must return one element; v has one tensor per parameter.
template <class Model, class Call>
requires detail::CallOf<Model, Call> ProductOf<std::vector<Tensor>> hvp(Model& model, const std::vector<Tensor>& v,
                                                                        Call&& call) {
  return tapegrad::hvp(detail::of_parameters(model, call), detail::parameter_values(detail::AnyModel(model)), v);
}

/// The Jacobian: one tensor per parameter, with the shape of call(model) followed by that of the parameter.
template <class Model, class Call>
requires detail::CallOf<Model, Call> std::vector<Tensor> jacobian(Model& model, Call&& call) {
  return tapegrad::jacobian(detail::of_parameters(model, call), detail::parameter_values(detail::AnyModel(model)));
}

/// The second derivatives of call(model), which must return one element: [i][j] has the shape of parameter i followed
/// by that of parameter j.
template <class Model, class Call>
requires detail::CallOf<Model, Call> std::vector<std::vector<Tensor>> hessian(Model& model, Call&& call) {
  return tapegrad::hessian(detail::of_parameters(model, call), detail::parameter_values(detail::AnyModel(model)));
}

/// All parameters concatenated into one vector, each in row-major order. float32 [0] for a model without parameters.
Tensor parameters_to_vector(const auto& model) { return detail::parameters_to_vector(detail::AnyModel(model)); }

/// The inverse: sets every parameter to its part of v, converted to its type. Error for another number of elements; the
/// model is then unchanged.
void vector_to_parameters(const Tensor& v, detail::NotConst auto& model) {
  detail::vector_to_parameters(v, detail::AnyModel(model));
}

}  // namespace tapegrad::nn
