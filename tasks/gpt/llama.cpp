// Llamas in Hugging Face's folders, read and written.
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/nn/llama_hugging_face.h>
#include <tapegrad/tasks/gpt/llama.h>
#include <tapegrad/train/data/tokenizer_files.h>

#include <nlohmann/json.hpp>

namespace tapegrad::tasks {
TrainedGPT llama_of_folder(const FoundModel& found, const LoadOptions& o) {
  const fs::path& folder = found.path;
  const nn::LlamaConfig config = nn::llama_config_of_hugging_face(found.config, (folder / "config.json").string());
  require_layers((folder / "config.json").string(), "num_hidden_layers", config.num_hidden_layers,
                 count_safetensors(folder.string()));
  std::unique_ptr<data::Tokenizer> tokenizer = tokenizer_of_folder(folder, config.vocab_size, o.with_tokenizer);
  nn::AnyDecoder model = unfilled(config, o.dtype, folder);
  fill_from_folder(model, folder, [&](NamedTensor entry) { return nn::from_hugging_face({std::move(entry)}, config); });
  std::vector<int64_t> ends = ends_of_folder(folder, found.config, tokenizer.get());
  GPTOptions options;
  options.preset = "gpt2";
  options.set_llama({config, tokenizer ? tokenizer->begin_of_text() : std::optional<int64_t>(), ends});
  return {std::move(model), std::move(tokenizer), std::move(ends), std::move(options)};
}

void save_llama_folder(const fs::path& folder, const nn::LlamaModel& model, const data::Tokenizer& tokenizer,
                       const std::vector<int64_t>& ends, std::string_view run) {
  train::create_folder(folder);
  // The model is the first file: where it is this run's, the others are, too.
  save_safetensors({folder, train::kModelFile}, nn::to_hugging_face(model),
                   {{"format", "pt"}, {kRunKey, std::string(run)}});
  train::replace_file({folder, "config.json"},
                      nn::to_hugging_face_config(model.config, tokenizer.begin_of_text(), ends));
  data::save_tokenizer(tokenizer, folder.string());
  nlohmann::ordered_json settings{{"tokenizer_class", "PreTrainedTokenizerFast"},
                                  {"model_max_length", model.config.max_position_embeddings}};
  train::replace_file({folder, "tokenizer_config.json"}, settings.dump(2) + "\n");
}

}  // namespace tapegrad::tasks
