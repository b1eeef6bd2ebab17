// Encodes texts, and makes batches; a byte-pair tokenizer whose ids are shifted to make room for three tokens.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tasks/text/corpus/examples.h>
#include <tapegrad/train/data/byte_pair_train.h>
#include <tapegrad/train/data/collate.h>

#include <algorithm>

namespace tapegrad::tasks {

EncodedBatch EncodedExamples::batch(std::span<const int64_t> indices) const {
  std::vector<std::vector<int64_t>> texts, targets;
  std::vector<int64_t> asked;
  for (const int64_t i : indices) {
    texts.push_back((*this)[i].text);
    targets.push_back((*this)[i].target);
    asked.push_back((*this)[i].asked);
  }
  return {data::pad(std::span<const std::vector<int64_t>>(texts)).values,
          data::pad(std::span<const std::vector<int64_t>>(targets)).values,
          tensor(asked, {static_cast<int64_t>(indices.size())})};
}

std::vector<int64_t> EncodedExamples::lengths() const {
  std::vector<int64_t> lengths;
  for (const EncodedExample& example : *examples_) lengths.push_back(static_cast<int64_t>(example.text.size()));
  return lengths;
}

int64_t token_at(const EncodedExample& encoded, const TextVocabulary& vocabulary, int64_t at) {
  int64_t end = 0;
  for (std::size_t i = static_cast<std::size_t>(encoded.asked); i < encoded.text.size(); ++i) {
    end += vocabulary.bytes(encoded.text[i]);
    if (at < end) return static_cast<int64_t>(i);
  }
  return -1;
}

std::string text_between(const TextExample& example, const EncodedExample& encoded, const TextVocabulary& vocabulary,
                         int64_t first, int64_t last) {
  int64_t from = 0, to = 0;
  for (int64_t i = encoded.asked; i <= last; ++i) {
    const int64_t size = vocabulary.bytes(encoded.text[static_cast<std::size_t>(i)]);
    if (i < first) from += size;
    to += size;
  }
  return from < to ? example.text.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)) : "";
}

TextVocabulary TextVocabulary::train(std::span<const TextExample> examples, int64_t size) {
  constexpr std::size_t kBytes = 2'000'000;
  std::size_t bytes = 0;
  for (const TextExample& example : examples) bytes += example.text.size() + example.target.size();
  const std::size_t step = std::max<std::size_t>(1, bytes / kBytes);
  std::string text;
  for (std::size_t i = 0; i < examples.size(); i += step)
    text += examples[i].text + '\n' + examples[i].question + '\n' + examples[i].target + '\n';
  return TextVocabulary(data::train_byte_pairs(text, size - kFirst));
}

std::vector<int64_t> TextVocabulary::encode(std::string_view text) const {
  std::vector<int64_t> ids = tokenizer_->encode(text);
  for (int64_t& id : ids) id += kFirst;
  return ids;
}

std::string TextVocabulary::decode(std::span<const int64_t> ids) const {
  std::string text;
  for (const int64_t id : ids)
    if (id >= kFirst) text += tokenizer_->bytes(id - kFirst);
  return text;
}

int64_t TextVocabulary::bytes(int64_t id) const {
  return id < kFirst ? 0 : static_cast<int64_t>(tokenizer_->bytes(id - kFirst).size());
}

}  // namespace tapegrad::tasks
