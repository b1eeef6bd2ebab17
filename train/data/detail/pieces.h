// Byte-pair encoding on characters, as Llama-2 and TinyLlama do it; see tokenizer_files.h.
#pragma once

#include <tapegrad/train/data/byte_pair.h>

#include <array>
#include <string>
#include <unordered_map>

namespace tapegrad::data {

/// What stands for a space in the pieces: U+2581.
inline constexpr std::string_view kPieceSpace = "\u2581";

/// Where a space is put before a text.
enum class PieceSpace : uint8_t {
  never,
  first,  ///< at the start of the text, unless it begins with one
  each,   ///< at the start, and after every special token
};

/// Merges the characters of a text without cutting it into words. Characters that are not in the vocabulary are written
/// as their bytes, "<0xE2>".
///
/// Ids and decoded texts are those of Hugging Face's tokenizers, which do not return every text: a U+2581 is decoded to
/// a space; with `each`, a space follows every special token; with `first`, the space at the start of a text is lost.
class PieceTokenizer final : public Tokenizer {
 public:
  /// The tokens as they are written, with kPieceSpace for spaces. Error unless there is a token for every byte.
  PieceTokenizer(BytePairs pairs, PieceSpace space);
  ~PieceTokenizer() override;

  std::vector<int64_t> encode(std::string_view text) const override;
  std::string_view bytes(int64_t id) const override;
  int64_t size() const override { return static_cast<int64_t>(pairs_.tokens.size()); }
  std::vector<std::string> special_tokens() const override;
  std::optional<int64_t> end_of_text() const override;  ///< "</s>" or "<|endoftext|>"
  std::optional<int64_t> begin_of_text() const override { return pairs_.begin; }
  bool adds_space() const override { return space_ != PieceSpace::never; }
  std::string json() const override { return pairs_.source; }

 private:
  std::string normal(std::string_view text) const;  // after the normalizer
  void encode_ordinary(std::string_view text, bool at_start, std::vector<int64_t>& ids) const;

  BytePairs pairs_;
  PieceSpace space_;
  detail::MergeRanks ranks_;
  std::unique_ptr<const detail::SpecialTokens> specials_, normalized_;
  std::vector<std::string> shown_;                        // the bytes of each token
  std::unordered_map<std::string_view, int64_t> pieces_;  // ids of single characters
  std::array<int64_t, 256> byte_ids_;
};

}  // namespace tapegrad::data
