// The examples of text tasks: texts with their targets, as tokens, and batches of them.
#pragma once

#include <tapegrad/autograd/tensor.h>
#include <tapegrad/train/data/tokenizer.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

inline constexpr std::size_t kLongestTarget = 200;  // bytes, of summaries and answers in our datasets

struct TextExample {
  std::string text = {};
  std::string target = {};    ///< the class, the summary, or the answer
  std::string question = {};  ///< answer only
  int64_t start = 0;          ///< answer only: the byte of `text` at which the answer starts

  bool operator==(const TextExample&) const = default;
};

enum class Part { train, validation, test };
inline constexpr std::string_view kPartNames[] = {"train", "validation", "test"};

/// The examples of one task in three parts.
struct Corpus {
  std::array<std::vector<TextExample>, 3> parts;
  const std::vector<TextExample>& operator[](Part part) const { return parts[static_cast<std::size_t>(part)]; }
};

/// The tokens of texts, and three special tokens: padding, beginning and end.
class TextVocabulary {
 public:
  static constexpr int64_t kPadding = 0, kBegin = 1, kEnd = 2;

  /// Byte pairs, trained on about 2 MB of the texts and targets, evenly taken. The vocabulary has at most `size`
  /// tokens.
  static TextVocabulary train(std::span<const TextExample> examples, int64_t size);
  explicit TextVocabulary(std::unique_ptr<data::Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}

  int64_t size() const { return tokenizer_->size() + kFirst; }
  std::vector<int64_t> encode(std::string_view text) const;
  /// The text of the tokens; special tokens have none.
  std::string decode(std::span<const int64_t> ids) const;
  /// The number of bytes of the token's text.
  int64_t bytes(int64_t id) const;
  const data::Tokenizer& tokenizer() const { return *tokenizer_; }

 private:
  static constexpr int64_t kFirst = 3;
  std::unique_ptr<data::Tokenizer> tokenizer_;
};

/// An example as tokens.
struct EncodedExample {
  std::vector<int64_t> text;    ///< cut at the context; answer: the question, an end token, and the text
  std::vector<int64_t> target;  ///< the class; the summary with its end token; the first and last token of the answer
  int64_t asked = 0;            ///< answer: the tokens before those of the text
};

struct EncodedBatch {
  Tensor text;    ///< [B, T]
  Tensor target;  ///< [B, U]; classify: U is 1, answer: 2
  Tensor asked;   ///< [B]
};

/// A data::Dataset that makes whole batches.
class EncodedExamples {
 public:
  explicit EncodedExamples(std::vector<EncodedExample> examples)
      : examples_(std::make_shared<const std::vector<EncodedExample>>(std::move(examples))) {}

  int64_t size() const { return static_cast<int64_t>(examples_->size()); }
  const EncodedExample& operator[](int64_t i) const { return (*examples_)[static_cast<std::size_t>(i)]; }
  EncodedBatch batch(std::span<const int64_t> indices) const;
  std::vector<int64_t> lengths() const;

 private:
  std::shared_ptr<const std::vector<EncodedExample>> examples_;
};

/// The number of the token of encoded.text, from `asked` on, that has byte `at` of the text; -1 where it was cut off.
int64_t token_at(const EncodedExample& encoded, const TextVocabulary& vocabulary, int64_t at);
/// The part of the text of the tokens first to last, counted from the first token of `encoded.text`.
std::string text_between(const TextExample& example, const EncodedExample& encoded, const TextVocabulary& vocabulary,
                         int64_t first, int64_t last);

}  // namespace tapegrad::tasks
