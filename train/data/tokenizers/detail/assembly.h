// Assembles a byte-pair tokenizer from the parts of its files, with errors that name the file: a vocabulary or a
// tokenizer.json, and what is next to it, tokenizer_config.json, special_tokens_map.json and added_tokens.json.
#pragma once

#include <tapegrad/autograd/internal/fail.h>
#include <tapegrad/autograd/io/internal/json.h>
#include <tapegrad/train/data/byte_pair.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tapegrad::data::detail {

inline constexpr int64_t kMostIds = int64_t{1} << 22;  // bounds the memory that a damaged id can take

// A token that is matched as a whole.
struct FolderToken {
  std::string content;
  std::optional<int64_t> id;  // none: that of the vocabulary
  std::string file;           // that names it
  bool normalized = false;    // matched in the normalised text
};

struct FolderTokens {
  std::vector<FolderToken> tokens;
  std::optional<bool> prefix_space = {};  // "add_prefix_space"
  std::string file = {};                  // that contains the settings
};

// Error that names the file and the key for what the tokenizers here do not do. `alone`: without a tokenizer.json,
// whose template says which tokens begin and end a text, and whose parts say which class of tokenizer it is.
FolderTokens folder_tokens(const std::filesystem::path& folder, bool alone);

using Vocabulary = std::unordered_map<std::string, int64_t>;

// The file that an Error is about, "[tokenizer] file: ...".
struct FileName {
  std::string file;
  [[noreturn]] void fail(std::string_view text) const { tapegrad::fail("tokenizer", file + ": " + std::string(text)); }
};

// A value as JSON, shortened; structures only by their type.
std::string shown(const Json& value);
Json parse_json(const FileName& place, std::string_view text);
Vocabulary parse_vocabulary(const FileName& place, const Json& json);
// "left right" -> both; false for anything else.
bool split_pair(std::string_view line, std::string& left, std::string& right);
// What is wrong with a token of another file that the vocabulary lacks.
std::string no_id(const FolderToken& token);

// Checks that the parts fit together.
class Assembly {
 public:
  // in_symbols: tokens are written in GPT-2's symbols for bytes; otherwise as they are.
  explicit Assembly(Vocabulary vocabulary, bool in_symbols = true);

  void add_merge(const FileName& place, std::string_view at, const std::string& left, const std::string& right);
  void add_special(const FileName& place, const std::string& content, int64_t id, bool normalized = false);
  // A token that another file of the folder names.
  void add_special(const FolderToken& token);
  // Tokens that no merge makes are special if they look like <|endoftext|> or [PAD]; other ones show that merges are
  // missing.
  void take_specials(const FileName& merges);

  BytePairs& pairs() { return pairs_; }
  std::unique_ptr<Tokenizer> finish() { return std::make_unique<BytePairTokenizer>(std::move(pairs_)); }

 private:
  std::string& text(int64_t id) { return pairs_.tokens[static_cast<std::size_t>(id)]; }

  Vocabulary vocabulary_;
  BytePairs pairs_;
  std::vector<bool> made_;  // by a merge, or one byte, or special
};

}  // namespace tapegrad::data::detail
