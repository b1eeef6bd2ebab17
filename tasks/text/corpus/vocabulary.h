// The tokens of texts, and three special tokens: padding, beginning and end.
#pragma once

#include <tapegrad/tasks/text/corpus/example.h>
#include <tapegrad/train/data/tokenizer.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapegrad::tasks {

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

}  // namespace tapegrad::tasks
