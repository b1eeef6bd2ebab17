// A certificate for the gradients of a model at the size at which it trains: float32, millions of parameters. An
// example is in docs/gradients.md.
//
// nn::gradcheck compares every derivative of a small model in float64. The time of certify grows only as fast as the
// time of training. It also checks the float32 gradients that training uses.
#pragma once

#include <tapegrad/nn/certificate.h>
#include <tapegrad/nn/certify_options.h>
#include <tapegrad/nn/module.h>

#include <span>
#include <type_traits>
#include <vector>

namespace tapegrad::nn {

namespace detail {

// `single` is the model as it trains, `wide` the same in float64.
Certificate certify(const CertifiedModel& single, const CertifiedModel& wide, const std::vector<Tensor>& batch,
                    const CertifyOptions& options);

}  // namespace detail

/// Checks the gradients of loss(model, batch), a tensor of one element, with respect to every parameter that is not
/// frozen and every floating tensor of the batch:
/// - derivatives in random directions against differences, whose error is measured, at several points, in training mode
///   with fixed random numbers and in eval mode; the orders of the Taylor remainders; each parameter by itself;
/// - the backward of every operation by itself, at the values that it has in this model;
/// - float32 gradients against float64 ones; bit-identical gradients when they are computed twice, by more threads,
///   twice on a retained tape, for one parameter alone; gradients of single examples, which add up;
/// - a wrong number that it plants itself, and must find.
/// Where a check fails, the tensor and its element are named.
///
/// Works on clones: neither the model nor the default generator changes. Raises the errors of the model, and an Error
/// for a loss of another shape than one element.
template <class Model, class Loss>
requires std::is_invocable_r_v<Tensor, Loss&, Model&, std::span<const Tensor>> Certificate
certify(const Model& model, Loss loss, const std::vector<Tensor>& batch, const CertifyOptions& options = {}) {
  Model single = clone(model), wide = clone(model);
  to(wide, kFloat64);
  const auto of = [&](Model& m) {
    return detail::CertifiedModel{detail::AnyModel(m), [&](std::span<const Tensor> x) -> Tensor { return loss(m, x); }};
  };
  return detail::certify(of(single), of(wide), batch, options);
}

}  // namespace tapegrad::nn
