// Reads the configuration of a model or an adapter from JSON. Errors name the file and the key.
#pragma once

#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/autograd/io/internal/known_keys.h>
#include <tapegrad/nn/fields.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tapegrad::nn {

// Of factors, which are above 0 in every model.
inline constexpr Limits kFactor{.least = 0, .most = 1e6, .open_below = true};

// The members of one object. A member that is null counts as missing.
struct ConfigReader {
  const Json& json;
  std::string_view where;      // of errors: the file, or what reads it
  std::string_view file = {};  // where `where` does not name it

  bool has(const char* key) const { return !json[key].is_null(); }
  // A whole number from 1 to 100,000,000.
  int64_t size(const char* key, std::optional<int64_t> otherwise = {}) const {
    constexpr uint64_t kMost = 100'000'000;  // of anything in a configuration
    if (!has(key) && otherwise) return *otherwise;
    const Json& value = json[key];
    if (!value.is_number_unsigned() || value == 0 || value.get<uint64_t>() > kMost)
      refuse(key, fmt::format("a whole number from 1 to {}", kMost), value);
    return value.get<int64_t>();
  }
  double number(const char* key, const Limits& limits, std::optional<double> otherwise = {}) const {
    if (!has(key) && otherwise) return *otherwise;
    const Json& value = json[key];
    if (!value.is_number() || !limits.accept(value.get<double>()))
      refuse(key, fmt::format("a number {}", limits.wording()), value);
    return value.get<double>();
  }
  bool flag(const char* key, bool otherwise = false) const {
    if (!has(key)) return otherwise;
    if (!json[key].is_boolean()) refuse(key, "true or false", json[key]);
    return json[key].get<bool>();
  }
  // A string; of any other value the JSON, which no reader accepts.
  std::string text(const char* key, const char* otherwise) const {
    if (!has(key)) return otherwise;
    return json[key].is_string() ? json[key].get<std::string>() : tapegrad::json::shown(json[key]);
  }
  // A member that is an object; an empty one if it is missing.
  Json object(const char* key) const {
    if (!has(key)) return Json::object();
    if (!json[key].is_object()) refuse(key, "an object", json[key]);
    return json[key];
  }

  // Error for a member that is in none of the lists.
  void require_known(std::initializer_list<tapegrad::json::KnownKeys> lists, bool off = false) const {
    const std::string why = tapegrad::json::unknown_key(json, lists, off);
    if (!why.empty()) fail(where, "{}{}{}", file, file.empty() ? "" : ": ", why);
  }
  [[noreturn]] void refuse(std::string_view key, std::string_view needed, const Json& value) const {
    fail(where, "{}{}expected {} to be {}, got {}", file, file.empty() ? "" : ": ", key, needed,
         tapegrad::json::shown(value));
  }
};

// The JSON object in the text of a file.
inline Json parsed_config(std::string_view text, std::string_view where) {
  Json json = json::parse(text, [&](const std::string& why) { fail(where, why); });
  if (!json.is_object()) fail(where, "expected an object, got {}", json.type_name());
  return json;
}

// Calls check(), whose errors are then about the file.
void check_config(const auto& check, std::string_view where) {
  try {
    check();
  } catch (const Error& e) {
    const std::string_view text = e.what();  // "[config] message"
    fail(where, text.substr(text.find("] ") + 2));
  }
}

// The keys that transformers writes into the config.json of every model, none of which changes what a model computes:
// notes about files, and settings of training, of other tasks and of generation, which options decide here.
inline constexpr std::string_view kReadOfAnyModel = "model_type vocab_size tie_word_embeddings eos_token_id";
inline constexpr std::string_view kHarmlessOfAnyModel =
    // files and software
    "architectures auto_map attn_implementation dtype name_or_path tokenizer_class torch_dtype torchscript "
    "transformers.js_config transformers_version unsloth_fixed unsloth_version use_bfloat16 "
    // what a call returns, and how it is computed
    "output_attentions output_hidden_states output_scores return_dict return_dict_in_generate use_cache "
    "chunk_size_feed_forward gradient_checkpointing is_decoder tf_legacy_loss "
    // classifiers and other tasks
    "finetuning_task id2label label2id num_labels problem_type task_specific_params "
    // tokens
    "bos_token_id decoder_start_token_id pad_token_id sep_token_id max_sequence_length "
    // training
    "initializer_range "
    // generation
    "bad_words_ids begin_suppress_tokens diversity_penalty do_sample early_stopping encoder_no_repeat_ngram_size "
    "length_penalty max_length max_new_tokens min_length no_repeat_ngram_size num_beam_groups num_beams "
    "num_return_sequences remove_invalid_values repetition_penalty suppress_tokens temperature top_k top_p typical_p";
inline constexpr std::string_view kAtDefaultsOfAnyModel =
    "add_cross_attention=false is_encoder_decoder=false pruned_heads={} tie_encoder_decoder=false";
inline constexpr json::KnownKeys kKeysOfAnyModel{kReadOfAnyModel, kHarmlessOfAnyModel, kAtDefaultsOfAnyModel};

}  // namespace tapegrad::nn
