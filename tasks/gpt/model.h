// Trained GPTs in files: ours, and Hugging Face's folders.
#pragma once

#include <tapegrad/nn/gpt.h>
#include <tapegrad/tasks/data/tokenizer.h>
#include <tapegrad/tasks/gpt/options.h>
#include <tapegrad/tasks/train/files.h>

#include <memory>

namespace tapegrad::tasks {

namespace fs = std::filesystem;

struct TrainedGPT {
  nn::GPTModel model;                          // in eval mode
  std::unique_ptr<data::Tokenizer> tokenizer;  // none where the folder has none, or it was not wanted
  std::optional<int64_t> end_of_text = {};
  GPTOptions options = {};  // of the run; for a folder of Hugging Face's, only what follows from its configuration
};

// model.safetensors: the parameters under the names of tutorial 000; in __metadata__ the settings as JSON ("config"),
// the tokenizer ("tokenizer", a tokenizer.json) and the steps trained. With masks if `with_masks`: nn::with_masks.
// Updates of low rank are saved as they are, or merged if the options say so.
void save_gpt(const fs::path& path, const nn::GPTModel& model, const GPTOptions& options,
              const data::Tokenizer& tokenizer, int64_t steps, bool with_masks = false);
// config.json, model.safetensors, tokenizer.json and tokenizer_config.json, as Hugging Face's GPT-2; `run` (run_name)
// is kept in __metadata__ of model.safetensors.
void save_gpt_folder(const fs::path& folder, const nn::GPTModel& model, const data::Tokenizer& tokenizer,
                     std::string_view run);
// What a run is known by: the same settings, tokenizer and text train the same model.
std::string run_name(const GPTOptions& options, const data::Tokenizer& tokenizer, uint64_t text);
// The name of a file in `folder` that save_gpt_folder would replace, or that belongs to the shards of a model; empty
// where there is none, and where the folder's model is that of the same run.
std::string other_model_in(const fs::path& folder, std::string_view run);

// A file of save_gpt; a folder of Hugging Face's (config.json, model.safetensors or its shards, tokenizer files); or
// the folder of a run (find_model). An empty name: the last run's. BadRequest where nothing is there, and for another
// task's model.
struct LoadOptions {
  // What the matrices are kept in (GPTModel::store_in_bfloat16, store_in_int8). A file of an int8 model is read as
  // int8; BadRequest about --dtype if bfloat16 is asked for.
  WeightType type = WeightType::float32;
  bool with_tokenizer = true;  // of a folder
  ReachSettings reach = {};    // those `given` by name override the model's
  Given given = {};
  std::string adapter = {};             // folder of an adapter for the model (nn::load_adapter); empty: none
  std::string_view option = "--model";  // what named the model
};
TrainedGPT load_gpt(const std::string& model, const LoadOptions& options = {});
// Gives a model the updates of low rank that a run's settings ask for. BadRequest about --lora-targets.
void add_lora(nn::GPTModel& model, const GPTOptions& options);
// Writes the updates of a run's model as an adapter of PEFT's into a folder.
void save_gpt_adapter(const fs::path& folder, const nn::GPTModel& model, const GPTOptions& options);

// The same for every line of the text `file`, except empty ones. BadRequest about --prompt-file.
std::vector<std::vector<int64_t>> prompts_of_file(const std::string& file, const TrainedGPT& trained);
// The tokens of a prompt: those of `text`, or `ids`, "15496,11", where they are given. BadRequest about --prompt or
// --prompt-ids for no tokens, ids that the model does not have, and more than it reads.
std::vector<int64_t> prompt_ids_of(const std::string& text, const std::string& ids, const TrainedGPT& trained);

}  // namespace tapegrad::tasks
