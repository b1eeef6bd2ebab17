// Trained GPTs and Llamas from files: ours, and Hugging Face's folders; and prompts for them.
#pragma once

#include <tapegrad/nn/adapter.h>
#include <tapegrad/nn/decoder.h>
#include <tapegrad/tasks/gpt/options.h>
#include <tapegrad/train/data/tokenizer.h>
#include <tapegrad/train/files.h>

#include <cstdint>
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
  GPTOptions options = {};  // of the run; for Hugging Face's folders, only what follows from its configuration
  fs::path folder = {};     // Hugging Face's; empty: a run

  bool is_end(int64_t id) const;
  // The text of ids. Those that only pad the model's vocabulary have none.
  std::string text(std::span<const int64_t> ids) const;
};

struct LoadOptions {
  // The WeightFormat of the matrices. A file of an int8 model is read as int8; BadRequest about --dtype if another
  // format than float32 is chosen.
  std::string dtype = "float32";
  bool with_tokenizer = true;  // of a folder
  ReachSettings reach = {};    // those `given` by name override the model's
  Given given = {};
  std::string adapter = {};             // folder of an adapter for the model (nn::load_adapter); empty: none
  std::string_view option = "--model";  // what named the model
  bool generates = false;               // settings of generation without an option are errors
};
enum class ModelSource : uint8_t { run, hugging_face };

struct FoundModel {
  ModelSource source;
  std::filesystem::path path;   // the file of a run's model; Hugging Face's folder
  std::string config = {};      // Hugging Face's: the text of config.json
  std::string model_type = {};  // and what it names: "gpt2" or "llama"
};
// What is at a path: the model of a run (a file, or the folder of a run), or a folder with config.json. BadRequest
// about `option` where nothing is there, for a folder with neither, and for the folder of an adapter.
FoundModel find_model(std::string_view option, const std::filesystem::path& path);

// The model of a path: the file of a run (save_gpt) or its folder, or a Hugging Face folder (config.json,
// model.safetensors or its shards, tokenizer files). An empty name: the last run's. BadRequest where nothing is there,
// for another task's model, and for `reach` of a Llama.
TrainedGPT load_gpt(const std::string& model, const LoadOptions& options = {});
// Gives a model the updates of low rank that a run's settings ask for. BadRequest about --lora-targets.
void add_lora(nn::AnyDecoder& model, const GPTOptions& options);
// What PEFT calls the layers of a model that Hugging Face's GPT-2 has the form of; the model's own paths for others.
nn::AdapterNames adapter_names(const nn::AnyDecoder& model);

// The prompts of every line of the text `file`, except empty ones. BadRequest about --prompt-file.
std::vector<std::vector<int64_t>> prompts_of_file(const std::string& file, const TrainedGPT& trained);
// The tokens of a prompt: those of `text`, after the one that the model expects before a text, or `ids`, "15496,11",
// where they are given. BadRequest about --prompt or --prompt-ids for no tokens, ids that the model does not have, and
// more than it reads.
std::vector<int64_t> prompt_ids_of(const std::string& text, const std::string& ids, const TrainedGPT& trained);

}  // namespace tapegrad::tasks
