// Trained GPTs and Llamas in files: ours, and Hugging Face's folders.
#pragma once

#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/nn/gpt.h>
#include <tapegrad/tasks/data/tokenizer.h>
#include <tapegrad/tasks/gpt/options.h>
#include <tapegrad/tasks/train/files.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tapegrad::tasks {

namespace fs = std::filesystem;

inline constexpr const char* kRunKey = "run";  // in __metadata__ of a folder that was written: its run_name

struct TrainedGPT {
  nn::AnyDecoder model;                        // in eval mode
  std::unique_ptr<data::Tokenizer> tokenizer;  // none where the folder has none, or it was not wanted
  std::vector<int64_t> ends = {};              // the tokens that end a text
  GPTOptions options = {};  // of the run; for a folder of Hugging Face's, only what follows from its configuration
  std::string chat_template = {};  // of the folder, in Jinja; empty: none

  bool is_end(int64_t id) const;
  // The text of ids. Those that only pad the model's vocabulary have none.
  std::string text(std::span<const int64_t> ids) const;
};

// model.safetensors: the parameters under the names of tutorial 000; in __metadata__ the settings as JSON ("config"),
// the tokenizer ("tokenizer", a tokenizer.json) and the steps trained. With masks if `with_masks`: nn::with_masks.
// Updates of low rank are saved as they are, or merged if the options say so.
void save_gpt(const fs::path& path, const nn::AnyDecoder& model, const GPTOptions& options,
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
// Error where save_gpt_folder or save_llama_folder could not write a file of theirs into `folder`.
void check_folder_files(const fs::path& folder);

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
// A file of save_gpt; a folder of Hugging Face's (config.json, model.safetensors or its shards, tokenizer files); or
// the folder of a run (find_model). An empty name: the last run's. BadRequest where nothing is there, for another
// task's model, and for `reach` of a Llama.
TrainedGPT load_gpt(const std::string& model, const LoadOptions& options = {});
// Gives a model the updates of low rank that a run's settings ask for. BadRequest about --lora-targets.
void add_lora(nn::AnyDecoder& model, const GPTOptions& options);
// Writes the updates of a run's model as an adapter of PEFT's into a folder.
void save_gpt_adapter(const fs::path& folder, const nn::AnyDecoder& model, const GPTOptions& options);

// --- parts of loading, for each kind of model ---

// A model whose parameters will be loaded, in eval mode, with the updates of the run that it belongs to. BadRequest
// about the memory that it takes.
nn::AnyDecoder unfilled(const nn::GPTConfig& config, WeightType type, const fs::path& path,
                        const GPTOptions* run = nullptr);
nn::AnyDecoder unfilled(const nn::LlamaConfig& config, WeightType type, const fs::path& path,
                        const GPTOptions* run = nullptr);
// The tokenizer in a folder; none where there is none or it is not wanted. Error if the vocabulary is too small for it.
std::unique_ptr<data::Tokenizer> tokenizer_of_folder(const fs::path& folder, int64_t vocab_size, bool wanted);
// Reads the weights of a folder into a model: ours(entry) converts one entry to the model's names. Error that begins
// with the folder for weights that do not fit.
void fill_from_folder(nn::AnyDecoder& model, const fs::path& folder,
                      const std::function<NamedTensors(NamedTensor)>& ours);

}  // namespace tapegrad::tasks
