// Llamas in Hugging Face's folders.
#pragma once

#include <tapegrad/nn/llama.h>
#include <tapegrad/tasks/gpt/loading.h>

#include <string_view>

namespace tapegrad::tasks {

// The model of a folder, in what `options` asks for.
TrainedGPT llama_of_folder(const FoundModel& found, const LoadOptions& options);
// Writes config.json, model.safetensors, tokenizer.json and tokenizer_config.json; `run` as save_gpt_folder does.
void save_llama_folder(const fs::path& folder, const nn::LlamaModel& model, const data::Tokenizer& tokenizer,
                       const std::vector<int64_t>& ends, std::string_view run);

}  // namespace tapegrad::tasks
