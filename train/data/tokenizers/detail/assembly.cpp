#include <tapegrad/train/data/tokenizers/detail/assembly.h>

#include <algorithm>

namespace tapegrad::data::detail {

using Json = nlohmann::json;

std::string shown(const Json& value) {
  return value.is_structured() ? fmt::format("an {}", value.type_name()) : value.dump(-1, ' ', true).substr(0, 80);
}

Json parse_json(const FileName& place, std::string_view text) {
  if (text.empty()) place.fail_with("the file is empty (was its download interrupted?)");
  return json::parse(text, [&](const std::string& why) { place.fail_with("{}", why); });
}

Vocabulary parse_vocabulary(const FileName& place, const Json& json) {
  if (!json.is_object() || json.empty()) place.fail_with("expected a vocabulary object of tokens and ids");
  Vocabulary vocabulary;
  std::unordered_map<int64_t, const std::string*> taken;
  vocabulary.reserve(json.size());
  for (const auto& [token, value] : json.items()) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() >= kMostIds) {
      place.fail_with("the token \"{}\" has the id {}, expected an integer from 0 to {}", token, shown(value),
                      kMostIds - 1);
    }
    const auto id = value.get<int64_t>();
    const auto entry = vocabulary.emplace(token, id).first;
    const auto [other, free] = taken.emplace(id, &entry->first);
    if (!free) place.fail_with("the tokens \"{}\" and \"{}\" have the same id {}", *other->second, token, id);
    if (token.empty()) place.fail_with("the token of id {} is empty", id);
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
      place.fail_with("{} merges \"{}\" and \"{}\": {} \"{}\" is not in the vocabulary", at, left, right, what, token);
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
    place.fail_with("the added token \"{}\" has the id {}, but {} in the vocabulary", content, id, known->second);
  }
  if (static_cast<std::size_t>(id) >= pairs_.tokens.size()) {
    pairs_.tokens.resize(static_cast<std::size_t>(id) + 1);
    made_.resize(pairs_.tokens.size(), false);
  }
  if (known == vocabulary_.end() && !text(id).empty()) {
    place.fail_with("the added token \"{}\" has the id {} of another token", content, id);
  }
  text(id) = content;
  made_[static_cast<std::size_t>(id)] = true;
  pairs_.specials.push_back(id);
  if (normalized) pairs_.normalized.push_back(id);
}

void Assembly::add_special(const detail::FolderToken& token) {
  const FileName place{token.file};
  const auto known = vocabulary_.find(token.content);
  if (!token.id && known == vocabulary_.end()) place.fail_with("{}", no_id(token));
  add_special(place, token.content, token.id ? *token.id : known->second);
}

void Assembly::take_specials(const FileName& merges) {
  for (const auto& [token, id] : vocabulary_) {
    if (made_[static_cast<std::size_t>(id)]) continue;
    const bool marked = token.size() > 2 && ((token.front() == '<' && token.back() == '>') ||
                                             (token.front() == '[' && token.back() == ']'));
    if (!marked) {
      merges.fail_with(
          "none of the {} merges makes the token \"{}\" (id {}) of the vocabulary (was its download "
          "interrupted?)",
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

}  // namespace tapegrad::data::detail
