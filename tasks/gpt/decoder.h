// Trained decoders that generate: models of `train gpt`, and folders of Hugging Face's GPT-2 and Llama.
#pragma once

#include <tapegrad/nn/llama.h>
#include <tapegrad/tasks/gpt/model.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tapegrad::tasks {

struct TrainedDecoder {
  nn::AnyDecoder model;                        // in eval mode
  std::unique_ptr<data::Tokenizer> tokenizer;  // none where the folder has none, or it was not wanted
  std::vector<int64_t> ends;                   // the tokens that end a text
  std::string chat_template;                   // of the folder, in Jinja; empty: none

  bool is_end(int64_t id) const;
  // The text of ids. Those that only pad the model's vocabulary have none.
  std::string text(std::span<const int64_t> ids) const;
};

// load_gpt for a model of either kind.
TrainedDecoder load_decoder(const std::string& model, const LoadOptions& options = {});
// Writes config.json, model.safetensors, tokenizer.json and tokenizer_config.json of a Llama.
void save_llama_folder(const fs::path& folder, const nn::LlamaModel& model, const data::Tokenizer& tokenizer,
                       const std::vector<int64_t>& ends);

// The prompts of every line of the text `file`, except empty ones. BadRequest about --prompt-file.
std::vector<std::vector<int64_t>> prompts_of_file(const std::string& file, const TrainedDecoder& trained);
// The tokens of a prompt: those of `text`, after the one that the model expects before a text, or `ids`, "15496,11",
// where they are given. BadRequest about --prompt or --prompt-ids for no tokens, ids that the model does not have, and
// more than it reads.
std::vector<int64_t> prompt_ids_of(const std::string& text, const std::string& ids, const TrainedDecoder& trained);

}  // namespace tapegrad::tasks
