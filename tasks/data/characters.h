// A tokenizer whose tokens are characters.
#pragma once

#include <tapegrad/tasks/data/tokenizer.h>

#include <array>
#include <unordered_map>

namespace tapegrad::data {

class CharacterTokenizer final : public Tokenizer {
 public:
  // The distinct characters of a text, in the order of their codes, then its bytes that belong to no character.
  explicit CharacterTokenizer(std::string_view text);
  // From characters, and bytes written <0xHH>, to ids. Error for any other token, with `where` as the file.
  CharacterTokenizer(const std::unordered_map<std::string, int64_t>& vocabulary, const std::string& where);

  std::vector<int64_t> encode(std::string_view text) const override;
  std::string_view bytes(int64_t id) const override;
  int64_t size() const override { return static_cast<int64_t>(tokens_.size()); }
  std::string json() const override;

 private:
  void add(std::string token, int64_t id, int byte);

  std::vector<std::string> tokens_;            // bytes by id; empty where there is none
  std::unordered_map<uint32_t, int64_t> ids_;  // of characters, by code
  std::array<int64_t, 256> byte_ids_;          // of bytes that belong to no character; -1: not known
};

}  // namespace tapegrad::data
