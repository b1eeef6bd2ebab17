// Writes trained GPTs and Llamas, and prepares training that starts from one.
#include <fmt/format.h>
#include <tapegrad/autograd/io/internal/checksum.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/nn/adapter.h>
#include <tapegrad/nn/gpt_hugging_face.h>
#include <tapegrad/nn/llama_hugging_face.h>
#include <tapegrad/tasks/gpt/model.h>
#include <tapegrad/tasks/settings/verb_options.h>
#include <tapegrad/train/data/tokenizer_files.h>
#include <tapegrad/train/data/utf8.h>
#include <tapegrad/train/files/internal/checked_file.h>

#include <algorithm>

namespace tapegrad::tasks {
namespace {

constexpr const char* kFolderFiles[] = {"model.safetensors", "model.safetensors.index.json", "config.json",
                                        "tokenizer.json", "tokenizer_config.json"};

// --- training that starts from a model ---

constexpr std::string_view kFrom = "--from", kTokenizer = "--tokenizer";
constexpr double kFineTuningRate = 5e-5;  // the default of Hugging Face's Trainer
constexpr double kLoraRate = 2e-4;        // Hu et al. 2021, table 11

// Settings of the model that weights do not depend on.
constexpr std::string_view kFree[] = {"drop-rate", "recompute"};
constexpr std::string_view kModelSizes[] = {"context-length", "emb-dim", "n-heads", "n-layers"};

bool of_model(const Setting& s) { return s.group == Group::model || s.group == Group::positions; }

// GPT-2 in Hugging Face's form has three dropout probabilities, this model has one.
void require_one_dropout(const FoundModel& found, const Given& given) {
  if (found.source != ModelSource::hugging_face || found.model_type != "gpt2" || contains(given, "drop-rate")) return;
  const Json json = json::parse(found.config, [&](const std::string& why) { fail(kFrom, why); });
  const auto rate = [&](const char* key) {
    const Json& at = json[key];
    return at.is_number() ? at.get<double>() : 0.1;
  };
  const double inner = rate("resid_pdrop"), attention = rate("attn_pdrop"), embedding = rate("embd_pdrop");
  require(inner == attention && inner == embedding, "--drop-rate",
          "expected a value, because {} has several: resid_pdrop {}, attn_pdrop {}, embd_pdrop {}", found.path.string(),
          inner, attention, embedding);
}

// The first token in which two vocabularies differ; -1: none.
int64_t first_difference(const data::Tokenizer& a, const data::Tokenizer& b) {
  const auto token = [](const data::Tokenizer& t, int64_t id) -> std::string {
    try {
      return std::string(t.bytes(id));
    } catch (const Error&) {  // a vocabulary may have gaps
      return {};
    }
  };
  for (int64_t id = 0; id < std::max(a.size(), b.size()); ++id) {
    if (id >= a.size() || id >= b.size() || token(a, id) != token(b, id)) return id;
  }
  return -1;
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
  Json settings{{"tokenizer_class", "PreTrainedTokenizerFast"},
                {"model_max_length", gpt ? gpt->config.context_length : llama->config.max_position_embeddings}};
  if (gpt && tokenizer.end_of_text()) settings["eos_token"] = settings["bos_token"] = "<|endoftext|>";
  train::replace_file({folder, "tokenizer_config.json"}, settings.dump(2) + "\n");
}

void save_gpt_adapter(const Destination& folder, const nn::AnyDecoder& model, const GPTOptions& options) {
  const nn::AdapterNames names = adapter_names(model);
  nn::save_adapter(model, folder, {.base_model = options.from, .names = names, .fan_in_fan_out = names != nullptr});
}

// --- training that starts from a model ---

TrainedGPT load_start(const GPTOptions& options, const Given& given) {
  require_one_dropout(find_model(kFrom, options.from), given);
  TrainedGPT start = load_gpt(options.from, {.adapter = options.adapter, .option = kFrom});
  const WeightFormat* quantized = nn::quantized_format(nn::state_dict(start.model));
  require(quantized == nullptr, kFrom, "{} has {} weights, which cannot be trained", options.from,
          quantized ? quantized->name : "");
  nn::merge_lora(start.model);
  nn::unfreeze(start.model);
  return start;
}

GPTOptions start_with(const TrainedGPT& start, GPTOptions asked, const Given& given) {
  GPTOptions model = start.options;
  Given changeable(std::begin(kFree), std::end(kFree));
  if (model.llama() == nullptr) {
    ReachSettings reach;
    for (const Field& field : fields_of(reach)) changeable.emplace_back(field.setting.name);
  }
  const Fields theirs = fields_of(model), ours = fields_of(asked);
  for (const std::string& name : given) {
    const Field* field = theirs.find(name);
    if (field == nullptr || !of_model(field->setting) || contains(changeable, name)) continue;
    if (name == "preset") {
      GPTOptions preset = gpt_options(asked.preset);
      const Fields sizes = fields_of(preset);
      for (const std::string_view size : kModelSizes) {
        const std::string expected = theirs.find(size)->text(), got = sizes.find(size)->text();
        require(expected == got, "--preset", "expected a model of the sizes of {}, got {} (--{} {}, not {})",
                asked.from, asked.preset, size, got, expected);
      }
      continue;
    }
    const std::string expected = field->text(), got = ours.find(name)->text();
    require(expected == got, fmt::format("--{}", name), "expected {}, as {} has, got {} (omit the option)", expected,
            asked.from, got);
  }
  if (!contains(given, "preset")) asked.preset = model.preset;
  GPTOptions options = with_preset(asked, given);
  options.config = model.config;
  Given names, changed;
  for (const Field& field : theirs) {
    const std::string name = field.setting.option().substr(2);
    if (!of_model(field.setting) || name == "preset") continue;
    (contains(changeable, name) && contains(given, name) ? changed : names).push_back(name);
  }
  override_with(fields_of(options), theirs, names);
  override_with(fields_of(options), ours, changed);
  if (options.llama() != nullptr && !contains(given, "lora-targets")) options.lora_targets = {"q_proj", "v_proj"};
  if (!contains(given, "lr")) options.lr = options.lora_rank > 0 ? kLoraRate : kFineTuningRate;
  return options;
}

std::unique_ptr<data::Tokenizer> take_tokenizer(TrainedGPT& start, const GPTOptions& options, const Given& given) {
  std::unique_ptr<data::Tokenizer> own = std::move(start.tokenizer);
  if (contains(given, "tokenizer")) {
    require(options.tokenizer != "char", kTokenizer, "expected the vocabulary of {}, got char (omit the option)",
            options.from);
    std::unique_ptr<data::Tokenizer> named =
        as_bad_request(kTokenizer, [&] { return data::load_tokenizer(options.tokenizer); });
    const int64_t other = own ? first_difference(*named, *own) : -1;
    require(other < 0, kTokenizer,
            "the vocabulary of {} differs from the vocabulary of {} (the first different token is {})",
            options.tokenizer, options.from, other);
    own = std::move(named);
  }
  require(own != nullptr, kTokenizer, "expected a folder, because {} has no tokenizer", options.from);
  // Vocabularies of models are padded to round numbers, but not much.
  const int64_t tokens = own->size(), size = start.model->vocab_size();
  require(tokens <= size && tokens > size - size / 8, contains(given, "tokenizer") ? kTokenizer : kFrom,
          "expected a tokenizer for the model's vocabulary of {}, got one with {} tokens", size, tokens);
  return own;
}

void freeze_parameters(const std::vector<nn::NamedParameter>& parameters, const std::vector<std::string>& patterns) {
  if (patterns.empty()) return;
  for (const std::string& pattern : patterns) {
    bool fits = false;
    for (const nn::NamedParameter& p : parameters) {
      if (!nn::matches(pattern, p.name)) continue;
      p.parameter.freeze();
      fits = true;
    }
    require(fits, "--freeze", "no parameter matches \"{}\"; the names are {}, ..., {}", data::valid_utf8(pattern),
            parameters.front().name, parameters.back().name);
  }
  const bool left = std::ranges::any_of(parameters, [](const nn::NamedParameter& p) { return !p.parameter.frozen(); });
  require(left, "--freeze", "expected at least one parameter that is not frozen, got none");
}

}  // namespace tapegrad::tasks
