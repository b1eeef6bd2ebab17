// Llama's configuration and weights as Hugging Face's folders have them, and back.
#pragma once

#include <tapegrad/nn/llama.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::nn {

/// The configuration in a Llama's config.json. Error, with `where` as the file's name, for another kind of model and
/// for what LlamaModel does not support: another activation, another rule than RopeScaling's, quantised weights.
LlamaConfig llama_config_of_hugging_face(std::string_view json, std::string_view where);
/// The tokens in a config.json or generation_config.json that end a text; there may be none or several.
std::vector<int64_t> ends_of_hugging_face(std::string_view json, std::string_view where);
/// The reverse of the first. `begin` and `ends`, if given, become bos_token_id and eos_token_id.
std::string to_hugging_face_config(const LlamaConfig& config, std::optional<int64_t> begin = {},
                                   const std::vector<int64_t>& ends = {});

/// The state of LlamaForCausalLM is that of LlamaModel. This removes what older files have in addition: the angles of
/// RoPE, and the head of a model whose head is tied.
NamedTensors from_hugging_face(const NamedTensors& state, const LlamaConfig& config);
/// Low-rank updates are merged. Error for quantised weights.
NamedTensors to_hugging_face(const LlamaModel& model);

}  // namespace tapegrad::nn
