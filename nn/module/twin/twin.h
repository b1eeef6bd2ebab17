// Compares a port of a PyTorch module with the original: outputs, losses, gradients and weights after each step.
//
// twin.py, installed in share/tapegrad, runs the module in PyTorch and writes a file, which nn::twin reads; an example
// is in docs/from_pytorch.md.
#pragma once

#include <tapegrad/nn/module.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapegrad::nn {

/// The outputs of a model: one tensor or several, in the order of twin.py.
struct TwinOutputs : std::vector<Tensor> {
  using std::vector<Tensor>::vector;
  TwinOutputs(const Tensor& one) : vector{one} {}                                       // NOLINT
  TwinOutputs(const std::pair<Tensor, Tensor>& two) : vector{two.first, two.second} {}  // NOLINT
  TwinOutputs(std::vector<Tensor> several) : vector(std::move(several)) {}              // NOLINT
};

/// A function of the model that returns its optimiser, or a function that takes the gradients and updates the model.
template <class Model>
class TwinOptimizer {
 public:
  using Update = std::function<void(Gradients&)>;  ///< one step, by the gradients
  TwinOptimizer() = default;                       ///< none
  template <class Make>
  requires std::is_invocable_v<Make&, Model&> TwinOptimizer(Make make)  // NOLINT: = a lambda
      : make_([make](Model& model) mutable -> Update {
          using Made = std::invoke_result_t<Make&, Model&>;
          const std::shared_ptr<Made> held(new Made(make(model)));  // optimisers cannot be moved
          return [held](Gradients& grads) {
            if constexpr (requires { held->step(grads); }) {
              held->step(grads);
            } else {
              (*held)(grads);
            }
          };
        }) {}
  explicit operator bool() const { return static_cast<bool>(make_); }
  Update operator()(Model& model) const { return make_(model); }

 private:
  std::function<Update(Model&)> make_;
};

/// The functions that twin.write was given, in C++, and how to compare.
template <class Model>
struct TwinOptions {
  using Inputs = std::span<const Tensor>;                   ///< those of twin.write, in the type of the model
  std::function<TwinOutputs(Model&, Inputs)> outputs = {};  ///< default: model(inputs[0], inputs[1], ...)
  std::function<Tensor(Model&, Inputs)> loss = {};          ///< default: the loss of twin.write
  TwinOptimizer<Model> optimizer = {};                      ///< default: SGD with a learning rate of 0.01
  /// Also compares the weights that the model has with those that the module had: both were made after the same seed.
  bool initial = false;
  /// Relative, of outputs, gradients and the first loss in float64; a thousand times this for later steps.
  double tolerance = 1e-9;
};

/// What nn::twin found.
struct TwinReport {
  bool ok = true;                  ///< nothing differs
  std::string text;                ///< one line: the first difference, or what was compared
  std::string tensor = {};         ///< "gradient of up.weight", the first tensor that differs
  std::vector<std::string> noise;  ///< parameters whose gradients are rounding noise only; they are not compared
  explicit operator bool() const { return ok; }
};

namespace detail {

// A model of one type of elements, with the weights of the file.
struct TwinModel {
  AnyModel model;
  std::function<TwinOutputs(std::span<const Tensor>)> outputs;
  std::function<Tensor(std::span<const Tensor>)> loss;         // may be empty
  std::function<std::function<void(Gradients&)>()> optimizer;  // may be empty
};
struct TwinSettings {
  bool initial;
  double tolerance;
};
using UseTwin = std::function<void(const TwinModel&)>;
TwinReport twin(const AnyModel& model, const std::string& path, const TwinSettings& settings,
                const std::function<void(DType, const UseTwin&)>& with_copy);
[[noreturn]] void fail_without_outputs(std::size_t inputs);

template <class Model>
TwinOutputs default_outputs(Model& model, std::span<const Tensor> x) {
  const auto call = [&](const auto&... inputs) -> TwinOutputs {
    if constexpr (std::is_invocable_v<Model&, decltype(inputs)...>) {
      if constexpr (std::is_convertible_v<std::invoke_result_t<Model&, decltype(inputs)...>, TwinOutputs>)
        return model(inputs...);
    }
    fail_without_outputs(x.size());
  };
  if (x.size() == 1) return call(x[0]);
  if (x.size() == 2) return call(x[0], x[1]);
  if (x.size() == 3) return call(x[0], x[1], x[2]);
  fail_without_outputs(x.size());
}

}  // namespace detail

/// Compares a port with the PyTorch module whose run twin.py wrote to `path`.
///
/// Clones of the model, in float64 and float32, take the weights of the file and compute what PyTorch computed, with
/// the same random numbers. The first tensor that differs is named, in the order: initial weights, outputs, first loss,
/// gradients from the last parameter to the first (as backward computes them), then per step weights and buffers, and
/// the loss of the next step. Float64 decides; in float32, where steps are not compared, the limit is 16 times the
/// distance of PyTorch's own results from its float64 ones. Neither the model nor the default generator changes. Errors
/// of the model, such as a parameter that the file has and the model lacks, are reported, too. Error for another file.
template <class Model>
TwinReport twin(const Model& model, const std::string& path,
                const std::type_identity_t<TwinOptions<Model>>& options = {}) {
  const auto with_copy = [&](DType dtype, const detail::UseTwin& use) {
    Model copy = clone(model);
    to(copy, dtype);
    detail::TwinModel one{detail::AnyModel(copy), {}, {}, {}};
    one.outputs = [&](std::span<const Tensor> x) {
      return options.outputs ? options.outputs(copy, x) : detail::default_outputs(copy, x);
    };
    if (options.loss) one.loss = [&](std::span<const Tensor> x) { return options.loss(copy, x); };
    if (options.optimizer) one.optimizer = [&] { return options.optimizer(copy); };
    use(one);
  };
  return detail::twin(detail::AnyModel(model), path, {options.initial, options.tolerance}, with_copy);
}

}  // namespace tapegrad::nn
