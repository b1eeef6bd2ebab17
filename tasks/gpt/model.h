// Trained GPTs in files: ours, and Hugging Face's folders.
#pragma once

#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/nn/gpt.h>
#include <tapegrad/tasks/data/tokenizer.h>
#include <tapegrad/tasks/gpt/options.h>
#include <tapegrad/tasks/train/files.h>

#include <functional>
#include <map>
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
// the folder of a run (find_model). An empty name: the last run's. BadRequest where nothing is there, and for another
// task's model.
TrainedGPT load_gpt(const std::string& model, const LoadOptions& options = {});
// Gives a model the updates of low rank that a run's settings ask for. BadRequest about --lora-targets.
void add_lora(nn::GPTModel& model, const GPTOptions& options);
// Writes the updates of a run's model as an adapter of PEFT's into a folder.
void save_gpt_adapter(const fs::path& folder, const nn::GPTModel& model, const GPTOptions& options);

// --- parts of loading, for other kinds of models ---

// What a type of weights takes of the memory of float32.
double share_of_memory(WeightType type);
// The tokenizer in a folder; none where there is none or it is not wanted. Error if the vocabulary is too small for it.
std::unique_ptr<data::Tokenizer> tokenizer_of_folder(const fs::path& folder, int64_t vocab_size, bool wanted);
// Loads a state that was read from `path`, in the types of the model. Error that begins with the path.
void fill_from_state(const std::function<void(const NamedTensors&)>& load, const NamedTensors& state,
                     const fs::path& path);
// Reads the weights of a folder into a model: ours(entry) converts one entry to the model's names.
template <class Model, class Ours>
void fill_from_folder(Model& model, const fs::path& folder, Ours ours) {
  std::map<std::string, DType> dtypes;  // of parameters
  for (const NamedTensor& p : nn::state_dict(model)) dtypes[p.name] = p.tensor.dtype();
  NamedTensors state;
  read_safetensors(folder.string(), [&](NamedTensor theirs) {
    for (NamedTensor& t : ours(std::move(theirs))) {
      const auto kept = dtypes.find(t.name);
      if (kept != dtypes.end() && is_floating(t.tensor.dtype())) t.tensor = t.tensor.to(kept->second);
      for (NamedTensor& fits : nn::int8_state({std::move(t)}, model)) state.push_back(std::move(fits));
    }
  });
  fill_from_state([&](const NamedTensors& all) { nn::load_state_dict(model, all); }, state, folder);
}

}  // namespace tapegrad::tasks
