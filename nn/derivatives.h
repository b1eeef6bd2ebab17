// Derivatives by the parameters of a model, and calls of a model with other parameters.
//
//   const auto loss = [&](const Net& net) { return cross_entropy(net(x), y); };
//   auto [value, grads] = nn::value_and_grad(model, loss);
//   auto [again, hv] = nn::hvp(model, v, loss);             // the Hessian times v, without the Hessian
//   Tensor other = nn::functional_call(model, values, loss);
//
// Vectors of tensors have the order of parameters(model): a tied parameter counts once, a frozen one is a parameter
// like the others. Afterwards the model has its own parameters again, also if the call raises an Error. Meanwhile no
// other thread may use the model. As with all derivatives, what is computed while a tape records is recorded
// (autograd/derivatives.h).
#pragma once

#include <tapegrad/autograd/derivatives.h>
#include <tapegrad/nn/module.h>

#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapegrad::nn {

namespace detail {

std::vector<Tensor> parameter_values(const AnyModel& model);
Tensor parameters_to_vector(const AnyModel& model);
void vector_to_parameters(const Tensor& v, const AnyModel& model);

// While one is alive, the model computes with these values.
class Substitution {
 public:
  Substitution(const AnyModel& model, std::span<const Tensor> values);
  ~Substitution();
  Substitution(const Substitution&) = delete;
  Substitution& operator=(const Substitution&) = delete;

 private:
  std::vector<NamedParameter> parameters_;
  std::vector<Tensor> before_;
};

template <class Model, class Call>
concept CallOf = !std::is_const_v<Model> && std::is_invocable_r_v<Tensor, Call&, Model&>;

// The call as a function of the parameters.
template <class Model, class Call>
auto of_parameters(Model& model, Call& call) {
  return [&model, &call](std::span<const Tensor> values) -> Tensor {
    const Substitution substitution(AnyModel(model), values);
    return std::invoke(call, model);
  };
}

}  // namespace detail

/// call(model), computed with `values` instead of the model's parameters: one tensor per parameter, in its shape, in
/// float32 or float64. Values that a tape has recorded get gradients. Returns whatever the call returns.
template <class Model, class Call>
requires(!std::is_const_v<Model> && std::is_invocable_v<Call&, Model&>) decltype(auto)
    functional_call(Model& model, std::span<const Tensor> values, Call&& call) {
  const detail::Substitution substitution(detail::AnyModel(model), values);
  return std::invoke(call, model);
}

/// The gradients of call(model), which must return one element. Zeros for a parameter that it does not use.
template <class Model, class Call>
requires detail::CallOf<Model, Call> std::vector<Tensor> grad(Model& model, Call&& call) {
  return tapegrad::grad(detail::of_parameters(model, call))(detail::parameter_values(detail::AnyModel(model)));
}

/// The same, with the value of the call.
template <class Model, class Call>
requires detail::CallOf<Model, Call> ValueAndGrad<std::vector<Tensor>> value_and_grad(Model& model, Call&& call) {
  return tapegrad::value_and_grad(detail::of_parameters(model, call))(
      detail::parameter_values(detail::AnyModel(model)));
}

/// v^T J: v has the shape of call(model), and J is its Jacobian.
template <class Model, class Call>
requires detail::CallOf<Model, Call> ProductOf<std::vector<Tensor>> vjp(Model& model, const Tensor& v, Call&& call) {
  return tapegrad::vjp(detail::of_parameters(model, call), detail::parameter_values(detail::AnyModel(model)), v);
}

/// J v: v has one tensor per parameter.
template <class Model, class Call>
requires detail::CallOf<Model, Call> ProductOf<Tensor> jvp(Model& model, const std::vector<Tensor>& v, Call&& call) {
  return tapegrad::jvp(detail::of_parameters(model, call), detail::parameter_values(detail::AnyModel(model)), v);
}

/// H v, H being the Hessian of call(model), which must return one element; v has one tensor per parameter.
template <class Model, class Call>
requires detail::CallOf<Model, Call> ProductOf<std::vector<Tensor>> hvp(Model& model, const std::vector<Tensor>& v,
                                                                        Call&& call) {
  return tapegrad::hvp(detail::of_parameters(model, call), detail::parameter_values(detail::AnyModel(model)), v);
}

/// One tensor per parameter, in the shape of call(model) followed by that of the parameter.
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

/// All parameters in one row, each in row-major order. float32 [0] for a model without parameters.
template <class Model>
Tensor parameters_to_vector(const Model& model) {
  return detail::parameters_to_vector(detail::AnyModel(model));
}

/// The inverse: sets every parameter, converted to its type, as Parameter::set does. Error for another number of
/// elements; then nothing is changed.
template <class Model>
requires(!std::is_const_v<Model>) void vector_to_parameters(const Tensor& v, Model& model) {
  detail::vector_to_parameters(v, detail::AnyModel(model));
}

}  // namespace tapegrad::nn
