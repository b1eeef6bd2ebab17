// Parts of loading a trained model: what a path has, an empty model, its tokenizer and its weights. For each kind of
// model and of file.
#pragma once

#include <tapegrad/nn/gpt.h>
#include <tapegrad/tasks/gpt/options.h>
#include <tapegrad/train/data/tokenizer.h>
#include <tapegrad/train/files.h>

#include <cstdint>
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

// BadRequest about an option of `reach` that is given for the Llama at `path`.
void require_no_reach(const LoadOptions& options, const fs::path& path);
// Gives a model the updates of low rank that a run's settings ask for. BadRequest about --lora-targets.
void add_lora(nn::AnyDecoder& model, const GPTOptions& options);
// A model whose parameters will be loaded, in eval mode, with the updates of the run that it belongs to. BadRequest
// about the memory that it takes.
nn::AnyDecoder unfilled(const nn::GPTConfig& config, std::string_view dtype, const fs::path& path,
                        const GPTOptions* run = nullptr);
nn::AnyDecoder unfilled(const nn::LlamaConfig& config, std::string_view dtype, const fs::path& path,
                        const GPTOptions* run = nullptr);
// The tokenizer in a folder; none where there is none or it is not wanted. Error if the vocabulary is too small for it.
std::unique_ptr<data::Tokenizer> tokenizer_of_folder(const fs::path& folder, int64_t vocab_size, bool wanted);
// The tokens that end a text: those of generation_config.json, else of config.json, whose text is `config`, else of the
// tokenizer, if there is one. Error for a generation_config.json that asks for what no option does.
std::vector<int64_t> ends_of_folder(const fs::path& folder, const std::string& config,
                                    const data::Tokenizer* tokenizer);
// Reads the weights of a folder into a model: ours(entry) converts one entry to the model's names. Error that begins
// with the folder for weights that do not fit.
void fill_from_folder(nn::AnyDecoder& model, const fs::path& folder,
                      const std::function<NamedTensors(NamedTensor)>& ours);

// The same from a state that was read from `path`.
void fill_from_state(nn::AnyDecoder& model, const NamedTensors& state, const fs::path& path);

}  // namespace tapegrad::tasks
