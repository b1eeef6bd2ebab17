// Finds out what a path has, and makes and fills the model that will hold it.
#include <fmt/format.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/autograd/io/internal/known_keys.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/nn/adapter.h>
#include <tapegrad/nn/gpt_hugging_face.h>
#include <tapegrad/nn/init.h>
#include <tapegrad/nn/llama_hugging_face.h>
#include <tapegrad/tasks/gpt/loading.h>
#include <tapegrad/train/data/tokenizer_files.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

namespace tapegrad::tasks {
namespace {

constexpr std::string_view kWhere = "model";

// Of generation_config.json: how tokens are sampled, which options decide here, and how they are computed.
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

template <class Model, class Config>
nn::AnyDecoder unfilled_model(const Config& config, std::string_view dtype, const fs::path& path,
                              const GPTOptions* run) {
  require_memory(kWhere, fmt::format("{}: a model of its sizes", path.string()),
                 model_bytes(config) * weight_format(dtype).bytes_per_element() / sizeof(float));
  const nn::init::Skip skip;
  nn::AnyDecoder model{Model(config)};
  if (run != nullptr && !run->lora_merge) add_lora(model, *run);
  nn::store(model, dtype);
  nn::eval(model);
  return model;
}

}  // namespace

bool TrainedGPT::is_end(int64_t id) const { return std::find(ends.begin(), ends.end(), id) != ends.end(); }

std::string TrainedGPT::text(std::span<const int64_t> ids) const {
  std::vector<int64_t> known;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(known), [&](int64_t id) { return id < tokenizer->size(); });
  return tokenizer->decode(known);
}

FoundModel find_model(std::string_view option, const std::filesystem::path& path) {
  const auto has = [&](const fs::path& file) { return as_bad_request(option, [&] { return is_there(file); }); };
  require(has(path), option, fmt::format("there is no {}", path.string()));
  if (kind_of_file(path) != FileKind::folder) return {ModelSource::run, path};
  if (has(path / "config.json")) {
    FoundModel found{ModelSource::hugging_face, path, train::read_file(path / "config.json", json::kMaxBytes)};
    const std::string where = (path / "config.json").string();
    const nlohmann::json json = json::parse(found.config, [&](const std::string& why) { fail(where, why); });
    const auto type = json.is_object() ? json.find("model_type") : json.end();
    found.model_type = json.is_object() && type != json.end() && type->is_string() ? type->get<std::string>() : "gpt2";
    if (found.model_type != "gpt2" && found.model_type != "llama")
      fail(where, fmt::format("expected the model_type gpt2 or llama, got \"{}\"", found.model_type));
    return found;
  }
  if (has(path / train::kModelFile)) return {ModelSource::run, path / train::kModelFile};
  require(
      !has(path / nn::kAdapterConfigFile), option,
      fmt::format("{} has an adapter, not a model (name its model here, and the folder as --adapter)", path.string()));
  bad_request(option, fmt::format("{} has neither config.json nor {}", path.string(), train::kModelFile));
}

void require_no_reach(const LoadOptions& o, const fs::path& path) {
  require(o.given.empty(), fmt::format("--{}", o.given.empty() ? "" : o.given[0]),
          fmt::format("expected a GPT, got the Llama in {}", path.string()));
}

void add_lora(nn::AnyDecoder& model, const GPTOptions& o) {
  if (o.lora_rank == 0) return;
  as_bad_request("--lora-targets", [&] {
    nn::lora(model, {.rank = o.lora_rank, .alpha = o.lora_alpha, .targets = o.lora_targets, .dropout = o.lora_dropout},
             o.llama() == nullptr ? nn::gpt2_adapter_names : nn::AdapterNames());
  });
}

nn::AnyDecoder unfilled(const nn::GPTConfig& config, std::string_view dtype, const fs::path& path,
                        const GPTOptions* run) {
  return unfilled_model<nn::GPTModel>(config, dtype, path, run);
}

nn::AnyDecoder unfilled(const nn::LlamaConfig& config, std::string_view dtype, const fs::path& path,
                        const GPTOptions* run) {
  return unfilled_model<nn::LlamaModel>(config, dtype, path, run);
}

std::unique_ptr<data::Tokenizer> tokenizer_of_folder(const fs::path& folder, int64_t vocab_size, bool wanted) {
  if (!wanted || !data::has_tokenizer(folder.string())) return nullptr;
  std::unique_ptr<data::Tokenizer> tokenizer = data::load_tokenizer(folder.string());
  if (tokenizer->size() > vocab_size) {
    fail(kWhere, fmt::format("{}: its tokenizer has {} tokens, the model's vocabulary {}", folder.string(),
                             tokenizer->size(), vocab_size));
  }
  return tokenizer;
}

std::vector<int64_t> ends_of_folder(const fs::path& folder, const std::string& config,
                                    const data::Tokenizer* tokenizer) {
  const fs::path generation = folder / "generation_config.json";
  std::vector<int64_t> ends;
  if (is_there(generation)) {
    const std::string text = train::read_file(generation, json::kMaxBytes), where = generation.string();
    const nlohmann::json json = json::parse(text, [&](const std::string& why) { fail(where, why); });
    if (!json.is_object()) fail(where, fmt::format("expected an object, got {}", json.type_name()));
    const std::string why = json::unknown_key(json, {{kGenerationRead, kGenerationHarmless, kGenerationAtDefaults}});
    if (!why.empty()) fail(where, why);
    ends = nn::ends_of_hugging_face(text, where);
  }
  if (ends.empty()) ends = nn::ends_of_hugging_face(config, (folder / "config.json").string());
  if (ends.empty() && tokenizer != nullptr && tokenizer->end_of_text()) ends.push_back(*tokenizer->end_of_text());
  return ends;
}

void fill_from_folder(nn::AnyDecoder& model, const fs::path& folder,
                      const std::function<NamedTensors(NamedTensor)>& ours) {
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

void fill_from_state(nn::AnyDecoder& model, const NamedTensors& state, const fs::path& path) {
  try {
    nn::load_state_dict(model, state);
  } catch (const Error& e) {
    constexpr std::size_t kMostShown = 400;  // a model that does not fit names all of its parameters
    std::string what = e.what();
    if (what.size() > kMostShown) what = what.substr(0, what.rfind(';', kMostShown)) + "; and more";
    fail(kWhere, fmt::format("{}: {}", path.string(), what));
  }
}

}  // namespace tapegrad::tasks
