// GPT-2's weights under Hugging Face's names and layout, and back.
#pragma once

#include <tapegrad/nn/gpt.h>
#include <tapegrad/nn/lora.h>

#include <optional>
#include <string>
#include <string_view>

namespace tapegrad::nn {

/// The configuration in a GPT-2's config.json from Hugging Face. Error, with `where` as the file's name, for another
/// kind of model and for what GPTModel does not support: another activation, scale of scores, inner width or epsilon.
GPTConfig gpt_config_of_hugging_face(std::string_view json, std::string_view where);
/// The reverse. `end_of_text`, if given, becomes bos_token_id and eos_token_id.
std::string to_hugging_face_config(const GPTConfig& config, std::optional<int64_t> end_of_text = {});

/// Converts a state dict of Hugging Face's GPT-2 (names with or without "transformer.") to one of GPTModel: splits
/// c_attn into query, key and value, transposes the weights of Conv1D to [out, in], drops the buffers of masks, and
/// keeps lm_head if the head is not tied. Unknown entries are kept, so that load_state_dict names them.
NamedTensors from_hugging_face(const NamedTensors& state, const GPTConfig& config);
/// The reverse, with "transformer." before the names. If the model has no biases for query, key and value, they are
/// zeros. Low-rank updates are merged. Error for quantised weights.
NamedTensors to_hugging_face(const GPTModel& model);

/// AdapterNames of GPT-2: "trf_blocks.3.att.W_key" is part 1 of 3 of "transformer.h.3.attn.c_attn".
AdapterLayer gpt2_adapter_names(std::string_view path);

}  // namespace tapegrad::nn
