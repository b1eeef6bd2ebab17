// Trained GPTs and Llamas in files.
#include <fmt/format.h>
#include <tapegrad/autograd/io/internal/checksum.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/nn/adapter.h>
#include <tapegrad/nn/gpt_hugging_face.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/llama_hugging_face.h>
#include <tapegrad/tasks/gpt/llama.h>
#include <tapegrad/tasks/gpt/model.h>
#include <tapegrad/tasks/settings/run_request.h>
#include <tapegrad/train/data/tokenizer_files.h>
#include <tapegrad/train/files/internal/checked_file.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

namespace tapegrad::tasks {
namespace {

constexpr const char* kFolderFiles[] = {"model.safetensors", "model.safetensors.index.json", "config.json",
                                        "tokenizer.json", "tokenizer_config.json"};

// What PEFT calls the layers of a model that Hugging Face's GPT-2 has the form of; the model's own paths for others.
nn::AdapterNames adapter_names(const nn::AnyDecoder& model) {
  const auto* gpt = model.as<nn::GPTModel>();
  if (gpt == nullptr) return {};
  const nn::GPTConfig& c = gpt->config;
  const bool gpt2 = c.positions == nn::Positions::learned && c.attention.name() == "full" &&
                    (c.n_kv_heads == 0 || c.n_kv_heads == c.n_heads);
  return gpt2 ? nn::gpt2_adapter_names : nn::AdapterNames();
}

std::vector<int64_t> ends_of(std::optional<int64_t> end) {
  return end ? std::vector<int64_t>{*end} : std::vector<int64_t>();
}

TrainedGPT of_folder(const FoundModel& found, const LoadOptions& o) {
  const fs::path& folder = found.path;
  const std::string& text = found.config;
  nn::GPTConfig config = nn::gpt_config_of_hugging_face(text, (folder / "config.json").string());
  GPTOptions options;
  options.preset = "gpt2";
  options.config = config;
  override_with(config.position_options, o.reach, o.given);
  require_layers((folder / "config.json").string(), "n_layer", config.n_layers, count_safetensors(folder.string()));
  std::unique_ptr<data::Tokenizer> tokenizer = tokenizer_of_folder(folder, config.vocab_size, o.with_tokenizer);
  nn::AnyDecoder model = unfilled(config, o.dtype, folder);
  fill_from_folder(model, folder,
                   [&](NamedTensor theirs) { return nn::from_hugging_face({std::move(theirs)}, config); });
  std::vector<int64_t> ends = ends_of_folder(folder, text, tokenizer.get());
  return {std::move(model), std::move(tokenizer), std::move(ends), options};
}

TrainedGPT of_file(const fs::path& file, const LoadOptions& o) {
  std::string dtype = o.dtype;
  const SafeTensors loaded = train::load_checked(file);
  const auto text = [&](const char* key) -> const std::string& {
    const auto found = loaded.metadata.find(key);
    if (found != loaded.metadata.end()) return found->second;
    fail("model", fmt::format("{}: its metadata has no \"{}\" (not written by tapegrad? a folder with config.json is "
                              "read, too)",
                              file.string(), key));
  };
  const std::string task = task_of_json(file.string(), text("config"));
  require(task == kGPTTask, o.option, fmt::format("{} was trained for the task {}, not for gpt", file.string(), task));
  GPTOptions options = gpt_options_from_json(file.string(), text("config"));
  std::unique_ptr<data::Tokenizer> tokenizer = data::parse_tokenizer(text("tokenizer"), file.string());
  if (const WeightFormat* quantized = nn::quantized_format(loaded.tensors)) {
    require(dtype == LoadOptions().dtype || dtype == quantized->name, "--dtype",
            fmt::format("{} has {} weights, not {}", file.string(), quantized->name, dtype));
    dtype = quantized->name;
  }
  std::vector<int64_t> ends = ends_of(tokenizer->end_of_text());
  nn::AnyDecoder model = [&] {
    if (const LlamaSettings* llama = options.llama()) {
      require_no_reach(o, file);
      ends = llama->ends;
      require_layers(file.string(), "num_hidden_layers", llama->config.num_hidden_layers, loaded.tensors.size());
      return unfilled(llama->config, dtype, file, &options);
    }
    nn::GPTConfig config = options.model(tokenizer->size());
    override_with(config.position_options, o.reach, o.given);
    options.gpt().vocab_size = config.vocab_size;
    require_layers(file.string(), "n_layers", config.n_layers, loaded.tensors.size());
    return unfilled(config, dtype, file, &options);
  }();
  fill_from_state(model, nn::stored_state(nn::without_masks(loaded.tensors), model), file);
  return {std::move(model), std::move(tokenizer), std::move(ends), options};
}

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

void save_gpt_folder(const fs::path& folder, const nn::GPTModel& model, const data::Tokenizer& tokenizer,
                     std::string_view run) {
  train::create_folder(folder);
  // The model is the first file: where it is this run's, the others are, too.
  save_safetensors({folder, train::kModelFile}, nn::to_hugging_face(model),
                   {{"format", "pt"}, {kRunKey, std::string(run)}});
  train::replace_file({folder, "config.json"}, nn::to_hugging_face_config(model.config, tokenizer.end_of_text()));
  data::save_tokenizer(tokenizer, folder.string());
  // Without its own class, a model_type of gpt2 would be read with GPT-2's word splitting.
  nlohmann::ordered_json settings{{"tokenizer_class", "PreTrainedTokenizerFast"},
                                  {"model_max_length", model.config.context_length}};
  if (tokenizer.end_of_text()) settings["eos_token"] = settings["bos_token"] = "<|endoftext|>";
  train::replace_file({folder, "tokenizer_config.json"}, settings.dump(2) + "\n");
}

TrainedGPT load_gpt(const std::string& model, const LoadOptions& options) {
  const fs::path path = model.empty() ? last_run(kGPTTask) : fs::path(model);
  if (model.empty() && !as_bad_request(options.option, [&] { return is_there(path); })) {
    bad_request(options.option,
                fmt::format("there is no {} (train first: tapegrad train gpt; or name a --model)", path.string()));
  }
  const FoundModel found = find_model(options.option, path);
  TrainedGPT trained = [&] {
    if (found.source == ModelSource::run) return of_file(found.path, options);
    if (found.model_type != "llama") return of_folder(found, options);
    require_no_reach(options, found.path);
    return llama_of_folder(found, options);
  }();
  if (found.source == ModelSource::hugging_face) trained.folder = found.path;
  if (!options.adapter.empty()) {
    as_bad_request("--adapter",
                   [&] { nn::load_adapter(trained.model, options.adapter, adapter_names(trained.model)); });
    nn::eval(trained.model);
  }
  return trained;
}

void save_gpt_adapter(const Destination& folder, const nn::AnyDecoder& model, const GPTOptions& options) {
  const nn::AdapterNames names = adapter_names(model);
  nn::save_adapter(model, folder, {.base_model = options.from, .names = names, .fan_in_fan_out = names != nullptr});
}

}  // namespace tapegrad::tasks
