// Trained GPTs in files.
#include <fmt/format.h>
#include <tapegrad/autograd/io/checksum.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/nn/gpt_hugging_face.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/tasks/data/tokenizer_files.h>
#include <tapegrad/tasks/gpt/model.h>
#include <tapegrad/tasks/settings/run_request.h>
#include <tapegrad/tasks/train/checked_file.h>

#include <nlohmann/json.hpp>

namespace tapegrad::tasks {
namespace {

constexpr std::string_view kWhere = "model";
constexpr const char* kRun = "run";  // in __metadata__
constexpr const char* kFolderFiles[] = {"model.safetensors", "model.safetensors.index.json", "config.json",
                                        "tokenizer.json", "tokenizer_config.json"};

// A model whose parameters will be loaded, in eval mode.
nn::GPTModel unfilled(const nn::GPTConfig& config, WeightType type, const fs::path& path) {
  const double share = type == WeightType::float32 ? 1 : type == WeightType::bfloat16 ? 0.5 : 0.27;
  require_memory(kWhere, fmt::format("{}: a model of its sizes", path.string()), model_bytes(config) * share);
  const nn::init::Skip skip;
  nn::GPTModel model(config);
  if (type == WeightType::bfloat16) model.store_in_bfloat16();
  if (type == WeightType::int8) model.store_in_int8();
  nn::eval(model);
  return model;
}

void fill(nn::GPTModel& model, const NamedTensors& state, const fs::path& path) {
  try {
    nn::load_state_dict(model, state);
  } catch (const Error& e) {
    constexpr std::size_t kMost = 400;  // a model that does not fit names all of its parameters
    std::string what = e.what();
    if (what.size() > kMost) what = what.substr(0, what.rfind(';', kMost)) + "; and more";
    fail(kWhere, fmt::format("{}: {}", path.string(), what));
  }
}

void override_with(nn::PositionOptions& options, const ReachSettings& reach, const Given& given) {
  if (contains(given, "interpolate-to")) options.interpolate_to = reach.interpolate_to;
  if (contains(given, "ntk-scale")) options.ntk_scale = reach.ntk_scale;
}

TrainedGPT of_folder(const fs::path& folder, WeightType type, bool with_tokenizer, const ReachSettings& reach,
                     const Given& given) {
  const fs::path config_file = folder / "config.json";
  const std::string text = train::read_file(config_file);
  nn::GPTConfig config = nn::gpt_config_of_hugging_face(text, config_file.string());
  override_with(config.position_options, reach, given);
  std::unique_ptr<data::Tokenizer> tokenizer;
  if (with_tokenizer && data::has_tokenizer(folder.string())) tokenizer = data::load_tokenizer(folder.string());
  if (tokenizer && tokenizer->size() > config.vocab_size) {
    fail(kWhere, fmt::format("{}: its tokenizer has {} tokens, the model's vocabulary {}", folder.string(),
                             tokenizer->size(), config.vocab_size));
  }
  nn::GPTModel model = unfilled(config, type, folder);
  std::map<std::string, DType> dtypes;  // of parameters
  for (const NamedTensor& p : nn::state_dict(model)) dtypes[p.name] = p.tensor.dtype();
  NamedTensors state;
  read_safetensors(folder.string(), [&](NamedTensor theirs) {
    for (NamedTensor& t : nn::from_hugging_face({std::move(theirs)}, config)) {
      const auto kept = dtypes.find(t.name);
      if (kept != dtypes.end() && is_floating(t.tensor.dtype())) t.tensor = t.tensor.to(kept->second);
      for (NamedTensor& fits : nn::int8_state({std::move(t)}, model)) state.push_back(std::move(fits));
    }
  });
  fill(model, state, folder);
  std::optional<int64_t> end = nn::end_of_text_of_hugging_face(text);
  if (!end && tokenizer) end = tokenizer->end_of_text();
  return {std::move(model), std::move(tokenizer), end};
}

TrainedGPT of_file(const fs::path& file, WeightType type, const ReachSettings& reach, const Given& given) {
  const SafeTensors loaded = train::load_checked(file);
  const auto text = [&](const char* key) -> const std::string& {
    const auto found = loaded.metadata.find(key);
    if (found != loaded.metadata.end()) return found->second;
    fail(kWhere, fmt::format("{}: its metadata has no \"{}\" (not written by tapegrad? a folder with config.json is "
                             "read, too)",
                             file.string(), key));
  };
  const std::string task = task_of_json(file.string(), text("config"));
  require(task == kGPTTask, "--model", fmt::format("{} was trained for the task {}, not for gpt", file.string(), task));
  const GPTOptions options = gpt_options_from_json(file.string(), text("config"));
  std::unique_ptr<data::Tokenizer> tokenizer = data::parse_tokenizer(text("tokenizer"), file.string());
  nn::GPTConfig config = options.model(tokenizer->size());
  override_with(config.position_options, reach, given);
  if (nn::is_int8(loaded.tensors)) {
    require(type != WeightType::bfloat16, "--dtype", fmt::format("{} has int8 weights, not bfloat16", file.string()));
    type = WeightType::int8;
  }
  nn::GPTModel model = unfilled(config, type, file);
  fill(model, nn::int8_state(nn::without_masks(loaded.tensors), model), file);
  const std::optional<int64_t> end = tokenizer->end_of_text();
  return {std::move(model), std::move(tokenizer), end};
}

}  // namespace

void save_gpt(const fs::path& path, const nn::GPTModel& model, const GPTOptions& options,
              const data::Tokenizer& tokenizer, int64_t steps, bool with_masks) {
  NamedTensors state = nn::state_dict(model);
  if (with_masks) state = nn::with_masks(std::move(state), model.config);
  train::save_checked(path, state,
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
    const auto written_by = file.metadata().find(kRun);
    return written_by != file.metadata().end() && written_by->second == run ? "" : found;
  } catch (const Error&) {  // not even a model
    return found;
  }
}

void save_gpt_folder(const fs::path& folder, const nn::GPTModel& model, const data::Tokenizer& tokenizer,
                     std::string_view run) {
  train::create_folder(folder);
  // The model is the first file: where it is this run's, the others are, too.
  save_safetensors((folder / train::kModelFile).string(), nn::to_hugging_face(model),
                   {{"format", "pt"}, {kRun, std::string(run)}});
  train::replace_file(folder / "config.json", nn::to_hugging_face_config(model.config, tokenizer.end_of_text()));
  data::save_tokenizer(tokenizer, folder.string());
  // Without its own class, a model_type of gpt2 would be read with GPT-2's word splitting.
  nlohmann::ordered_json settings{{"tokenizer_class", "PreTrainedTokenizerFast"},
                                  {"model_max_length", model.config.context_length}};
  if (tokenizer.end_of_text()) settings["eos_token"] = settings["bos_token"] = "<|endoftext|>";
  train::replace_file(folder / "tokenizer_config.json", settings.dump(2) + "\n");
}

TrainedGPT load_gpt(const std::string& model, WeightType type, bool with_tokenizer, const ReachSettings& reach,
                    const Given& given) {
  const fs::path path = model.empty() ? last_run(kGPTTask) : fs::path(model);
  const auto has = [](const fs::path& file) { return as_bad_request("--model", [&] { return is_there(file); }); };
  if (!has(path)) {
    bad_request("--model", fmt::format("there is no {}{}", path.string(),
                                       model.empty() ? " (train first: tapegrad train gpt; or name a --model)" : ""));
  }
  if (kind_of_file(path) != FileKind::folder) return of_file(path, type, reach, given);
  if (has(path / "config.json")) return of_folder(path, type, with_tokenizer, reach, given);
  if (has(path / train::kModelFile)) return of_file(path / train::kModelFile, type, reach, given);
  bad_request("--model", fmt::format("{} has neither config.json nor model.safetensors", path.string()));
}

}  // namespace tapegrad::tasks
