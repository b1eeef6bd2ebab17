// Adapters in files: the updates of nn::lora in the format of PEFT, Hugging Face's library.
//
//   nn::save_adapter(model, "my-adapter", {.base_model = "gpt2", .names = nn::gpt2_adapter_names});
//   nn::load_adapter(other, "my-adapter", nn::gpt2_adapter_names);
//
// An adapter is a folder with adapter_model.safetensors and adapter_config.json.
#pragma once

#include <tapegrad/autograd/io/destination.h>
#include <tapegrad/nn/lora.h>

#include <string>

namespace tapegrad::nn {

inline constexpr const char* kAdapterFile = "adapter_model.safetensors";  ///< the tensors, in PEFT's format
inline constexpr const char* kAdapterConfigFile = "adapter_config.json";  ///< rank, alpha and targets, in PEFT's format

/// What an adapter's files say about the base model, and its names of layers.
struct AdapterFormat {
  std::string base_model = {};  ///< name or folder of the model that was adapted; recorded, not read
  AdapterNames names = {};      ///< none: the model's own paths
  bool fan_in_fan_out = false;  ///< recorded: the base model's files have weights [in, out], as GPT-2's
};

namespace detail {

void save_adapter(const AnyModel& model, const Destination& folder, const AdapterFormat& format);
void load_adapter(const AnyModel& model, const std::string& folder, const AdapterNames& names);

}  // namespace detail

/// Writes the model's updates into a folder, which is created. Layers that are parts of one in `names` become one
/// update. If they don't share A, its rank is the sum of their ranks. Error for a model without updates.
void save_adapter(const auto& model, const Destination& folder, const AdapterFormat& format = {}) {
  detail::save_adapter(detail::AnyModel(model), folder, format);
}

/// Freezes the model and gives it the updates of an adapter, which may then be trained further or merged. Works with
/// weights in any format. Error if the model already has updates, if the adapter does not match the
/// model (its layers, their sizes, and target_modules), or if it has anything but LoRA of linear layers: DoRA, biases,
/// modules_to_save, embeddings. The model is then unchanged.
void load_adapter(detail::NotConst auto& model, const std::string& folder, const AdapterNames& names = {}) {
  detail::load_adapter(detail::AnyModel(model), folder, names);
}

}  // namespace tapegrad::nn
