// A model as a tree: its modules, the shapes of their parameters, and optionally those of their outputs.
#pragma once

#include <tapegrad/autograd/gradcheck.h>
#include <tapegrad/nn/watch.h>

#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tapegrad::nn {

/// One line per module with its type and number of parameters, one line per parameter and buffer with its shape, and
/// the total. Marks frozen and tied parameters, and buffers.
std::string summary(const auto& model) { return detail::summary_of(watch(model)); }

/// The same with the shapes of outputs, from one run of call(model, inputs) in eval mode; modes and the default
/// generator are restored. Shapes are shown where they are certain: for the model, for modules in a Sequential or
/// Hooked, for positions and heads, and for modules that use all of their own parameters in one operation (Linear,
/// Embedding, norms) and tie none of them. For a module that runs several times, the last shape is shown. Throws the
/// errors of the model.
template <class Model, class Call>
requires(!std::is_const_v<Model> && std::is_invocable_v<Call&, Model&, std::span<const Tensor>>) std::string
    summary(Model& model, const std::vector<Tensor>& inputs, Call call) {
  return detail::summary_of(watch(model, [&] { return call(model, std::span<const Tensor>(inputs)); }));
}

/// The same for model(inputs[0], inputs[1], ...), with one to four inputs.
template <class Model>
requires(!std::is_const_v<Model>) std::string summary(Model& model, const std::vector<Tensor>& inputs) {
  const auto call = [](Model& m, std::span<const Tensor> x) { return tapegrad::detail::call_with(m, x); };
  return summary(model, inputs, call);
}

}  // namespace tapegrad::nn
