// GPT-2's weights under Hugging Face's names and layout, and back.
#pragma once

#include <tapegrad/nn/gpt.h>

#include <optional>
#include <string>
#include <string_view>

namespace tapegrad::nn {

// The configuration of a GPT-2 in Hugging Face's config.json. Error, with `where` as the file, for one that is no GPT-2
// or that this GPT cannot be: another activation, scale of scores, width inside or epsilon.
GPTConfig gpt_config_of_hugging_face(std::string_view json, std::string_view where);
// `end_of_text`, where it is given, becomes bos_token_id and eos_token_id.
std::string to_hugging_face_config(const GPTConfig& config, std::optional<int64_t> end_of_text = {});
// The eos_token_id of a config.json that gpt_config_of_hugging_face has read, where there is one.
std::optional<int64_t> end_of_text_of_hugging_face(std::string_view json);

// A state dict of Hugging Face's GPT-2 (names with or without "transformer.") as one of GPTModel: c_attn split into
// query, key and value, the weights of its Conv1D transposed to [out, in], buffers of masks left out, and lm_head where
// the head is not tied. What belongs to neither stays, for load_state_dict to name.
NamedTensors from_hugging_face(const NamedTensors& state, const GPTConfig& config);
// The other way, with "transformer." in front. Query, key and value have zeros for biases where the model has none.
NamedTensors to_hugging_face(const GPTModel& model);

}  // namespace tapegrad::nn
