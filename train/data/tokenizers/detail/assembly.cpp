#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/io/internal/known_keys.h>
#include <tapegrad/train/data/tokenizers/detail/assembly.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

namespace tapegrad::data::detail {
namespace {

// ---- the keys of tokenizer_config.json; those that end with "_token" are tokens ----

constexpr std::string_view kReadOfSettings =
    "add_bos_token add_eos_token add_prefix_space added_tokens_decoder additional_special_tokens chat_template "
    "extra_special_tokens model_specific_special_tokens tokenizer_class";
// Of files and software, of decoding, and of calls that pad and cut texts.
constexpr std::string_view kHarmlessOfSettings =
    "auto_map backend cache_dir clean_up_tokenization_spaces device_map errors from_slow init_inputs is_local legacy "
    "local_files_only low_cpu_mem_usage max_len max_length merges_file model_input_names model_max_length name_or_path "
    "pad_to_multiple_of pad_token_type_id padding padding_side processor_class return_tensors return_token_type_ids "
    "revision sp_model_kwargs spaces_between_special_tokens special_tokens_map_file stride tokenizer_file torch_dtype "
    "trim_offsets truncation truncation_side truncation_strategy trust_remote_code use_default_system_prompt use_fast "
    "vocab_file";
constexpr std::string_view kAtDefaultsOfSettings =
    "do_lower_case=false fix_mistral_regex=false split_special_tokens=false";
constexpr std::string_view kReadOfToken = "content normalized", kHarmlessOfToken = "__type id special";
constexpr std::string_view kAtDefaultsOfToken = "lstrip=false rstrip=false single_word=false";
constexpr std::string_view kReadOfMap = "additional_special_tokens extra_special_tokens";

bool names_a_token(std::string_view key, const Json& value) {
  return key.ends_with("_token") && (value.is_string() || value.is_object());
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& folder) : folder_(folder) {}

  FolderTokens read(bool alone) {
    if (const Json settings = object("tokenizer_config.json"); !settings.is_null()) {
      check_keys(settings, {kReadOfSettings, kHarmlessOfSettings, kAtDefaultsOfSettings});
      found_.file = file_.file;
      add_with_ids(settings.value("added_tokens_decoder", Json()));
      add_named(settings);
      if (const Json space = settings.value("add_prefix_space", Json()); space.is_boolean())
        found_.prefix_space = space.get<bool>();
      if (alone) require_plain_gpt2(settings);
    }
    if (const Json map = object("special_tokens_map.json"); !map.is_null()) {
      check_keys(map, {kReadOfMap});
      add_named(map);
    }
    if (const Json added = object("added_tokens.json"); !added.is_null())
      for (const auto& [token, id] : added.items()) add(Json(token), id);
    return std::move(found_);
  }

 private:
  // The content of a file, which is then the one that errors are about; null if there is none.
  Json object(const char* name) {
    const std::filesystem::path path = folder_ / name;
    file_ = {path.string()};
    if (!is_there(path)) return {};
    Json json = json::parse(read_file(path, json::kMaxBytes), [&](const std::string& why) { file_.fail(why); });
    if (!json.is_object()) fail(file_, "expected an object, got {}", json.type_name());
    return json;
  }

  void check_keys(const Json& json, const json::KnownKeys& known) const {
    Json others = Json::object();
    for (const auto& [key, value] : json.items())
      if (!names_a_token(key, value)) others[key] = value;
    if (const std::string why = json::unknown_key(others, {known}); !why.empty()) file_.fail(why);
  }

  // The vocabulary's files say nothing about these: they are for GPT-2's tokenizer as it is.
  void require_plain_gpt2(const Json& settings) const {
    for (const char* key : {"add_bos_token", "add_eos_token", "add_prefix_space"}) {
      if (settings.value(key, Json()) == true)
        fail(file_, "expected {} false with vocab.json and merges.txt, got true", key);
    }
    const Json type = settings.value("tokenizer_class", Json());
    if (!type.is_null() && type != "GPT2Tokenizer" && type != "GPT2TokenizerFast") {
      fail(
          file_,
          "expected the tokenizer_class GPT2Tokenizer with vocab.json and merges.txt, got {} (save its tokenizer.json)",
          json::shown(type));
    }
  }

  void add_with_ids(const Json& decoder) {
    if (decoder.is_null()) return;
    if (!decoder.is_object())
      fail(file_, "expected added_tokens_decoder to be an object, got {}", json::shown(decoder));
    for (const auto& [text, token] : decoder.items()) {
      int64_t id = -1;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
      const bool whole = error == std::errc() && end == text.data() + text.size();
      add(token, whole ? Json(static_cast<uint64_t>(id)) : Json(text));
    }
  }

  void add_named(const Json& json) {
    for (const auto& [key, value] : json.items()) {
      if (names_a_token(key, value)) add(value, {});
    }
    for (const char* key : {"additional_special_tokens", "extra_special_tokens", "model_specific_special_tokens"}) {
      const Json list = json.value(key, Json::array());
      if (list.is_null()) continue;
      if (!list.is_structured()) fail(file_, "expected {} to be a list of tokens, got {}", key, json::shown(list));
      for (const Json& token : list) add(token, {});
    }
  }

  // A token is a text, or an object that has it as "content". An id of null is not known here.
  void add(const Json& token, const Json& id) {
    const Json content = token.is_object() ? token.value("content", Json()) : token;
    const bool known = id.is_null() || (id.is_number_unsigned() && id.get<uint64_t>() < kMostIds);
    if (!content.is_string() || content.string().empty() || !known) {
      fail(file_, "expected tokens with a text and an id, got {}{}", json::shown(token),
           known ? "" : fmt::format(" with the id {}", json::shown(id)));
    }
    bool normalized = false;
    if (token.is_object()) {
      const std::string why = json::unknown_key(token, {{kReadOfToken, kHarmlessOfToken, kAtDefaultsOfToken}});
      if (!why.empty()) fail(file_, "the added token {}: {}", json::shown(content), why);
      normalized = token.value("normalized", Json()) == true;
    }
    const auto text = content.get<std::string>();
    const auto known_id = id.is_null() ? std::optional<int64_t>() : id.get<int64_t>();
    const auto [place, is_new] = places_.emplace(text, found_.tokens.size());
    if (is_new) {
      found_.tokens.push_back({text, known_id, file_.file, normalized});
    } else if (FolderToken& same = found_.tokens[place->second]; known_id) {
      if (same.id && same.id != known_id) {
        fail(file_, "the token {} has the id {}, but {} in {}", json::shown(content), *known_id, *same.id, same.file);
      }
      same = {text, known_id, file_.file, normalized};
    }
  }

  std::filesystem::path folder_;
  FileName file_;
  FolderTokens found_;
  std::unordered_map<std::string, std::size_t> places_;
};

}  // namespace

std::string shown(const Json& value) {
  return value.is_structured() ? fmt::format("an {}", value.type_name()) : value.dump(-1, true).substr(0, 80);
}

Json parse_json(const FileName& place, std::string_view text) {
  if (text.empty()) place.fail("the file is empty (was its download interrupted?)");
  return json::parse(text, [&](const std::string& why) { place.fail(why); });
}

Vocabulary parse_vocabulary(const FileName& place, const Json& json) {
  if (!json.is_object() || json.empty()) place.fail("expected a vocabulary object of tokens and ids");
  Vocabulary vocabulary;
  std::unordered_map<int64_t, const std::string*> taken;
  vocabulary.reserve(json.size());
  for (const auto& [token, value] : json.items()) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() >= kMostIds) {
      fail(place, "the token \"{}\" has the id {}, expected an integer from 0 to {}", token, shown(value),
           kMostIds - 1);
    }
    const auto id = value.get<int64_t>();
    const auto entry = vocabulary.emplace(token, id).first;
    const auto [other, free] = taken.emplace(id, &entry->first);
    if (!free) fail(place, "the tokens \"{}\" and \"{}\" have the same id {}", *other->second, token, id);
    if (token.empty()) fail(place, "the token of id {} is empty", id);
  }
  return vocabulary;
}

std::string no_id(const detail::FolderToken& token) {
  return fmt::format(
      "expected tokens of the vocabulary, got \"{}\", which has no id (added_tokens.json lists the ids of "
      "other tokens)",
      token.content);
}

Assembly::Assembly(Vocabulary vocabulary, bool in_symbols) : vocabulary_(std::move(vocabulary)) {
  int64_t largest = -1;
  for (const auto& [token, id] : vocabulary_) largest = std::max(largest, id);
  made_.assign(static_cast<std::size_t>(largest + 1), false);
  pairs_.tokens.resize(made_.size());
  for (const auto& [token, id] : vocabulary_) {
    const std::optional<std::string> bytes = in_symbols ? symbol_bytes(token) : token;
    text(id) = bytes.value_or(token);
    if (bytes && bytes->size() == 1) made_[static_cast<std::size_t>(id)] = true;
  }
}

void Assembly::add_merge(const FileName& place, std::string_view at, const std::string& left,
                         const std::string& right) {
  const auto id_of = [&](const std::string& token, std::string_view what) {
    const auto found = vocabulary_.find(token);
    if (found == vocabulary_.end()) {
      fail(place, "{} merges \"{}\" and \"{}\": {} \"{}\" is not in the vocabulary", at, left, right, what, token);
    }
    return found->second;
  };
  const int64_t becomes = id_of(left + right, "the merged token");
  made_[static_cast<std::size_t>(becomes)] = true;
  pairs_.merges.push_back({id_of(left, "the token"), id_of(right, "the token"), becomes});
}

void Assembly::add_special(const FileName& place, const std::string& content, int64_t id, bool normalized) {
  const auto known = vocabulary_.find(content);
  if (known != vocabulary_.end() && known->second != id) {
    fail(place, "the added token \"{}\" has the id {}, but {} in the vocabulary", content, id, known->second);
  }
  if (static_cast<std::size_t>(id) >= pairs_.tokens.size()) {
    pairs_.tokens.resize(static_cast<std::size_t>(id) + 1);
    made_.resize(pairs_.tokens.size(), false);
  }
  if (known == vocabulary_.end() && !text(id).empty()) {
    fail(place, "the added token \"{}\" has the id {} of another token", content, id);
  }
  text(id) = content;
  made_[static_cast<std::size_t>(id)] = true;
  pairs_.specials.push_back(id);
  if (normalized) pairs_.normalized.push_back(id);
}

void Assembly::add_special(const detail::FolderToken& token) {
  const FileName place{token.file};
  const auto known = vocabulary_.find(token.content);
  if (!token.id && known == vocabulary_.end()) place.fail(no_id(token));
  add_special(place, token.content, token.id ? *token.id : known->second);
}

void Assembly::take_specials(const FileName& merges) {
  for (const auto& [token, id] : vocabulary_) {
    if (made_[static_cast<std::size_t>(id)]) continue;
    const bool marked = token.size() > 2 && ((token.front() == '<' && token.back() == '>') ||
                                             (token.front() == '[' && token.back() == ']'));
    if (!marked) {
      fail(merges,
           "none of the {} merges makes the token \"{}\" (id {}) of the vocabulary (was its download interrupted?)",
           pairs_.merges.size(), token, id);
    }
    add_special(merges, token, id);
  }
}

bool split_pair(std::string_view line, std::string& left, std::string& right) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos || space == 0 || space + 1 == line.size()) return false;
  if (line.find(' ', space + 1) != std::string_view::npos) return false;
  left = line.substr(0, space);
  right = line.substr(space + 1);
  return true;
}

// --- the files next to a vocabulary ---

FolderTokens folder_tokens(const std::filesystem::path& folder, bool alone) { return Reader(folder).read(alone); }

}  // namespace tapegrad::data::detail
