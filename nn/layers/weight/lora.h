// LoRA: small trained updates of the linear layers of a model that is otherwise frozen. Hu et al. 2021.
//
//   nn::lora(model, {.rank = 8, .alpha = 16, .targets = {"W_query", "W_value"}});
//   optim::AdamW adam(nn::trainable_parameters(model), {.lr = 2e-4});      // the updates
//   train(model, adam);
//   nn::merge_lora(model);                                       // the weights with the updates; none are left
//
// adapter.h reads and writes the updates in PEFT's format.
#pragma once

#include <tapegrad/nn/linear.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::nn {

/// Defaults are PEFT's.
struct LoraOptions {
  int64_t rank = 8;  ///< r: A is [r, inputs], B is [outputs, r]
  double alpha = 8;  ///< updates are multiplied by alpha / rank
  /// Patterns of layers: "*" is any text, "?" any character, "[abc]" one of these. A pattern matches the whole path of
  /// a layer, "trf_blocks.*.att.W_query", or the end of it after a dot, "W_query".
  std::vector<std::string> targets;
  double dropout = 0;  ///< on the input of the updates, in training
};

/// What a layer is called in adapters. Several layers may be parts of one there, as query, key and value are of
/// GPT-2's c_attn: they share A, and B has the rows of part 0 first.
struct AdapterLayer {
  std::string name;             ///< path of the layer in the adapter's file
  int64_t part = 0, parts = 1;  ///< which part of the layer this one is, and how many it has
};
/// From the path of a Linear.
using AdapterNames = std::function<AdapterLayer(std::string_view path)>;

/// Whether a path matches a pattern, as in LoraOptions::targets.
bool matches(const std::string& pattern, std::string_view path);

namespace detail {

std::vector<std::string> lora(const AnyModel& model, const LoraOptions& options, const AdapterNames& names);
int64_t merge_lora(const AnyModel& model);
bool has_lora(const AnyModel& model);

}  // namespace detail

/// Freezes the model and gives every Linear that matches a target an update, LowRank, whose parameters are the only
/// ones that are trained. The names of the model's own parameters do not change; the parameters of an update are
/// "trf_blocks.0.att.W_query.lora_A.weight" and "...lora_B.weight". Outputs do not change at first, because B is 0.
/// Targets may also be names of `names`; layers that are parts of one there then share A. Returns the paths of the
/// layers. Error for a target that matches no layer, and for a model that already has updates.
std::vector<std::string> lora(detail::NotConst auto& model, const LoraOptions& options,
                              const AdapterNames& names = {}) {
  return detail::lora(detail::AnyModel(model), options, names);
}

/// Adds the updates to the weights, and removes them. Returns their number. Nothing is unfrozen. Error for weights that
/// are not float32 or float64.
int64_t merge_lora(detail::NotConst auto& model) { return detail::merge_lora(detail::AnyModel(model)); }

/// Whether a layer of the model has an update.
bool has_lora(const auto& model) { return detail::has_lora(detail::AnyModel(model)); }

/// parameters(model) without the frozen ones: an optimiser made from these has no state for the others, also in its
/// checkpoints.
NamedTensors trainable_parameters(auto& model) {
  NamedTensors leaves = parameters(model);
  std::erase_if(leaves, [](const NamedTensor& p) { return p.tensor.is_frozen(); });
  return leaves;
}

}  // namespace tapegrad::nn
