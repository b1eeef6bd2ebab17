// Watches one pass through a model: its modules, the operations that each of them ran, and their results. Summaries and
// figures of models are made of this.
//
//   const nn::Watched seen = nn::watch(model, [&] { return model(ids); });
//   for (const nn::WatchedOperation& op : seen.operations) std::cout << op.module << ": " << op.name << "\n";
#pragma once

#include <tapegrad/autograd/op_settings.h>
#include <tapegrad/nn/module.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <vector>

namespace tapegrad::nn {

/// A module, a parameter or a buffer of a watched model.
struct WatchedMember {
  enum class Kind { module, parameter, buffer };  ///< what it is

  Kind kind = Kind::module;         ///< what it is
  std::size_t depth = 0;            ///< modules around it
  std::string name;                 ///< within its module; of the whole model, its type
  std::string path;                 ///< from the model
  std::string_view type = {};       ///< of a module, "Linear"
  std::string code = {};            ///< of a module, the C++ that makes it, from its describe(); may be empty
  std::optional<Shape> shape = {};  ///< of a parameter or buffer; of a module, that of its output, where it is certain
  int64_t output = -1;              ///< of a module, the operation that gave its output, where it is certain
  bool frozen = false;              ///< a parameter that was not trained before the pass
  std::size_t first = 0;            ///< the index of the same parameter or buffer that comes first
  int64_t count = 0;                ///< elements of a parameter (0 if it is tied to an earlier one), or of a module's
  const void* address = nullptr;    // of a module
  const std::type_info* of = nullptr;  // its type

  /// The module, while the model is where it was; nullptr if it has another type.
  template <class Module>
  const Module* as() const {
    return of != nullptr && *of == typeid(Module) ? static_cast<const Module*>(address) : nullptr;
  }
};

/// An operation that the pass recorded, or a parameter that it used.
struct WatchedOperation {
  std::string_view name;          ///< "linear"; of a parameter, "leaf"
  std::string module;             ///< the path of the module that ran it; of a parameter, its own
  std::vector<int64_t> inputs;    ///< earlier operations by their index; -1: a constant
  std::vector<Tensor> constants;  ///< by input; empty handles for those that are operations
  Tensor value;                   ///< the result, on no tape
  OpSettings settings = {};       ///< what else it was called with; of common operations
  Tensor gradient = {};           ///< of the loss, with WatchOptions::gradients; empty if it does not depend on this
};

/// A model and one pass through it.
struct Watched {
  std::vector<WatchedMember> members;        ///< each module before its members
  std::vector<WatchedOperation> operations;  ///< in the order in which they ran
  Tensor result = {};                        ///< on no tape; empty if the call returned something else
};

/// How a pass is watched.
struct WatchOptions {
  bool gradients = false;        ///< the call returns a loss, whose gradients are computed
  bool plain_attention = false;  ///< records attention without dropout as scores, mask, softmax and weighted values
};

namespace detail {

Watched watch(const AnyModel& model, const std::function<Tensor()>& call, const WatchOptions& options);
// One line per member.
std::string summary_of(const Watched& seen);

}  // namespace detail

/// Calls `call`, which runs the model, in eval mode and with all parameters on a tape. Modes, frozen parameters and the
/// default generator are restored. Raises the errors of the call.
template <class Model, class Call>
requires(!std::is_const_v<Model> && std::is_invocable_v<Call&>) Watched
    watch(Model& model, Call call, const WatchOptions& options = {}) {
  const auto tensor_of = [&]() -> Tensor {
    if constexpr (std::is_convertible_v<decltype(call()), Tensor>) {
      return call();
    } else {
      static_cast<void>(call());
      return {};
    }
  };
  return detail::watch(detail::AnyModel(model), tensor_of, options);
}
/// The members alone, without a pass.
Watched watch(const auto& model) { return detail::watch(detail::AnyModel(model), {}, {}); }

}  // namespace tapegrad::nn
