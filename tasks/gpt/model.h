// Trained GPTs and Llamas into files: ours, and Hugging Face's folders; and training that starts from one (`--from`).
#pragma once

#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/nn/module.h>
#include <tapegrad/tasks/gpt/loading.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

// model.safetensors: the parameters under the names of tutorial 000; in __metadata__ the settings as JSON ("config"),
// the tokenizer ("tokenizer", a tokenizer.json) and the steps trained. With masks if `with_masks`: nn::with_masks.
// Updates of low rank are saved as they are, or merged if the options say so.
void save_gpt(const Destination& to, const nn::AnyDecoder& model, const GPTOptions& options,
              const data::Tokenizer& tokenizer, int64_t steps, bool with_masks = false);
// config.json, model.safetensors, tokenizer.json and tokenizer_config.json, as Hugging Face's GPT-2 or Llama, whose
// texts end with one of `ends`; `run` (run_name) is kept in __metadata__ of model.safetensors.
void save_hugging_face(const fs::path& folder, const nn::AnyDecoder& model, const data::Tokenizer& tokenizer,
                       const std::vector<int64_t>& ends, std::string_view run);
// What a run is known by: the same settings, tokenizer and text train the same model.
std::string run_name(const GPTOptions& options, const data::Tokenizer& tokenizer, uint64_t text);
// The name of a file in `folder` that save_hugging_face would replace, or that belongs to the shards of a model; empty
// where there is none, and where the folder's model is that of the same run.
std::string other_model_in(const fs::path& folder, std::string_view run);
// Error if save_hugging_face could not write a file of theirs into `folder`.
void check_folder_files(const fs::path& folder);
// Writes the updates of a run's model as a PEFT adapter into a folder.
void save_gpt_adapter(const Destination& folder, const nn::AnyDecoder& model, const GPTOptions& options);

// The model that options.from names, with the adapter that they name merged, in float32. BadRequest about --from or
// --adapter, or an Error that names the file.
TrainedGPT load_start(const GPTOptions& options, const Given& given);
// Settings for training that starts from such a model: its own for its sizes and form, fine-tuning's rates, and
// otherwise those of its preset, with those `given` in `asked` over them. BadRequest that names the first one given
// that contradicts the model.
GPTOptions start_with(const TrainedGPT& start, GPTOptions asked, const Given& given);
// The model's own tokenizer, or the one given; it is taken out of `start`. BadRequest where there is none, and where
// its vocabulary is not the model's.
std::unique_ptr<data::Tokenizer> take_tokenizer(TrainedGPT& start, const GPTOptions& options, const Given& given);

// Freezes the parameters that fit the patterns (nn::matches). BadRequest about --freeze for a pattern that fits none,
// and if nothing is left to train.
void freeze_parameters(const std::vector<nn::NamedParameter>& parameters, const std::vector<std::string>& patterns);

}  // namespace tapegrad::tasks
