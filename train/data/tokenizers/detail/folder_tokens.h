// What the files next to a vocabulary or a tokenizer.json say: tokenizer_config.json, special_tokens_map.json and
// added_tokens.json.
#pragma once

#include <tapegrad/autograd/io/internal/json.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
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
  std::string file = {};                  // that has the settings
};

// Error that names the file and the key for what the tokenizers here do not do. `alone`: without a tokenizer.json,
// whose template says which tokens begin and end a text, and whose parts say which class of tokenizer it is.
FolderTokens folder_tokens(const std::filesystem::path& folder, bool alone);

}  // namespace tapegrad::data::detail
