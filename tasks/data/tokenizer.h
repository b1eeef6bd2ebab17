// Text to token ids and back: what every tokenizer does, how one is kept in a file, and decoding while tokens come.
#pragma once

#include <tapegrad/autograd/error.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::data {

/// Thrown by Tokenizer::encode for a text with a character that the vocabulary does not have.
class EncodeError : public Error {
 public:
  using Error::Error;
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // The ids of a text. Byte-pair tokenizers take any bytes; the character tokenizer refuses a character that it does
  // not know, by name.
  virtual std::vector<int64_t> encode(std::string_view text) const = 0;

  // What one token stands for; a token of bytes need not be whole characters. Error for an id that is none.
  virtual std::string_view bytes(int64_t id) const = 0;

  // The bytes of all tokens: decode(encode(text)) is the text. (valid_utf8 of utf8.h makes it fit for a terminal.)
  std::string decode(std::span<const int64_t> ids) const;

  // All ids are smaller: the vocab_size of a model.
  virtual int64_t size() const = 0;

  // The id of "<|endoftext|>", where there is one.
  virtual std::optional<int64_t> end_of_text() const { return std::nullopt; }

  // Hugging Face's tokenizer.json, which parse_tokenizer and Hugging Face's `tokenizers` read.
  virtual std::string json() const = 0;
};

// Reads the tokenizer in a folder: tokenizer.json, or vocab.json and merges.txt, or encoder.json and vocab.bpe (the
// first that there is). Error for a folder without one, files that are not whole, and kinds other than GPT-2's byte
// pairs and our characters.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& folder);
// Is there one?
bool has_tokenizer(const std::string& folder);

// The tokenizer of a tokenizer.json's text; `where` names it in an Error.
std::unique_ptr<Tokenizer> parse_tokenizer(std::string_view json, const std::string& where);

// Writes folder/tokenizer.json; the folder is created where it is missing.
void save_tokenizer(const Tokenizer& tokenizer, const std::string& folder);

// One token a character of `text`, in the order of their codes; a byte that belongs to no character is one of its own.
std::unique_ptr<Tokenizer> make_character_tokenizer(std::string_view text);

// Learns byte pairs from a text (Sennrich, Haddow and Birch 2016, on bytes as GPT-2): 256 bytes, then merges, then
// "<|endoftext|>". The most frequent pair is merged first, and of those the one with the smaller ids. Ends early, with
// a smaller vocabulary, when no pair stands in the text twice. Error when vocab_size is below 257.
std::unique_ptr<Tokenizer> train_byte_pairs(std::string_view text, int64_t vocab_size);

// Decodes tokens as they come. What it returns is valid UTF-8 and never ends inside of a character; bytes that cannot
// be one become U+FFFD.
class TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}
  // The characters that this token completes; often none in languages whose characters are split.
  std::string push(int64_t id);
  // What is left at the end: empty, or U+FFFD for a character that was never completed.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  std::string held_;  // the bytes of a character that may go on
};

}  // namespace tapegrad::data
