// Finds out what a path has, and reads the model that it has, and prompts.
#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/internal/foreign.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/autograd/io/internal/known_keys.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/nn/adapter.h>
#include <tapegrad/nn/gpt_hugging_face.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/llama_hugging_face.h>
#include <tapegrad/tasks/gpt/loading.h>
#include <tapegrad/tasks/settings/verb_options.h>
#include <tapegrad/train/data/tokenizer_files.h>
#include <tapegrad/train/data/utf8.h>
#include <tapegrad/train/files/internal/checked_file.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <sstream>

namespace tapegrad::tasks {
namespace {

constexpr std::string_view kLoading = "model";

// Of generation_config.json: how tokens are sampled, which options decide here, and how they are computed.
constexpr const char* kGenerationFile = "generation_config.json";
constexpr std::string_view kGenerationRead = "eos_token_id";
constexpr std::string_view kGenerationHarmless =
    "assistant_confidence_threshold assistant_early_exit assistant_lookbehind bos_token_id cache_config "
    "cache_implementation compile_config decoder_start_token_id disable_compile do_sample early_stopping is_assistant "
    "length_penalty low_memory max_length max_matching_ngram_size max_new_tokens num_assistant_tokens "
    "num_assistant_tokens_schedule num_beams num_return_sequences output_attentions output_hidden_states output_logits "
    "output_scores pad_token_id prefill_chunk_size prompt_lookup_num_tokens renormalize_logits return_dict_in_generate "
    "return_legacy_cache target_lookbehind temperature top_k top_p transformers_version use_cache use_model_defaults";
constexpr std::string_view kGenerationAtDefaults =
    "bad_words_ids=[] begin_suppress_tokens=[] diversity_penalty=0 encoder_no_repeat_ngram_size=0 "
    "encoder_repetition_penalty=1 epsilon_cutoff=0 eta_cutoff=0 guidance_scale=1 min_length=0 min_new_tokens=0 min_p=0 "
    "no_repeat_ngram_size=0 num_beam_groups=1 penalty_alpha=0 remove_invalid_values=false repetition_penalty=1 "
    "stop_strings=[] suppress_tokens=[] token_healing=false typical_p=1";

// A model whose parameters will be loaded, in eval mode, with the updates of the run that it belongs to. BadRequest
// about the memory that it takes.
template <class Model>
nn::AnyDecoder unfilled(const auto& config, std::string_view dtype, const fs::path& path,
                        const GPTOptions* run = nullptr) {
  require_memory(kLoading, fmt::format("{}: a model of its sizes", path.string()),
                 model_bytes(config) * weight_format(dtype).bytes_per_element() / sizeof(float));
  const nn::init::Skip skip;
  nn::AnyDecoder model{Model(config)};
  if (run != nullptr && !run->lora_merge) add_lora(model, *run);
  nn::store(model, dtype);
  nn::eval(model);
  return model;
}

// BadRequest about an option of `reach` that is given for the Llama at `path`.
void require_no_reach(const LoadOptions& o, const fs::path& path) {
  require(o.given.empty(), fmt::format("--{}", o.given.empty() ? "" : o.given[0]),
          "expected a GPT, got the Llama in {}", path.string());
}

// The tokenizer in a folder; none where there is none or it is not wanted. Error if the vocabulary is too small for it.
std::unique_ptr<data::Tokenizer> tokenizer_of_folder(const fs::path& folder, int64_t vocab_size, bool wanted) {
  if (!wanted || !data::has_tokenizer(folder.string())) return nullptr;
  std::unique_ptr<data::Tokenizer> tokenizer = data::load_tokenizer(folder.string());
  if (tokenizer->size() > vocab_size) {
    fail(kLoading, "{}: its tokenizer has {} tokens, the model's vocabulary {}", folder.string(), tokenizer->size(),
         vocab_size);
  }
  return tokenizer;
}

// Error if the config.json or generation_config.json of a folder asks for a way of generating that no option has, such
// as a penalty.
void require_known_generation(const FoundModel& found) {
  const auto check = [](std::string_view text, const std::string& where, bool all) {
    const Json json = json::parse(text, [&](const std::string& why) { fail(where, why); });
    if (!json.is_object()) fail(where, "expected an object, got {}", json.type_name());
    Json settings = Json::object();
    for (const auto& [key, value] : json.items())
      if (all || json::has_key(kGenerationAtDefaults, key)) settings[key] = value;
    const std::string why =
        json::unknown_key(settings, {{kGenerationRead, kGenerationHarmless, kGenerationAtDefaults}});
    if (!why.empty()) fail(where, why);
  };
  check(found.config, (found.path / "config.json").string(), false);
  const fs::path file = found.path / kGenerationFile;
  if (is_there(file)) check(train::read_file(file, json::kMaxBytes), file.string(), true);
}

// The tokens that end a text: those of generation_config.json, else of config.json, whose text is `config`, else of the
// tokenizer, if there is one.
std::vector<int64_t> ends_of_folder(const fs::path& folder, const std::string& config,
                                    const data::Tokenizer* tokenizer) {
  const fs::path generation = folder / kGenerationFile;
  std::vector<int64_t> ends;
  if (is_there(generation)) {
    ends = nn::ends_of_hugging_face(train::read_file(generation, json::kMaxBytes), generation.string());
  }
  if (ends.empty()) ends = nn::ends_of_hugging_face(config, (folder / "config.json").string());
  if (ends.empty() && tokenizer != nullptr && tokenizer->end_of_text()) ends.push_back(*tokenizer->end_of_text());
  return ends;
}

void fill_from_state(nn::AnyDecoder& model, const NamedTensors& state, const fs::path& path) {
  try {
    nn::load_state_dict(model, state);
  } catch (const Error& e) {
    constexpr std::size_t kMostShown = 400;  // a model that does not fit names all of its parameters
    std::string what = e.what();
    if (what.size() > kMostShown) what = what.substr(0, what.rfind(';', kMostShown)) + "; and more";
    fail(kLoading, "{}: {}", path.string(), what);
  }
}

// Reads the weights of a folder into a model: ours(entry) converts one entry to the model's names. Error that begins
// with the folder for weights that do not fit.
void fill_from_folder(nn::AnyDecoder& model, const fs::path& folder, const auto& ours) {
  std::map<std::string, DType> dtypes;  // of parameters
  for (const NamedTensor& p : nn::state_dict(model)) dtypes[p.name] = p.tensor.dtype();
  NamedTensors state;
  read_safetensors(folder.string(), [&](NamedTensor theirs) {
    for (NamedTensor& t : ours(std::move(theirs))) {
      const auto kept = dtypes.find(t.name);
      if (kept != dtypes.end() && is_floating(t.tensor.dtype())) t.tensor = t.tensor.to(kept->second);
      for (NamedTensor& fits : nn::stored_state({std::move(t)}, model)) state.push_back(std::move(fits));
    }
  });
  fill_from_state(model, state, folder);
}

// What follows once the configuration of a folder's model is known.
template <class Model>
TrainedGPT of_folder(const FoundModel& found, const LoadOptions& o, const auto& config, GPTOptions options) {
  const fs::path& folder = found.path;
  std::unique_ptr<data::Tokenizer> tokenizer = tokenizer_of_folder(folder, config.vocab_size, o.with_tokenizer);
  nn::AnyDecoder model = unfilled<Model>(config, o.dtype, folder);
  fill_from_folder(model, folder,
                   [&](NamedTensor theirs) { return nn::from_hugging_face({std::move(theirs)}, config); });
  std::vector<int64_t> ends = ends_of_folder(folder, found.config, tokenizer.get());
  return {std::move(model), std::move(tokenizer), std::move(ends), std::move(options), folder};
}

TrainedGPT of_folder(const FoundModel& found, const LoadOptions& o) {
  if (o.generates) require_known_generation(found);
  const std::string where = (found.path / "config.json").string();
  GPTOptions options;
  options.preset = "gpt2";
  if (found.model_type == "llama") {
    require_no_reach(o, found.path);
    const nn::LlamaConfig config = nn::llama_config_of_hugging_face(found.config, where);
    require_layers(where, "num_hidden_layers", config.num_hidden_layers, count_safetensors(found.path.string()));
    TrainedGPT trained = of_folder<nn::LlamaModel>(found, o, config, std::move(options));
    const data::Tokenizer* const tokenizer = trained.tokenizer.get();
    trained.options.set_llama(
        {config, tokenizer ? tokenizer->begin_of_text() : std::optional<int64_t>(), trained.ends});
    return trained;
  }
  nn::GPTConfig config = nn::gpt_config_of_hugging_face(found.config, where);
  options.config = config;
  override_with(config.position_options, o.reach, o.given);
  require_layers(where, "n_layer", config.n_layers, count_safetensors(found.path.string()));
  return of_folder<nn::GPTModel>(found, o, config, std::move(options));
}

TrainedGPT of_file(const fs::path& file, const LoadOptions& o) {
  std::string dtype = o.dtype;
  const SafeTensors loaded = train::load_checked(file);
  const auto text = [&](const char* key) -> const std::string& {
    const auto found = loaded.metadata.find(key);
    if (found != loaded.metadata.end()) return found->second;
    fail("model", "{}: its metadata has no \"{}\" (not written by tapegrad? a folder with config.json is read, too)",
         file.string(), key);
  };
  const std::string task = task_of_json(file.string(), text("config"));
  require(task == kGPTTask, o.option, "{} was trained for the task {}, not for gpt", file.string(), task);
  GPTOptions options = gpt_options_from_json(file.string(), text("config"));
  std::unique_ptr<data::Tokenizer> tokenizer = data::parse_tokenizer(text("tokenizer"), file.string());
  if (const WeightFormat* quantized = nn::quantized_format(loaded.tensors)) {
    require(dtype == LoadOptions().dtype || dtype == quantized->name, "--dtype", "{} has {} weights, not {}",
            file.string(), quantized->name, dtype);
    dtype = quantized->name;
  }
  std::vector<int64_t> ends;
  if (const auto end = tokenizer->end_of_text()) ends.push_back(*end);
  nn::AnyDecoder model = [&] {
    if (const LlamaSettings* llama = options.llama()) {
      require_no_reach(o, file);
      ends = llama->ends;
      require_layers(file.string(), "num_hidden_layers", llama->config.num_hidden_layers, loaded.tensors.size());
      return unfilled<nn::LlamaModel>(llama->config, dtype, file, &options);
    }
    nn::GPTConfig config = options.model(tokenizer->size());
    override_with(config.position_options, o.reach, o.given);
    options.gpt().vocab_size = config.vocab_size;
    require_layers(file.string(), "n_layers", config.n_layers, loaded.tensors.size());
    return unfilled<nn::GPTModel>(config, dtype, file, &options);
  }();
  fill_from_state(model, nn::stored_state(nn::without_masks(loaded.tensors), model), file);
  return {std::move(model), std::move(tokenizer), std::move(ends), options};
}

// --- prompts ---

// "15496,11" -> 15496, 11. Spaces also separate ids.
std::vector<int64_t> parse_ids(const std::string& text, int64_t vocab_size) {
  std::vector<int64_t> ids;
  const char *at = text.data(), *const end = at + text.size();
  while (true) {
    while (at < end && (*at == ' ' || *at == ',')) ++at;
    if (at == end) return ids;
    int64_t id = 0;
    const auto [stop, error] = std::from_chars(at, end, id);
    const bool whole = error == std::errc() && (stop == end || *stop == ' ' || *stop == ',');
    if (!whole) bad_request("--prompt-ids", "expected token ids such as 15496,11, got \"{}\"", data::valid_utf8(text));
    if (id < 0 || id >= vocab_size)
      bad_request("--prompt-ids", "expected token ids from 0 to {}, got {}", vocab_size - 1, id);
    ids.push_back(id);
    at = stop;
  }
}

std::vector<int64_t> encoded(const std::string& text, const TrainedGPT& trained) {
  if (!trained.tokenizer) bad_request("--prompt", "the model's folder has no tokenizer (use --prompt-ids and --ids)");
  std::vector<int64_t> ids = trained.tokenizer->encode(text);
  if (const auto begin = trained.tokenizer->begin_of_text()) {
    ids.insert(ids.begin(), *begin);
  } else if (ids.empty() && trained.tokenizer->end_of_text()) {
    ids.push_back(*trained.tokenizer->end_of_text());
  }
  return ids;
}

void check_length(std::string_view asked, const std::vector<int64_t>& prompt, const nn::Decoder& model) {
  if (prompt.empty()) bad_request(asked, "expected at least one token, got none");
  if (static_cast<int64_t>(prompt.size()) > model.longest_input()) {
    bad_request(asked, "expected at most {} tokens, the model's context, got {}", model.longest_input(), prompt.size());
  }
}

}  // namespace

bool TrainedGPT::is_end(int64_t id) const { return std::ranges::find(ends, id) != ends.end(); }

std::string TrainedGPT::text(std::span<const int64_t> ids) const {
  std::vector<int64_t> known;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(known), [&](int64_t id) { return id < tokenizer->size(); });
  return tokenizer->decode(known);
}

FoundModel find_model(std::string_view option, const std::filesystem::path& path) {
  const auto has = [&](const fs::path& file) { return as_bad_request(option, [&] { return is_there(file); }); };
  require(has(path), option, "there is no {}", path.string());
  if (kind_of_file(path) != FileKind::folder) return {ModelSource::run, path};
  if (has(path / "config.json")) {
    FoundModel found{ModelSource::hugging_face, path, train::read_file(path / "config.json", json::kMaxBytes)};
    const std::string where = (path / "config.json").string();
    const Json json = json::parse(found.config, [&](const std::string& why) { fail(where, why); });
    const Json& type = json["model_type"];
    found.model_type = type.is_string() ? type.get<std::string>() : "gpt2";
    if (found.model_type != "gpt2" && found.model_type != "llama")
      fail(where, "expected the model_type gpt2 or llama, got \"{}\"", found.model_type);
    return found;
  }
  if (has(path / train::kModelFile)) return {ModelSource::run, path / train::kModelFile};
  require(!has(path / nn::kAdapterConfigFile), option,
          "{} has an adapter, not a model (name its model here, and the folder as --adapter)", path.string());
  bad_request(option, "{} has neither config.json nor {}", path.string(), train::kModelFile);
}

void add_lora(nn::AnyDecoder& model, const GPTOptions& o) {
  if (o.lora_rank == 0) return;
  as_bad_request("--lora-targets", [&] {
    nn::lora(model, {.rank = o.lora_rank, .alpha = o.lora_alpha, .targets = o.lora_targets, .dropout = o.lora_dropout},
             o.llama() == nullptr ? nn::gpt2_adapter_names : nn::AdapterNames());
  });
}

nn::AdapterNames adapter_names(const nn::AnyDecoder& model) {
  const auto* gpt = model.as<nn::GPTModel>();
  if (gpt == nullptr) return {};
  const nn::GPTConfig& c = gpt->config;
  const bool gpt2 = c.positions == nn::Positions::learned && c.attention.name() == "full" &&
                    (c.n_kv_heads == 0 || c.n_kv_heads == c.n_heads);
  return gpt2 ? nn::gpt2_adapter_names : nn::AdapterNames();
}

TrainedGPT load_gpt(const std::string& model, const LoadOptions& options) {
  const fs::path path = model.empty() ? last_run(kGPTTask) : fs::path(model);
  if (model.empty() && !as_bad_request(options.option, [&] { return is_there(path); })) {
    bad_request(options.option, "there is no {} (train first: tapegrad train gpt; or name a --model)", path.string());
  }
  const FoundModel found = find_model(options.option, path);
  TrainedGPT trained = found.source == ModelSource::run ? of_file(found.path, options) : of_folder(found, options);
  if (!options.adapter.empty()) {
    as_bad_request("--adapter",
                   [&] { nn::load_adapter(trained.model, options.adapter, adapter_names(trained.model)); });
    nn::eval(trained.model);
  }
  return trained;
}

// --- prompts ---

std::vector<std::vector<int64_t>> prompts_of_file(const std::string& file, const TrainedGPT& trained) {
  constexpr std::string_view kAsked = "--prompt-file";
  require_file(kAsked, file);
  require(trained.tokenizer != nullptr, kAsked, "the model's folder has no tokenizer (use --prompt-ids and --ids)");
  std::string all = train::read_file(file);
  as_bad_request(kAsked, [&] { require_plain_text(file, all); });
  if (constexpr std::string_view kMark = "\xEF\xBB\xBF"; all.starts_with(kMark)) all.erase(0, kMark.size());
  std::istringstream text(std::move(all));
  std::vector<std::vector<int64_t>> prompts;
  for (std::string line; std::getline(text, line);) {
    if (line.ends_with('\r')) line.pop_back();  // of Windows
    if (line.empty()) continue;
    prompts.push_back(encoded(line, trained));
    check_length(kAsked, prompts.back(), *trained.model);
  }
  require(!prompts.empty(), kAsked, "expected one prompt per line, got none in {}", file);
  return prompts;
}

std::vector<int64_t> prompt_ids_of(const std::string& text, const std::string& ids, const TrainedGPT& trained) {
  const std::vector<int64_t> prompt =
      ids.empty() ? encoded(text, trained) : parse_ids(ids, trained.model->vocab_size());
  check_length(ids.empty() ? "--prompt" : "--prompt-ids", prompt, *trained.model);
  return prompt;
}

}  // namespace tapegrad::tasks
