#include <fmt/format.h>
#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/internal/json_value.h>
#include <tapegrad/train/data/characters.h>
#include <tapegrad/train/data/detail/special_tokens.h>
#include <tapegrad/train/data/utf8.h>

#include <algorithm>
#include <set>

namespace tapegrad::data {
namespace {

constexpr std::string_view kCharacters = "tokenizer";

bool is_character(std::string_view token) {
  if (token.empty()) return false;
  const Character c = first_character(token);
  return c.valid && static_cast<std::size_t>(c.bytes) == token.size();
}

}  // namespace

CharacterTokenizer::CharacterTokenizer(std::string_view text) {
  byte_ids_.fill(-1);
  std::set<uint32_t> codes;
  std::set<unsigned char> strays;
  while (!text.empty()) {
    const Character c = first_character(text);
    const auto bytes = static_cast<std::size_t>(c.bytes);
    if (c.valid) codes.insert(c.code);
    for (std::size_t i = 0; i < bytes && !c.valid; ++i) strays.insert(static_cast<unsigned char>(text[i]));
    text.remove_prefix(bytes);
  }
  for (const uint32_t code : codes) add(utf8(code), size(), -1);
  for (const unsigned char byte : strays) add(std::string(1, static_cast<char>(byte)), size(), byte);
}

CharacterTokenizer::CharacterTokenizer(const std::unordered_map<std::string, int64_t>& vocabulary,
                                       const std::string& where) {
  byte_ids_.fill(-1);
  for (const auto& [token, id] : vocabulary) {
    const int byte = detail::named_byte(token);
    if (byte < 0 && !is_character(token)) {
      fail(kCharacters, "{}: expected a character or a byte (<0x00> to <0xFF>), got the token {}", where,
           Json(token).dump());
    }
    add(byte < 0 ? token : std::string(1, static_cast<char>(byte)), id, byte);
  }
}

// `byte`: the token is this byte; -1: it is a character.
void CharacterTokenizer::add(std::string token, int64_t id, int byte) {
  if (id >= size()) tokens_.resize(static_cast<std::size_t>(id) + 1);
  if (byte < 0) {
    ids_.emplace(first_character(token).code, id);
  } else {
    byte_ids_[static_cast<std::size_t>(byte)] = id;
  }
  tokens_[static_cast<std::size_t>(id)] = std::move(token);
}

std::vector<int64_t> CharacterTokenizer::encode(std::string_view text) const {
  std::vector<int64_t> ids;
  ids.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Character c = first_character(text.substr(at));
    const auto known = c.valid ? ids_.find(c.code) : ids_.end();
    const std::string_view bytes = text.substr(at, static_cast<std::size_t>(c.bytes));
    if (known != ids_.end()) {
      ids.push_back(known->second);
    } else {
      for (const char byte : bytes) {
        const int64_t id = byte_ids_[static_cast<unsigned char>(byte)];
        if (id < 0) {
          const std::string what = c.valid ? fmt::format("character {} (U+{:04X})", Json(bytes).dump(), c.code)
                                           : fmt::format("byte 0x{:02X}", static_cast<unsigned char>(byte));
          throw EncodeError(what, at, size());
        }
        ids.push_back(id);
      }
    }
    at += bytes.size();
  }
  return ids;
}

std::size_t CharacterTokenizer::cut(std::string_view text, std::size_t from) const {
  std::size_t at = std::max<std::size_t>(from, 1);
  while (at < text.size() && continues_character(text[at])) ++at;
  return at < text.size() ? at : std::string_view::npos;
}

std::string_view CharacterTokenizer::bytes(int64_t id) const {
  if (id < 0 || id >= size() || tokens_[static_cast<std::size_t>(id)].empty()) {
    fail(kCharacters, "there is no token {} (ids are 0 to {})", id, size() - 1);
  }
  return tokens_[static_cast<std::size_t>(id)];
}

std::string CharacterTokenizer::json() const {
  std::string vocabulary;
  for (std::size_t id = 0; id < tokens_.size(); ++id) {
    const std::string& token = tokens_[id];
    if (token.empty()) continue;
    const bool stray = token.size() == 1 && byte_ids_[static_cast<unsigned char>(token[0])] == static_cast<int64_t>(id);
    const std::string written = stray ? fmt::format("<0x{:02X}>", static_cast<unsigned char>(token[0])) : token;
    vocabulary += fmt::format("{}{}:{}", vocabulary.empty() ? "" : ",", Json(written).dump(), id);
  }
  return fmt::format(
      R"({{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,)"
      R"("post_processor":null,"decoder":{{"type":"Sequence","decoders":[{{"type":"ByteFallback"}},{{"type":"Fuse"}}]}},)"
      R"("model":{{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,)"
      R"("end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":true,"ignore_merges":false,"vocab":{{{}}},)"
      R"("merges":[]}}}})",
      vocabulary);
}

std::unique_ptr<Tokenizer> make_character_tokenizer(std::string_view text) {
  return std::make_unique<CharacterTokenizer>(text);
}

}  // namespace tapegrad::data
