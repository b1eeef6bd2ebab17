// A tokenizer whose tokens are characters.
#pragma once

#include <tapegrad/train/data/tokenizer.h>

#include <array>
#include <unordered_map>

namespace tapegrad::data {

/// One token per character. Bytes that are not valid UTF-8 can be tokens, too.
class CharacterTokenizer final : public Tokenizer {
 public:
  /// The distinct characters of a text in the order of their code points, then the bytes in it that are not valid
  /// UTF-8.
  explicit CharacterTokenizer(std::string_view text);
  /// From a vocabulary of characters, and of bytes written <0xHH>. Error for other tokens; it names the file `where`.
  CharacterTokenizer(const std::unordered_map<std::string, int64_t>& vocabulary, const std::string& where);

  std::vector<int64_t> encode(std::string_view text) const override;
  std::size_t cut(std::string_view text, std::size_t from) const override;
  std::string_view bytes(int64_t id) const override;
  int64_t size() const override { return static_cast<int64_t>(tokens_.size()); }
  std::string json() const override;

 private:
  void add(std::string token, int64_t id, int byte);

  std::vector<std::string> tokens_;            // bytes by id; empty where an id is not used
  std::unordered_map<uint32_t, int64_t> ids_;  // of characters, by code point
  std::array<int64_t, 256> byte_ids_;          // of bytes that are not valid UTF-8; -1: not in the vocabulary
};

/// A tokenizer with one token per distinct character of `text`, in the order of their code points. Bytes that are not
/// valid UTF-8 get a token each.
std::unique_ptr<Tokenizer> make_character_tokenizer(std::string_view text);

}  // namespace tapegrad::data
