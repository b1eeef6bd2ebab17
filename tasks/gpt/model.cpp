// Writes trained GPTs and Llamas.
#include <fmt/format.h>
#include <tapegrad/autograd/io/internal/checksum.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/nn/adapter.h>
#include <tapegrad/nn/gpt_hugging_face.h>
#include <tapegrad/nn/llama_hugging_face.h>
#include <tapegrad/tasks/gpt/model.h>
#include <tapegrad/train/data/tokenizer_files.h>
#include <tapegrad/train/files/internal/checked_file.h>

#include <nlohmann/json.hpp>

namespace tapegrad::tasks {
namespace {

constexpr const char* kFolderFiles[] = {"model.safetensors", "model.safetensors.index.json", "config.json",
                                        "tokenizer.json", "tokenizer_config.json"};

}  // namespace

void save_gpt(const Destination& to, const nn::AnyDecoder& model, const GPTOptions& options,
              const data::Tokenizer& tokenizer, int64_t steps, bool with_masks) {
  if (options.lora_merge && nn::has_lora(model)) {
    nn::AnyDecoder merged = nn::clone(model);
    nn::merge_lora(merged);
    return save_gpt(to, merged, options, tokenizer, steps, with_masks);
  }
  NamedTensors state = nn::state_dict(model);
  if (const auto* gpt = model.as<nn::GPTModel>(); gpt != nullptr && with_masks)
    state = nn::with_masks(std::move(state), gpt->config);
  train::save_checked(to, state,
                      {{"config", to_json(options)},
                       {"format", "pt"},
                       {"steps", std::to_string(steps)},
                       {"task", "gpt"},
                       {"tokenizer", tokenizer.json()}});
}

std::string run_name(const GPTOptions& options, const data::Tokenizer& tokenizer, uint64_t text) {
  return fmt::format("{:016x}", checksum(bytes_of(to_json(options)), checksum(bytes_of(tokenizer.json()), text)));
}

std::string other_model_in(const fs::path& folder, std::string_view run) {
  std::string found;
  for (const char* name : kFolderFiles)
    if (found.empty() && is_there(folder / name)) found = name;
  if (found.empty() || !is_there(folder / train::kModelFile)) return found;
  try {
    const SafeTensorsFile file((folder / train::kModelFile).string());
    const auto written_by = file.metadata().find(kRunKey);
    return written_by != file.metadata().end() && written_by->second == run ? "" : found;
  } catch (const Error&) {  // not even a model
    return found;
  }
}

void check_folder_files(const fs::path& folder) {
  for (const char* name : kFolderFiles) check_replaceable({folder, name});
}

void save_hugging_face(const fs::path& folder, const nn::AnyDecoder& model, const data::Tokenizer& tokenizer,
                       const std::vector<int64_t>& ends, std::string_view run) {
  const auto* const gpt = model.as<nn::GPTModel>();
  const auto* const llama = model.as<nn::LlamaModel>();
  train::create_folder(folder);
  // The model is the first file: where it is this run's, the others are, too.
  save_safetensors({folder, train::kModelFile}, gpt ? nn::to_hugging_face(*gpt) : nn::to_hugging_face(*llama),
                   {{"format", "pt"}, {kRunKey, std::string(run)}});
  train::replace_file({folder, "config.json"},
                      gpt ? nn::to_hugging_face_config(gpt->config, tokenizer.end_of_text())
                          : nn::to_hugging_face_config(llama->config, tokenizer.begin_of_text(), ends));
  data::save_tokenizer(tokenizer, folder.string());
  // Without its own class, a model_type of gpt2 would be read with GPT-2's word splitting.
  nlohmann::ordered_json settings{
      {"tokenizer_class", "PreTrainedTokenizerFast"},
      {"model_max_length", gpt ? gpt->config.context_length : llama->config.max_position_embeddings}};
  if (gpt && tokenizer.end_of_text()) settings["eos_token"] = settings["bos_token"] = "<|endoftext|>";
  train::replace_file({folder, "tokenizer_config.json"}, settings.dump(2) + "\n");
}

void save_gpt_adapter(const Destination& folder, const nn::AnyDecoder& model, const GPTOptions& options) {
  const nn::AdapterNames names = adapter_names(model);
  nn::save_adapter(model, folder, {.base_model = options.from, .names = names, .fan_in_fan_out = names != nullptr});
}

}  // namespace tapegrad::tasks
