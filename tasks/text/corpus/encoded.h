// Examples as tokens, and their batches.
#pragma once

#include <tapegrad/autograd/tensor.h>
#include <tapegrad/tasks/text/corpus/vocabulary.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tapegrad::tasks {

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
