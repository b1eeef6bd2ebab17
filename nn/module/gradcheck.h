// Gradient checks of whole modules: of all parameters and inputs, in one call.
#pragma once

#include <tapegrad/autograd/gradcheck.h>
#include <tapegrad/nn/module.h>

#include <cstdint>

namespace tapegrad::nn {

struct ModuleGradcheckOptions {
  GradcheckOptions gradcheck = {};  ///< order and tolerances
  /// Adds uniform numbers in [-move, move) to every parameter: at the initial values, a bias of 0 or a scale of 1 would
  /// hide errors.
  double move = 0.3;
  /// For these numbers, and for the default generator before each call, so that dropout repeats its mask.
  uint64_t seed = 11;
};

namespace detail {
GradcheckReport gradcheck(const AnyModel& model, std::vector<Tensor> inputs, tapegrad::detail::GradcheckFunction call,
                          const ModuleGradcheckOptions& options);
}  // namespace detail

/// Compares the gradients of call(model, inputs) for every parameter of the model and every floating input with central
/// differences, as tapegrad::gradcheck does for functions:
///
///   const auto call = [](const Block& block, std::span<const Tensor> in) { return block(in[0], in[1]); };
///   const GradcheckReport report = nn::gradcheck(model, {x, mask}, call);
///   if (!report) std::cout << report.text;   // "... (element 3 of up.weight)"
///
/// Works in float64 on a clone of the model: neither the model nor the default generator changes. Floating inputs are
/// converted; integers and bools are passed unchanged. The copy keeps the model's modes (train, eval). The time is
/// proportional to the square of the number of parameters, so check a small model. Raises the errors of the model.
template <class Model, class Call>
requires std::is_invocable_r_v<Tensor, Call&, Model&, std::span<const Tensor>> GradcheckReport gradcheck(
    const Model& model, const std::vector<Tensor>& inputs, Call call, const ModuleGradcheckOptions& options = {}) {
  Model copy = clone(model);
  auto run = [&](std::span<const Tensor> x) -> Tensor { return call(copy, x); };
  const auto called = [](void* f, std::span<const Tensor> x) { return (*static_cast<decltype(run)*>(f))(x); };
  return detail::gradcheck(detail::AnyModel(copy), inputs, {&run, called}, options);
}

/// The same for model(inputs[0], inputs[1], ...), with one to four inputs.
template <class Model>
GradcheckReport gradcheck(const Model& model, const std::vector<Tensor>& inputs,
                          const ModuleGradcheckOptions& options = {}) {
  const auto call = [](Model& m, std::span<const Tensor> x) { return tapegrad::detail::call_with(m, x); };
  return gradcheck(model, inputs, call, options);
}

}  // namespace tapegrad::nn
