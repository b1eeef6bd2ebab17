#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/files.h>
#include <tapegrad/autograd/io/internal/foreign.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/autograd/io/internal/known_keys.h>
#include <tapegrad/train/data/byte_pair.h>
#include <tapegrad/train/data/characters.h>
#include <tapegrad/train/data/detail/pieces.h>
#include <tapegrad/train/data/tokenizer_files.h>
#include <tapegrad/train/data/tokenizers/detail/assembly.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace tapegrad::data {

namespace fs = std::filesystem;

namespace {

using namespace detail;

std::unique_ptr<Tokenizer> read_two_files(const fs::path& vocabulary_path, const fs::path& merges_path) {
  const FileName vocabulary{vocabulary_path.string()}, merges{merges_path.string()};
  Assembly assembly(parse_vocabulary(vocabulary, parse_json(vocabulary, read_file(vocabulary_path, json::kMaxBytes))));
  const std::string text = read_file(merges_path);
  if (const std::string kind = foreign_kind(text.substr(0, 512)); !kind.empty())
    fail(merges, "expected merges of two tokens in each line, got {}", kind);
  std::size_t number = 0;
  std::string left, right;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    const std::string at = fmt::format("line {}", number);
    if (!split_pair(line, left, right))
      fail(merges, "{}: expected two tokens separated by a space, got \"{}\"", at, line);
    assembly.add_merge(merges, at, left, right);
  }
  for (const detail::FolderToken& token : detail::folder_tokens(merges_path.parent_path(), true).tokens)
    assembly.add_special(token);
  assembly.take_specials(merges);
  return assembly.finish();
}

// ---- tokenizer.json ----

bool is_set(const Json& object, const char* key) {  // present, and neither null, false, "" nor []
  const Json& found = object[key];
  if (found.is_boolean()) return found.get<bool>();
  if (found.is_string()) return !found.string().empty();
  if (found.is_null() || found.is_structured()) return !found.empty();
  return found != 0;
}

std::string kind_of(const Json& object, const char* key) {  // its "type"; empty where there is nothing
  if (!is_set(object, key)) return "";
  const Json &found = object[key], &type = found["type"];
  return type.is_string() ? type.get<std::string>() : shown(found);
}

// ---- the keys of its parts ----

constexpr json::KnownKeys kTopKeys{"added_tokens decoder model normalizer post_processor pre_tokenizer",
                                   "version truncation padding"};  // the last two: of single calls
constexpr json::KnownKeys kModelKeys{
    "byte_fallback continuing_subword_prefix dropout end_of_word_suffix ignore_merges merges type vocab",
    "fuse_unk unk_token"};  // every byte has a token
constexpr json::KnownKeys kAddedKeys{"content id lstrip normalized rstrip single_word", "special"};

// Of parts that may be a Sequence of several, which are a list of this name.
struct PartKeys {
  const char *part, *list;
  json::KnownKeys known;
};
constexpr PartKeys kPartKeys[] = {
    {"pre_tokenizer",
     "pretokenizers",
     {"add_prefix_space behavior invert pattern pretokenizers split replacement prepend_scheme type use_regex",
      "trim_offsets"}},
    {"normalizer", "normalizers", {"content normalizers pattern prepend type"}},
    {"post_processor",
     "processors",
     {"processors single special_tokens type", "add_prefix_space pair trim_offsets use_regex"}},  // of offsets
    {"decoder", "decoders", {"content decoders pattern start stop type", "add_prefix_space trim_offsets use_regex"}},
};

// Error for a key of a part, named `part`, that is not known.
void check_keys(const FileName& place, std::string_view part, const Json& object, const json::KnownKeys& known) {
  if (!object.is_object()) return;  // an error elsewhere
  if (const std::string why = json::unknown_key(object, {known}); !why.empty()) fail(place, "{}{}", part, why);
}

void check_all_keys(const FileName& place, const Json& json) {
  check_keys(place, "", json, kTopKeys);
  check_keys(place, "model: ", json["model"], kModelKeys);
  for (const auto& [name, list, known] : kPartKeys) {
    const Json &part = json[name], &parts = part[list];
    const std::string prefix = fmt::format("{}: ", name);
    check_keys(place, prefix, part, known);
    for (const Json& one : parts.is_array() ? parts : Json::array()) check_keys(place, prefix, one, known);
  }
}

// The token that a template post-processor puts before a text; an empty text for none, nothing for other templates.
std::optional<std::string> template_start(const Json& after) {
  const Json& single = after["single"];
  if (!single.is_array() || single.empty() || single.size() > 2) return {};
  if (!single.back().is_object() || !single.back().contains("Sequence")) return {};
  if (single.size() == 1) return is_set(after, "special_tokens") ? std::nullopt : std::optional<std::string>("");
  const Json& id = single.front()["SpecialToken"]["id"];
  return id.is_string() ? id.get<std::string>() : std::optional<std::string>();
}

// Error if the template means other tokens by a name than the added token of this id.
void check_template_token(const FileName& place, const Json& after, const std::string& name, int64_t id) {
  const Json& ids = after["special_tokens"][name]["ids"];
  if (!ids.is_null() && ids != Json::array({id}))
    fail(place, "expected the ids [{}] of \"{}\" in the post_processor, got {}", id, name, json::shown(ids));
}

// Finds the token that the post-processor puts before a text among the special ones; -1 for none.
int64_t begin_of(const FileName& place, const Json& json, const BytePairs& pairs) {
  const std::string kind = kind_of(json, "post_processor");
  if (kind.empty() || kind == "ByteLevel") return -1;
  const Json &whole = json["post_processor"], &list = whole["processors"];
  int64_t begin = -1;
  for (const Json& part : kind == "Sequence" && list.is_array() ? list : Json::array({whole})) {
    const Json& type = part["type"];
    if (type == "ByteLevel") continue;
    const auto start = type == "TemplateProcessing" ? template_start(part) : std::optional<std::string>();
    if (start && start->empty()) continue;
    const auto found = std::ranges::find_if(
        pairs.specials, [&](int64_t id) { return start && pairs.tokens[static_cast<std::size_t>(id)] == *start; });
    if (found == pairs.specials.end() || begin >= 0) {
      fail(place, "the post-processor {} is not supported", kind);
    }
    begin = *found;
    check_template_token(place, part, *start, begin);
  }
  return begin;
}

// ---- the pattern of the words ----

// A splitter by a known pattern, and then ByteLevel without its own: as in Llama-3.
WordPattern pattern_of(const FileName& place, const Json& splitter) {
  const Json& list = splitter["pretokenizers"];
  const bool two = list.is_array() && list.size() == 2;
  if (!two || list[0]["type"] != "Split" || list[1]["type"] != "ByteLevel")
    place.fail("expected a pre_tokenizer of Split and ByteLevel, got another Sequence");
  const Json &split = list[0], &level = list[1];
  if (is_set(level, "add_prefix_space")) place.fail("add_prefix_space of the pre_tokenizer is not supported");
  if (!level.contains("use_regex") || is_set(level, "use_regex")) {
    place.fail("use_regex true of the pre_tokenizer's second part is not supported");
  }
  if (is_set(split, "invert") || split["behavior"] != "Isolated")
    place.fail("expected a pre_tokenizer that isolates words, got another behavior");
  if (split["pattern"]["Regex"] != Json(kLlama3Pattern))
    place.fail("expected the pattern of Llama-3's words in the pre_tokenizer, got another one");
  return WordPattern::llama3;
}

// ---- pieces: Llama-2, TinyLlama ----

bool is_piece_space(const Json& object, const char* key) { return object[key] == Json(kPieceSpace); }

// The normalizer that puts U+2581 before the text and for its spaces.
bool prepends_spaces(const Json& normalizer) {
  const Json& parts = normalizer["normalizers"];
  if (!parts.is_array() || parts.size() != 2) return false;
  const Json &prepend = parts[0], &replace = parts[1];
  return prepend["type"] == "Prepend" && is_piece_space(prepend, "prepend") && replace["type"] == "Replace" &&
         is_piece_space(replace, "content") && replace["pattern"] == Json{{"String", " "}};
}

PieceSpace piece_space_of(const FileName& place, const Json& json) {
  const std::string normalizer = kind_of(json, "normalizer"), cut = kind_of(json, "pre_tokenizer");
  if (cut.empty() && normalizer == "Sequence" && prepends_spaces(json["normalizer"])) return PieceSpace::each;
  if (!normalizer.empty()) fail(place, "the normalizer {} is not supported", normalizer);
  if (cut != "Metaspace") {
    fail(place, "expected the pre_tokenizer Metaspace with byte_fallback, got {}", cut.empty() ? "missing" : cut);
  }
  const Json& spaces = json["pre_tokenizer"];
  if (!is_piece_space(spaces, "replacement") || !spaces.contains("split") || is_set(spaces, "split")) {
    place.fail("expected a pre_tokenizer that writes spaces as U+2581 and does not split, got another Metaspace");
  }
  const Json scheme = spaces.value("prepend_scheme", Json("always"));
  if (scheme == "never") return PieceSpace::never;
  if (scheme == "first") return PieceSpace::first;
  fail(place, "expected the prepend_scheme first or never of the pre_tokenizer, got {}", shown(scheme));
}

// Error unless the decoder is none or a Sequence of these parts: decoding does not depend on it.
void check_decoder(const FileName& place, const Json& json, const Json& parts, std::string_view names) {
  if (is_set(json, "decoder") && json["decoder"] != Json{{"type", "Sequence"}, {"decoders", parts}})
    fail(place, "expected the decoder {}, got {}", names, json::shown(json["decoder"]));
}

// Of pieces: a space that was put before the text is removed again.
void check_piece_decoder(const FileName& place, const Json& json, PieceSpace space) {
  Json parts{{{"type", "Replace"}, {"pattern", {{"String", kPieceSpace}}}, {"content", " "}},
             {{"type", "ByteFallback"}},
             {{"type", "Fuse"}}};
  const bool strips = space != PieceSpace::never;
  if (strips) parts.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  check_decoder(place, json, parts,
                strips ? "Replace, ByteFallback, Fuse and Strip (of one space)" : "Replace, ByteFallback and Fuse");
}

const Json& model_of(const FileName& place, const Json& json) {
  const Json& model = json["model"];
  if (!model.is_object()) place.fail("has no \"model\" (is this a tokenizer.json?)");
  if (is_set(model, "type") && model["type"] != "BPE")
    fail(place, "expected a BPE model (byte pairs), got {}", shown(model["type"]));
  for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"})
    if (is_set(model, key)) fail(place, "{} {} of the model is not supported", key, shown(model[key]));
  if (!model.contains("vocab")) place.fail("the model has no \"vocab\"");
  return model;
}

void add_merges(const FileName& place, const Json& model, Assembly& assembly) {
  const Json& merges = model["merges"];
  if (!merges.is_array()) place.fail("the model has no list of \"merges\"");
  std::size_t number = 0;
  std::string left, right;
  for (const Json& merge : merges) {
    const std::string at = fmt::format("merge {}", ++number);
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      left = merge[0].get<std::string>();
      right = merge[1].get<std::string>();
    } else if (!merge.is_string() || !split_pair(merge.string(), left, right)) {
      fail(place, "{}: expected two tokens, got {}", at, shown(merge));
    }
    assembly.add_merge(place, at, left, right);
  }
}

void add_specials(const FileName& place, const Json& json, Assembly& assembly) {
  if (!is_set(json, "added_tokens")) return;
  for (const Json& added : json["added_tokens"]) {
    const Json &content = added["content"], &id = added["id"];
    const bool known = id.is_number_unsigned() && id.get<uint64_t>() < kMostIds;
    if (!known || !content.is_string() || content.string().empty())
      fail(place, "expected added tokens with content and id, got {}", shown(added));
    check_keys(place, "added_tokens: ", added, kAddedKeys);
    for (const char* key : {"single_word", "lstrip", "rstrip"}) {
      if (is_set(added, key)) fail(place, "{} of the added token {} is not supported", key, shown(content));
    }
    assembly.add_special(place, content.get<std::string>(), id.get<int64_t>(), is_set(added, "normalized"));
  }
}

// Adds the tokens that other files of the folder name and the JSON lacks; true if there are any.
bool add_folder_tokens(const detail::FolderTokens& folder, Json& json) {
  if (!std::as_const(json)["model"].is_object()) return false;  // an error elsewhere
  Json& added = json["added_tokens"];
  if (added.is_null()) added = Json::array();
  const Json& vocabulary = std::as_const(json)["model"]["vocab"];
  std::unordered_map<std::string, Json> ids;
  for (const Json& token : added)
    if (const Json& content = token["content"]; content.is_string()) ids[content.get<std::string>()] = token["id"];
  bool changed = false;
  for (const detail::FolderToken& token : folder.tokens) {
    const FileName place{token.file};
    if (const auto known = ids.find(token.content); known != ids.end()) {
      if (token.id && known->second != *token.id) {
        fail(place, "the token \"{}\" has the id {}, but {} in tokenizer.json", token.content, *token.id,
             known->second.dump());
      }
      continue;
    }
    if (!token.id && !vocabulary.contains(token.content)) place.fail(no_id(token));
    added.push_back({{"id", token.id ? Json(static_cast<uint64_t>(*token.id)) : vocabulary[token.content]},
                     {"content", token.content},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", token.normalized},
                     {"special", true}});
    changed = true;
  }
  return changed;
}

// A tokenizer of single characters, as CharacterTokenizer::json writes it.
std::unique_ptr<Tokenizer> characters_of(const FileName& place, const Json& json) {
  if (begin_of(place, json, {}) >= 0)
    fail(place, "the post-processor {} is not supported", kind_of(json, "post_processor"));
  check_decoder(place, json, {{{"type", "ByteFallback"}}, {{"type", "Fuse"}}}, "ByteFallback and Fuse");
  check_all_keys(place, json);
  if (is_set(json, "added_tokens")) place.fail("added_tokens are not supported without merges");
  return std::make_unique<CharacterTokenizer>(parse_vocabulary(place, json["model"]["vocab"]), place.file);
}

std::unique_ptr<Tokenizer> tokenizer_of(const FileName& place, const Json& json, std::string_view text,
                                        const detail::FolderTokens& folder) {
  const Json& model = model_of(place, json);
  const std::string normalizer = kind_of(json, "normalizer"), cut = kind_of(json, "pre_tokenizer");
  const bool whole_words = is_set(model, "ignore_merges");
  const auto finish = [&](Assembly& assembly) -> BytePairs& {
    add_merges(place, model, assembly);
    add_specials(place, json, assembly);
    check_all_keys(place, json);
    BytePairs& pairs = assembly.pairs();
    if (const int64_t begin = begin_of(place, json, pairs); begin >= 0) pairs.begin = begin;
    return pairs;
  };
  if (is_set(model, "byte_fallback") && is_set(model, "merges") && cut != "ByteLevel") {
    const PieceSpace space = piece_space_of(place, json);
    if (folder.prefix_space == false && space != PieceSpace::never)
      FileName{folder.file}.fail("add_prefix_space false is not supported with the tokenizer.json");
    if (whole_words) place.fail("ignore_merges true of the model is not supported with byte_fallback");
    check_piece_decoder(place, json, space);
    Assembly assembly(parse_vocabulary(place, model["vocab"]), false);
    BytePairs& pairs = finish(assembly);
    pairs.source = text;
    try {
      return std::make_unique<PieceTokenizer>(std::move(pairs), space);
    } catch (const Error& e) {
      place.fail(std::string_view(e.what()).substr(std::string_view("[tokenizer] ").size()));
    }
  }
  if (folder.prefix_space == true) FileName{folder.file}.fail("add_prefix_space true is not supported");
  if (!normalizer.empty()) fail(place, "the normalizer {} is not supported", normalizer);
  if (cut.empty() && is_set(model, "byte_fallback") && !is_set(model, "merges")) return characters_of(place, json);
  if (is_set(model, "byte_fallback")) place.fail("byte_fallback true of the model is not supported");
  WordPattern pattern = WordPattern::gpt2;
  if (cut == "Sequence") {
    pattern = pattern_of(place, json["pre_tokenizer"]);
  } else {
    if (cut != "ByteLevel") {
      fail(place, "expected the pre_tokenizer ByteLevel, got {}", cut.empty() ? "missing" : cut);
    }
    const Json& splitter = json["pre_tokenizer"];
    if (is_set(splitter, "add_prefix_space")) place.fail("add_prefix_space of the pre_tokenizer is not supported");
    if (splitter.contains("use_regex") && !is_set(splitter, "use_regex")) {
      place.fail("use_regex false of the pre_tokenizer is not supported");
    }
  }
  if (const std::string back = kind_of(json, "decoder"); !back.empty() && back != "ByteLevel")
    fail(place, "expected the decoder ByteLevel, got {}", back);
  Assembly assembly(parse_vocabulary(place, model["vocab"]));
  BytePairs& pairs = finish(assembly);
  pairs.pattern = pattern;
  pairs.whole_words = whole_words;
  if (whole_words || pairs.begin || pattern != WordPattern::gpt2) pairs.source = text;
  return assembly.finish();
}

}  // namespace

std::unique_ptr<Tokenizer> parse_tokenizer(std::string_view text, const std::string& where) {
  const FileName place{where};
  return tokenizer_of(place, parse_json(place, text), text, {});
}

bool has_tokenizer(const std::string& folder) {
  for (const char* name : {"tokenizer.json", "vocab.json", "encoder.json"}) {
    if (is_there(fs::path(folder) / name)) return true;
  }
  return false;
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& folder) {
  const fs::path path(folder);
  if (folder.empty()) fail("tokenizer", "expected the name of a folder or a file, got an empty text");
  const FileKind kind = kind_of_file(folder);
  if (kind == FileKind::file) return parse_tokenizer(read_file(path, json::kMaxBytes), folder);
  if (kind != FileKind::folder) fail("tokenizer", "there is no file or folder {}", folder);
  if (const fs::path file = path / "tokenizer.json"; is_there(file)) {
    const FileName place{file.string()};
    std::string text = read_file(file, json::kMaxBytes);
    Json json = parse_json(place, text);
    const detail::FolderTokens others = detail::folder_tokens(path, false);
    if (add_folder_tokens(others, json)) text = json.dump();
    return tokenizer_of(place, json, text, others);
  }
  for (const auto& [vocabulary, merges] : {std::pair{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}}) {
    const bool one = is_there(path / vocabulary), other = is_there(path / merges);
    if (one && other) return read_two_files(path / vocabulary, path / merges);
    if (one || other) {
      fail("tokenizer", "{} has {} but no {}", folder, one ? vocabulary : merges, one ? merges : vocabulary);
    }
  }
  fail("tokenizer",
       "{} has no tokenizer: expected tokenizer.json, or vocab.json and merges.txt, or encoder.json and vocab.bpe",
       folder);
}

void save_tokenizer(const Tokenizer& tokenizer, const std::string& folder) {
  create_folder(folder);
  replace_file({folder, "tokenizer.json"}, tokenizer.json() + "\n");
}

}  // namespace tapegrad::data
