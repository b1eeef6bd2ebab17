// Tokenizers: text to token ids and back, and decoding token by token.
//
//     const auto tokenizer = data::load_tokenizer("gpt2");        // tokenizer_files.h: a folder, or a tokenizer.json
//     const std::vector<int64_t> ids = tokenizer->encode("Hello, I am");
//     const std::string text = tokenizer->decode(ids);
//
//     const auto trained = data::train_byte_pairs(text, 1000);    // byte_pair_train.h; characters.h has another kind
//     data::save_tokenizer(*trained, "my-tokenizer");             // my-tokenizer/tokenizer.json
#pragma once

#include <tapegrad/autograd/error.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::data {

/// Thrown by Tokenizer::encode for a text with a character that the vocabulary does not have.
class EncodeError : public Error {
 public:
  /// `what`, such as "byte 0xFF", at byte `at` of the text is not among `tokens` tokens.
  EncodeError(std::string what, uint64_t at, int64_t tokens);
  /// The same error if the text is the part of a longer one that begins at byte `begin`.
  EncodeError within_text(uint64_t begin) const { return {what_, begin + at_, tokens_}; }

 private:
  std::string what_;
  uint64_t at_;
  int64_t tokens_;
};

/// A vocabulary and its rules. All functions are const and safe to call from several threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// The ids of a text. Byte-pair tokenizers take any bytes; a character tokenizer throws EncodeError for a character
  /// that it does not know.
  virtual std::vector<int64_t> encode(std::string_view text) const = 0;

  /// The first position of text from `from` on, and above 0, at which the text can be cut: encode() of both parts gives
  /// the ids of the whole, whatever follows `text`, which must begin where the whole begins or can be cut. npos where
  /// there is none, or more of the text is needed to know.
  virtual std::size_t cut([[maybe_unused]] std::string_view text, [[maybe_unused]] std::size_t from) const {
    return std::string_view::npos;
  }

  /// The bytes of one token, which need not be whole characters. Error for an id without a token.
  virtual std::string_view bytes(int64_t id) const = 0;

  /// The bytes of all tokens: decode(encode(text)) is the text, except for tokenizers that put a space before the text
  /// (pieces.h). valid_utf8() of utf8.h and printable() of error.h make them fit for a terminal.
  std::string decode(std::span<const int64_t> ids) const;

  /// One more than the largest id: the vocab_size of a model.
  virtual int64_t size() const = 0;

  /// The tokens that encode() finds in a text before it cuts the text into words, such as "<|endoftext|>".
  virtual std::vector<std::string> special_tokens() const { return {}; }

  /// The id of "<|endoftext|>", if the vocabulary has it.
  virtual std::optional<int64_t> end_of_text() const { return std::nullopt; }

  /// The token that a model expects before a text, such as "<s>". encode() does not add it.
  virtual std::optional<int64_t> begin_of_text() const { return std::nullopt; }

  /// Whether encode() adds a space before a text, which decoding then removes.
  virtual bool adds_space() const { return false; }

  /// The tokenizer as a tokenizer.json, which parse_tokenizer() and Hugging Face's `tokenizers` read.
  virtual std::string json() const = 0;
};

/// Decodes tokens as they are generated. Each piece that it returns is valid UTF-8 and ends at the end of a character;
/// bytes that are not valid UTF-8 become U+FFFD.
class TextStream {
 public:
  /// The tokenizer must outlive the stream.
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}
  /// The characters that this token completes, possibly none.
  std::string push(int64_t id);
  /// The rest at the end of the text: U+FFFD for an incomplete character, else empty.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  std::string held_;  // the bytes of an incomplete character
  bool at_start_ = true;
};

}  // namespace tapegrad::data
